package github

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// toolRoutes are what the tool is tried on.
func (f *fake) toolRoutes(handle func(string, func(*http.Request) (int, any))) {
	body := func(r *http.Request) map[string]any {
		var v map[string]any
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
			f.t.Errorf("%s %s: body: %v", r.Method, r.URL.Path, err)
		}
		return v
	}
	handle("GET ", func(*http.Request) (int, any) { return http.StatusOK, map[string]any{"default_branch": "main"} })
	handle("POST /issues", func(r *http.Request) (int, any) {
		v := body(r)
		i := &ticket{
			number: len(f.issues) + 1, title: v["title"].(string), body: v["body"].(string), state: stateOpen,
			created: f.clock, updated: f.clock, author: account{"mem", "User"}, association: "MEMBER",
		}
		for _, label := range v["labels"].([]any) {
			i.labels = append(i.labels, label.(string))
		}
		f.issues[i.number] = i
		f.labels = append(f.labels, i.labels...)
		return http.StatusCreated, f.rest(i)
	})
	handle("PATCH /issues/{n}", func(r *http.Request) (int, any) {
		i := f.issues[atoi(r.PathValue("n"))]
		i.state = body(r)["state"].(string)
		return http.StatusOK, f.rest(i)
	})
	handle("DELETE /labels/{name}", func(r *http.Request) (int, any) {
		f.labels = slices.DeleteFunc(f.labels, func(name string) bool { return name == r.PathValue("name") })
		return http.StatusNoContent, nil
	})
	handle("POST /issues/{n}/comments", func(r *http.Request) (int, any) {
		f.comments = append(f.comments, body(r)["body"].(string))
		return http.StatusCreated, map[string]any{"id": len(f.comments)}
	})
	handle("DELETE /issues/{n}/labels/{name}", func(r *http.Request) (int, any) {
		if i := f.issues[atoi(r.PathValue("n"))]; i != nil {
			i.labels = slices.DeleteFunc(i.labels, func(name string) bool { return name == r.PathValue("name") })
		}
		return http.StatusOK, []any{}
	})
	handle("POST /pulls", func(r *http.Request) (int, any) {
		v := body(r)
		if head, _ := v["head"].(string); !f.pushed(head) {
			return http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed"}
		}
		f.pulls = append(f.pulls, v)
		return http.StatusCreated, v
	})
	handle("GET /compare/{basehead}", func(r *http.Request) (int, any) {
		_, sha, _ := strings.Cut(r.PathValue("basehead"), "...")
		files := []map[string]any{}
		for _, name := range f.changed[sha] {
			files = append(files, map[string]any{"filename": name})
		}
		return http.StatusOK, map[string]any{"files": files}
	})
	handle("PUT /contents/{path...}", func(r *http.Request) (int, any) {
		return http.StatusOK, map[string]any{"path": r.PathValue("path"), "branch": body(r)["branch"]}
	})
	for _, made := range []string{"POST /pulls/{n}/reviews", "POST /git/trees", "PATCH /git/refs/heads/{ref...}"} {
		handle(made, func(r *http.Request) (int, any) { return http.StatusOK, body(r) })
	}
	handle("POST /git/refs", func(r *http.Request) (int, any) {
		v := body(r)
		f.refs[v["ref"].(string)] = v["sha"].(string)
		return http.StatusCreated, v
	})
}
