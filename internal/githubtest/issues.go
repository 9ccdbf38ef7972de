package githubtest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Issue is an issue of the repository.
type Issue struct {
	Number      int // given by the server
	Title, Body string
	State       string // open or closed
	Labels      []string
	Author      string // login; a member when empty
	Assignees   []string
	Comments    []Comment // given by the server, oldest first
}

// thread is an issue or a pull request.
type thread struct {
	Issue
	pull        *Pull // nil for an issue
	comments    []*comment
	labeled     []labeling
	created     time.Time
	updated     time.Time
	edited      []time.Time // times at which a member edited it
	closings    []closing
	conversions []closing // conversions to a draft
	reviewers   []string

	// The fields of a pull request.
	head        string // head commit; the last one if the pull request is not open
	mergedBy    string
	mergeCommit string
	reviews     []*review
	discussions []*discussion
}

// closing is the event of closing an issue or a pull request.
type closing struct {
	by string
	at time.Time
}

// labeling is the event of putting a label on an issue.
type labeling struct {
	label, by string
	at        time.Time
}

// AddIssue opens an issue and returns its number. A member puts on its labels.
func (g *GitHub) AddIssue(i Issue) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	i.Author, i.State = cmp.Or(i.Author, Member), cmp.Or(i.State, "open")
	labels := i.Labels
	i.Labels = nil
	t := g.open(i)
	g.putOn(t, Member, labels...)
	return t.Number
}

// open adds an issue or a pull request. g.mu must be held.
func (g *GitHub) open(i Issue) *thread {
	at := g.tick()
	t := &thread{Issue: i, created: at, updated: at}
	g.threads = append(g.threads, t)
	t.Number = len(g.threads)
	return t
}

// Issue returns an issue as it is now; the number is 0 if there is none.
func (g *GitHub) Issue(number int) Issue {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.thread(number)
	if t == nil {
		return Issue{}
	}
	i := t.Issue
	i.Labels, i.Assignees, i.Comments = slices.Clone(i.Labels), slices.Clone(i.Assignees), shown(t.comments)
	return i
}

// PutOn has a member put a label on an issue or a pull request.
func (g *GitHub) PutOn(number int, label string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.thread(number); t != nil {
		g.putOn(t, Member, label)
	}
}

// Edit has a member replace the text of an issue or a pull request.
func (g *GitHub) Edit(number int, body string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.thread(number); t != nil {
		t.Body, t.updated = body, g.tick()
		t.edited = append(t.edited, t.updated)
	}
}

// putOn adds the labels that an issue lacks. g.mu must be held.
func (g *GitHub) putOn(t *thread, by string, labels ...string) {
	for _, label := range labels {
		if !slices.Contains(t.Labels, label) {
			t.updated = g.tick()
			t.Labels = append(t.Labels, label)
			t.labeled = append(t.labeled, labeling{label, by, t.updated})
		}
	}
}

// setState opens or closes an issue or a pull request. g.mu must be held.
func (g *GitHub) setState(t *thread, state, by string) {
	t.updated = g.tick()
	if state == "closed" && t.State != "closed" {
		t.closings = append(t.closings, closing{by, t.updated})
	}
	t.State = state
}

// thread returns the issue or pull request of a number, nil if there is none. g.mu must
// be held.
func (g *GitHub) thread(number int) *thread {
	if number < 1 || number > len(g.threads) {
		return nil
	}
	return g.threads[number-1]
}

// on returns a reply about the issue or pull request in the path of a request.
func (g *GitHub) on(reply func(r *http.Request, t *thread) (int, any)) func(r *http.Request) (int, any) {
	return func(r *http.Request) (int, any) {
		t := g.thread(atoi(r.PathValue("n")))
		if t == nil {
			return http.StatusNotFound, notFound
		}
		return reply(r, t)
	}
}

