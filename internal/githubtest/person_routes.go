package githubtest

import (
	"net/http"
	"slices"
	"strings"
)

// addPersonRoutes adds the requests by which a trial does what a person would do: it opens
// an issue, makes labels and branches, reports a check, and merges.
func (g *GitHub) addPersonRoutes() {
	g.handle("issues: write", "POST /issues", func(r *http.Request) (int, any) {
		var body Issue
		if !decode(r, &body) || body.Title == "" {
			return invalid("title", "")
		}
		return http.StatusCreated, g.issueAnswer(g.open(Issue{Title: body.Title, Body: body.Body, Labels: body.Labels, State: "open", Author: g.as}))
	})
	g.handle("issues: write", "POST /labels", func(r *http.Request) (int, any) {
		var body struct{ Name string }
		if !decode(r, &body) || slices.Contains(g.allLabels(), body.Name) {
			return invalid("name", "")
		}
		g.labels = append(g.labels, body.Name)
		return http.StatusCreated, labelAnswers([]string{body.Name})[0]
	})
	g.handle("issues: write", "DELETE /labels/{name}", func(r *http.Request) (int, any) {
		g.labels = slices.DeleteFunc(g.labels, func(label string) bool { return label == r.PathValue("name") })
		for _, t := range g.threads {
			t.Labels = slices.DeleteFunc(t.Labels, func(label string) bool { return label == r.PathValue("name") })
		}
		return http.StatusNoContent, nil
	})
	g.handle("checks: write", "POST /check-runs", func(r *http.Request) (int, any) {
		var body struct {
			Name, Conclusion string
			Commit           string `json:"head_sha"`
		}
		if !decode(r, &body) || body.Name == "" || body.Commit == "" {
			return invalid("head_sha", "")
		}
		added := &check{Check: Check{Name: body.Name, State: strings.ToUpper(body.Conclusion)}, id: g.newID(), started: g.tick()}
		added.finish(added.started)
		g.of[body.Commit] = append(g.of[body.Commit], added)
		return http.StatusCreated, object{"id": added.id, "name": body.Name}
	})
	g.handle("checks: read", "GET /commits/{commit}/check-runs", func(r *http.Request) (int, any) {
		list := []object{}
		for _, c := range g.of[r.PathValue("commit")] {
			list = append(list, object{"id": c.id, "name": c.Name})
		}
		return http.StatusOK, object{"total_count": len(list), "check_runs": list}
	})
	g.handle("contents: write", "PUT /pulls/{n}/merge", g.onPull(func(_ *http.Request, t *thread) (int, any) {
		if t.State != "open" {
			return http.StatusMethodNotAllowed, object{"message": "Pull Request is not mergeable"}
		}
		g.merge(t, g.as)
		g.setState(t, "closed", g.as)
		return http.StatusOK, object{"merged": true}
	}))
	// A token of a job may change no workflow file, by whatever way.
	g.handle("contents: write", "PUT /contents/{path...}", func(r *http.Request) (int, any) {
		if strings.HasPrefix(r.PathValue("path"), ".github/workflows/") {
			return http.StatusForbidden, object{"message": "Resource not accessible by integration"}
		}
		return http.StatusNotFound, notFound
	})
	g.handle("contents: write", "DELETE /git/refs/{ref...}", func(r *http.Request) (int, any) {
		ref := "refs/" + r.PathValue("ref")
		if g.Git("for-each-ref", ref) == "" {
			return http.StatusUnprocessableEntity, object{"message": "Reference does not exist"}
		}
		g.Git("update-ref", "-d", ref)
		return http.StatusNoContent, nil
	})
}
