package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Pull is a pull request.
type Pull struct {
	Number                       int
	Title, Body                  string
	State                        string // open or closed
	Merged, Draft                bool
	Head, Base                   string // branches
	Labels, Assignees, Reviewers []string
}

// Pulls returns the pull requests in the order in which they were opened.
func (g *GitHub) Pulls() []Pull {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []Pull
	for _, t := range g.threads {
		if t.pull == nil {
			continue
		}
		p := *t.pull
		p.Number, p.Title, p.Body, p.State = t.Number, t.Title, t.Body, t.State
		p.Labels, p.Assignees, p.Reviewers = slices.Clone(t.Labels), slices.Clone(t.Assignees), slices.Clone(t.reviewers)
		list = append(list, p)
	}
	return list
}

// ClosePull has a person close a pull request without merging it.
func (g *GitHub) ClosePull(number int) { g.endPull(number, func(*thread) {}) }

// ReopenPull has a person open a closed pull request again.
func (g *GitHub) ReopenPull(number int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.thread(number); t != nil && t.pull != nil && !t.pull.Merged {
		t.State, t.updated = "open", g.tick()
	}
}

// Merge has a person merge a pull request as one commit, after which its branch is gone.
func (g *GitHub) Merge(number int) {
	g.endPull(number, func(t *thread) {
		t.pull.Merged = true
		branch, base := "refs/heads/"+t.pull.Head, "refs/heads/"+t.pull.Base
		tree := g.Git("merge-tree", "--write-tree", base, branch)
		commit := g.Git("-c", "user.name=Kim", "-c", "user.email=kim@example.org", "commit-tree", "-p", base, "-m", t.Title, tree)
		g.Git("update-ref", base, commit)
		g.Git("update-ref", "-d", branch)
	})
}

// endPull closes an open pull request, after end has done what goes before.
func (g *GitHub) endPull(number int, end func(*thread)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.thread(number)
	if t == nil || t.pull == nil || t.State != "open" {
		g.t.Errorf("#%d is not an open pull request", number)
		return
	}
	end(t)
	t.State, t.updated = "closed", g.tick()
}

// pullNodeID returns the id of a pull request in GraphQL.
func pullNodeID(number int) string { return fmt.Sprintf("PR_%d", number) }

func (g *GitHub) pullURL(number int) string { return fmt.Sprintf("%s/pull/%d", g.CloneURL(), number) }

// invalid returns the answer to a pull request that cannot be: of a field, or with a
// message.
func invalid(field, message string) (int, any) {
	problem := object{"resource": "PullRequest", "field": field, "code": "invalid"}
	if message != "" {
		problem = object{"resource": "PullRequest", "code": "custom", "message": message}
	}
	return http.StatusUnprocessableEntity, object{"message": "Validation Failed", "errors": []object{problem}}
}