func (g *GitHub) addIssueRoutes(root string) {
	const read, change = "issues: read", "issues: write"
	g.handle(root, read, "GET /issues", func(r *http.Request) (int, any) { return http.StatusOK, g.listed(r) })
	g.handle(root, read, "GET /issues/{n}", g.on(func(_ *http.Request, t *thread) (int, any) { return http.StatusOK, g.issueAnswer(t) }))
	g.handle(root, change, "PATCH /issues/{n}", g.on(func(r *http.Request, t *thread) (int, any) {
		var body struct {
			State             string
			Labels, Assignees []string // replace those that are there, unless nil
		}
		if !decode(r, &body) {
			return http.StatusBadRequest, object{"message": "Problems parsing JSON"}
		}
		for _, login := range body.Assignees {
			if !g.isAssignable(login) {
				problem := object{"value": login, "resource": "Issue", "field": "assignees", "code": "invalid"}
				return http.StatusUnprocessableEntity, object{"message": "Validation Failed", "errors": []object{problem}}
			}
		}
		if body.Labels != nil {
			t.Labels = slices.DeleteFunc(t.Labels, func(label string) bool { return !slices.Contains(body.Labels, label) })
			g.putOn(t, g.as, body.Labels...)
		}
		if body.Assignees != nil {
			t.Assignees = slices.Clone(body.Assignees)
		}
		g.setState(t, cmp.Or(body.State, t.State), g.as)
		return http.StatusOK, g.issueAnswer(t)
	}))
	g.handle(root, read, "GET /issues/{n}/{part}", g.on(func(r *http.Request, t *thread) (int, any) {
		switch r.PathValue("part") {
		case "labels":
			return http.StatusOK, labelAnswers(t.Labels)
		case "comments":
			list := []object{}
			for _, c := range t.comments {
				list = append(list, g.commentAnswer(t, c))
			}
			return http.StatusOK, list
		}
		return http.StatusNotFound, notFound
	}))
	g.handle(root, read, "GET /issues/{n}/dependencies/blocked_by", g.on(func(*http.Request, *thread) (int, any) { return http.StatusOK, []object{} }))
	g.handle(root, change, "POST /issues/{n}/labels", g.on(func(r *http.Request, t *thread) (int, any) {
		var body struct{ Labels []string }
		if !decode(r, &body) || len(body.Labels) == 0 {
			return http.StatusUnprocessableEntity, object{"message": "Validation Failed"}
		}
		g.putOn(t, g.as, body.Labels...)
		return http.StatusOK, labelAnswers(t.Labels)
	}))
	g.handle(root, change, "DELETE /issues/{n}/labels/{name}", g.on(func(r *http.Request, t *thread) (int, any) {
		same := func(label string) bool { return strings.EqualFold(label, r.PathValue("name")) }
		if !slices.ContainsFunc(t.Labels, same) {
			return http.StatusNotFound, object{"message": "Label does not exist"}
		}
		t.Labels, t.updated = slices.DeleteFunc(t.Labels, same), g.tick()
		return http.StatusOK, labelAnswers(t.Labels)
	}))
	g.handle(root, change, "POST /issues/{n}/assignees", g.on(func(r *http.Request, t *thread) (int, any) {
		var body struct{ Assignees []string }
		if !decode(r, &body) {
			return http.StatusUnprocessableEntity, object{"message": "Validation Failed"}
		}
		for _, login := range body.Assignees {
			if g.isAssignable(login) && !slices.Contains(t.Assignees, login) {
				t.Assignees = append(t.Assignees, login)
			}
		}
		return http.StatusCreated, g.issueAnswer(t)
	}))
	g.handle(root, read, "GET /labels", func(*http.Request) (int, any) { return http.StatusOK, labelAnswers(g.allLabels()) })
	g.handle(root, read, "GET /labels/{name}", func(r *http.Request) (int, any) {
		for _, label := range g.allLabels() {
			if strings.EqualFold(label, r.PathValue("name")) {
				return http.StatusOK, labelAnswers([]string{label})[0]
			}
		}
		return http.StatusNotFound, notFound
	})
}

// listed returns the issues and pull requests that a request asks for.
func (g *GitHub) listed(r *http.Request) []object {
	state, labels := cmp.Or(r.FormValue("state"), "open"), r.FormValue("labels")
	list := []object{}
	for _, t := range g.threads {
		lacks := slices.ContainsFunc(strings.Split(labels, ","), func(label string) bool { return label != "" && !slices.Contains(t.Labels, label) })
		if !lacks && (state == "all" || state == t.State) {
			list = append(list, g.issueAnswer(t))
		}
	}
	return list
}

// AddLabel makes a label of the repository.
func (g *GitHub) AddLabel(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.labels = append(g.labels, name)
}

// allLabels returns the labels of the repository, and those that something carries or
// carried.
func (g *GitHub) allLabels() []string {
	all := slices.Clone(g.labels)
	for _, t := range g.threads {
		for _, l := range t.labeled {
			all = append(all, l.label)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func labelAnswers(labels []string) []object {
	list := []object{}
	for n, label := range labels {
		list = append(list, object{
			"id": n + 1, "node_id": fmt.Sprintf("L_%d", n+1), "url": "https://api.github.com/x", "name": label, "color": "ffffff", "default": false, "description": nil,
		})
	}
	return list
}

func nodeID(number int) string { return fmt.Sprintf("I_%d", number) }

// issueAnswer returns an issue, or a pull request as an issue, as the REST API gives it.
func (g *GitHub) issueAnswer(t *thread) object {
	repo := g.URL() + "/repos/" + g.Repo()
	at := fmt.Sprintf("%s/issues/%d", repo, t.Number)
	closed, assignees := any(nil), []object{}
	if t.State == "closed" {
		closed = t.updated.Format(time.RFC3339)
	}
	for _, login := range t.Assignees {
		assignees = append(assignees, user(login))
	}
	v := object{
		"id": t.Number, "node_id": nodeID(t.Number), "number": t.Number, "title": t.Title, "body": t.Body, "state": t.State,
		"url": at, "repository_url": repo, "labels_url": at + "/labels{/name}", "comments_url": at + "/comments", "events_url": at + "/events",
		"html_url": fmt.Sprintf("%s/issues/%d", g.CloneURL(), t.Number), "labels": labelAnswers(t.Labels), "assignee": nil, "assignees": assignees,
		"milestone": nil, "locked": false, "comments": len(t.comments), "closed_at": closed, "author_association": g.association(t.Author),
		"created_at": t.created.Format(time.RFC3339), "updated_at": t.updated.Format(time.RFC3339), "user": user(t.Author),
		"issue_dependencies_summary": object{"blocked_by": 0, "total_blocked_by": 0, "blocking": 0, "total_blocking": 0},
	}
	if t.pull != nil {
		v["html_url"] = g.pullURL(t.Number)
		v["pull_request"] = object{"url": at, "html_url": g.pullURL(t.Number), "diff_url": at, "patch_url": at}
	}
	return v
}