func (g *GitHub) addPullRoutes(root string) {
	const read, change = "pull-requests: read", "pull-requests: write"
	owner, _, _ := strings.Cut(g.Repo(), "/")
	g.handle(root, read, "GET /pulls", func(r *http.Request) (int, any) {
		list := []object{}
		for _, t := range g.threads {
			if state := r.FormValue("state"); t.pull == nil || state != "all" && t.State != "open" && state != t.State {
				continue
			}
			if head := r.FormValue("head"); head == "" || head == owner+":"+t.pull.Head {
				list = append(list, g.pullAnswer(t))
			}
		}
		if r.FormValue("direction") != "asc" {
			slices.Reverse(list)
		}
		return http.StatusOK, list
	})
	g.handle(root, change, "POST /pulls", func(r *http.Request) (int, any) { return g.openPull(r, owner) })
	pull := func(reply func(r *http.Request, t *thread) (int, any)) func(r *http.Request) (int, any) {
		return g.on(func(r *http.Request, t *thread) (int, any) {
			if t.pull == nil {
				return http.StatusNotFound, notFound
			}
			return reply(r, t)
		})
	}
	g.handle(root, read, "GET /pulls/{n}", pull(func(_ *http.Request, t *thread) (int, any) { return http.StatusOK, g.pullAnswer(t) }))
	g.handle(root, change, "PATCH /pulls/{n}", pull(func(r *http.Request, t *thread) (int, any) {
		var body struct{ Title, Body, State *string }
		if !decode(r, &body) {
			return http.StatusBadRequest, object{"message": "Problems parsing JSON"}
		}
		for value, to := range map[*string]*string{body.Title: &t.Title, body.Body: &t.Body, body.State: &t.State} {
			if value != nil {
				*to = *value
			}
		}
		t.updated = g.tick()
		return http.StatusOK, g.pullAnswer(t)
	}))
	g.handle(root, change, "POST /pulls/{n}/requested_reviewers", pull(func(r *http.Request, t *thread) (int, any) {
		var body struct {
			Reviewers []string
			Teams     []string `json:"team_reviewers"`
		}
		if !decode(r, &body) {
			return http.StatusBadRequest, object{"message": "Problems parsing JSON"}
		}
		t.reviewers = slices.Concat(t.reviewers, body.Reviewers, body.Teams)
		return http.StatusCreated, g.pullAnswer(t)
	}))
}

// openPull opens the pull request that a request asks for.
func (g *GitHub) openPull(r *http.Request, owner string) (int, any) {
	var body struct {
		Title, Body, Head, Base string
		Draft                   bool
	}
	if !decode(r, &body) {
		return http.StatusBadRequest, object{"message": "Problems parsing JSON"}
	}
	head := strings.TrimPrefix(body.Head, owner+":")
	switch {
	case body.Title == "":
		return invalid("title", "")
	case g.Head(head) == "":
		return invalid("head", "")
	case g.Head(body.Base) == "":
		return invalid("base", "")
	case g.Git("rev-list", "--max-count=1", "refs/heads/"+head, "^refs/heads/"+body.Base) == "":
		return invalid("", fmt.Sprintf("No commits between %s and %s", body.Base, head))
	}
	for _, t := range g.threads {
		if t.pull != nil && t.State == "open" && t.pull.Head == head && t.pull.Base == body.Base {
			return invalid("", fmt.Sprintf("A pull request already exists for %s:%s.", owner, head))
		}
	}
	t := g.open(Issue{Title: body.Title, Body: body.Body, State: "open", Author: account})
	t.pull = &Pull{Head: head, Base: body.Base, Draft: body.Draft}
	return http.StatusCreated, g.pullAnswer(t)
}

// pullAnswer returns a pull request as the REST API gives it, as far as anybody reads
// it. GitHub ends the lines of its text like browsers do.
func (g *GitHub) pullAnswer(t *thread) object {
	owner, name, _ := strings.Cut(g.Repo(), "/")
	branch := func(name string, more object) object {
		return object{"label": owner + ":" + name, "ref": name, "sha": g.Head(name), "user": user(owner), "repo": more}
	}
	repo := object{"id": 1, "name": name, "full_name": g.Repo(), "owner": user(owner)}
	var merged any
	if t.pull.Merged {
		merged = t.updated.Format(time.RFC3339)
	}
	return object{
		"id": t.Number, "node_id": pullNodeID(t.Number), "number": t.Number, "state": t.State, "title": t.Title, "draft": t.pull.Draft,
		"body": strings.ReplaceAll(t.Body, "\n", "\r\n"), "html_url": g.pullURL(t.Number), "url": fmt.Sprintf("%s/repos/%s/pulls/%d", g.URL(), g.Repo(), t.Number),
		"merged_at": merged, "created_at": t.created.Format(time.RFC3339), "updated_at": t.updated.Format(time.RFC3339), "user": user(t.Author),
		"head": branch(t.pull.Head, repo), "base": branch(t.pull.Base, repo), "labels": labelAnswers(t.Labels),
	}
}
