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
	Association string // association of the author with the repository; as the server finds when empty
	Assignees   []string
	Comments    []Comment // given by the server, oldest first
	BlockedBy   []int     // numbers of the issues that block it

	// Given by the server, unless a test sets them with [GitHub.Change].
	Created, Updated          time.Time
	Edits, Renames, Labelings []Event
	Status                    map[int]string // status by the number of a board
	ManyBoards                bool           // it is on more boards than an answer lists
	Gone                      int            // status of the answers about it, which is deleted or transferred; 0 otherwise
	Corrupt                   bool           // the REST API gives no text as its title
}

// Event is a change of an issue or a pull request.
type Event struct {
	By    string // empty for a deleted account
	At    time.Time
	Label string // label that was put on
}

// thread is an issue or a pull request.
type thread struct {
	Issue
	pull        *Pull // nil for an issue
	comments    []*comment
	closings    []Event
	conversions []Event // conversions to a draft
	reviewers   []string

	// The fields of a pull request.
	head        string // head commit; the last one if the pull request is not open
	mergedBy    string
	mergeCommit string
	reviews     []*review
	discussions []*discussion
}

// issues has the issues and pull requests, and the labels of the repository.
type issues struct {
	*server
	*people
	threads []*thread // the number of the first is 1
	labels  []string  // labels that exist besides the ones that something carries or carried
}

func newIssues(s *server) *issues {
	return &issues{server: s, people: &people{server: s, levels: map[string]string{Member: "write"}, public: map[string]bool{}}}
}

// AddIssue opens an issue and returns its number. A member puts on its labels.
func (g *issues) AddIssue(i Issue) int {
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
func (g *issues) open(i Issue) *thread {
	at := g.tick()
	i.Created, i.Updated, i.Status = at, at, map[int]string{}
	t := &thread{Issue: i}
	g.threads = append(g.threads, t)
	t.Number = len(g.threads)
	return t
}

// Issue returns an issue as it is now; the number is 0 if there is none.
func (g *issues) Issue(number int) Issue {
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
func (g *issues) PutOn(number int, label string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.thread(number); t != nil {
		g.putOn(t, Member, label)
	}
}

// Edit has a member replace the text of an issue or a pull request.
func (g *issues) Edit(number int, body string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.thread(number); t != nil {
		t.Body, t.Updated = body, g.tick()
		t.Edits = append(t.Edits, Event{By: Member, At: t.Updated})
	}
}

// Change has somebody change an issue, which moves its time. The server sees nothing else of it.
func (g *issues) Change(number int, edit func(*Issue)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.thread(number); t != nil {
		t.Updated = g.tick()
		edit(&t.Issue)
	}
}

// putOn adds the labels that an issue lacks. g.mu must be held.
func (g *issues) putOn(t *thread, by string, labels ...string) {
	for _, label := range labels {
		if !slices.Contains(t.Labels, label) {
			t.Updated = g.tick()
			t.Labels = append(t.Labels, label)
			t.Labelings = append(t.Labelings, Event{by, t.Updated, label})
		}
	}
}

// setState opens or closes an issue or a pull request. g.mu must be held.
func (g *issues) setState(t *thread, state, by string) {
	t.Updated = g.tick()
	if state == "closed" && t.State != "closed" {
		t.closings = append(t.closings, Event{By: by, At: t.Updated})
	}
	t.State = state
}

// thread returns the issue or pull request of a number, nil if there is none. g.mu must
// be held.
func (g *issues) thread(number int) *thread {
	if number < 1 || number > len(g.threads) {
		return nil
	}
	return g.threads[number-1]
}

// on returns a reply about the issue or pull request in the path of a request.
func (g *issues) on(reply func(r *http.Request, t *thread) (int, any)) func(r *http.Request) (int, any) {
	return func(r *http.Request) (int, any) {
		t := g.thread(atoi(r.PathValue("n")))
		switch {
		case t == nil:
			return http.StatusNotFound, notFound
		case t.Gone != 0:
			return t.Gone, object{"message": "Moved Permanently", "url": g.address + "/repositories/2/issues/1"}
		}
		return reply(r, t)
	}
}

func (g *issues) addIssueRoutes() {
	const read, change = "issues: read", "issues: write"
	g.handle(read, "GET /issues", func(r *http.Request) (int, any) { return http.StatusOK, g.listed(r) })
	g.handle(read, "GET /issues/{n}", g.on(func(_ *http.Request, t *thread) (int, any) { return http.StatusOK, g.issueAnswer(t) }))
	g.handle(change, "PATCH /issues/{n}", g.on(func(r *http.Request, t *thread) (int, any) {
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
	g.handle(read, "GET /issues/{n}/labels", g.on(func(_ *http.Request, t *thread) (int, any) { return http.StatusOK, labelAnswers(t.Labels) }))
	g.handle(read, "GET /issues/{n}/dependencies/blocked_by", g.on(func(_ *http.Request, t *thread) (int, any) {
		list := []object{}
		for _, n := range t.BlockedBy {
			list = append(list, g.issueAnswer(g.thread(n)))
		}
		if g.quirks.NoDependencies {
			return http.StatusNotFound, notFound
		}
		return http.StatusOK, list
	}))
	g.handle(change, "POST /issues/{n}/labels", g.on(func(r *http.Request, t *thread) (int, any) {
		var body struct{ Labels []string }
		if !decode(r, &body) || len(body.Labels) == 0 {
			return http.StatusUnprocessableEntity, object{"message": "Validation Failed"}
		}
		g.putOn(t, g.as, body.Labels...)
		return http.StatusOK, labelAnswers(t.Labels)
	}))
	g.handle(change, "DELETE /issues/{n}/labels/{name}", g.on(func(r *http.Request, t *thread) (int, any) {
		same := func(label string) bool { return strings.EqualFold(label, r.PathValue("name")) }
		if !slices.ContainsFunc(t.Labels, same) {
			return http.StatusNotFound, object{"message": "Label does not exist"}
		}
		t.Labels, t.Updated = slices.DeleteFunc(t.Labels, same), g.tick()
		return http.StatusOK, labelAnswers(t.Labels)
	}))
	g.handle(change, "POST /issues/{n}/assignees", g.on(func(r *http.Request, t *thread) (int, any) {
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
	g.handle(read, "GET /labels", func(*http.Request) (int, any) { return http.StatusOK, labelAnswers(g.allLabels()) })
	g.handle(read, "GET /labels/{name}", func(r *http.Request) (int, any) {
		for _, label := range g.allLabels() {
			if name := r.PathValue("name"); label == name || !g.quirks.ExactLabels && strings.EqualFold(label, name) {
				return http.StatusOK, labelAnswers([]string{label})[0]
			}
		}
		return http.StatusNotFound, notFound
	})
}

// listed returns the issues and pull requests that a request asks for.
func (g *issues) listed(r *http.Request) []object {
	state, labels := cmp.Or(r.FormValue("state"), "open"), r.FormValue("labels")
	list := []object{}
	for _, t := range g.threads {
		lacks := slices.ContainsFunc(strings.Split(labels, ","), func(label string) bool { return label != "" && !slices.Contains(t.Labels, label) })
		if !lacks && t.Gone == 0 && (state == "all" || state == t.State) {
			list = append(list, g.issueAnswer(t))
		}
	}
	return list
}

// AddLabel makes labels of the repository.
func (g *issues) AddLabel(names ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.labels = append(g.labels, names...)
}

// Labels returns the labels of the repository.
func (g *issues) Labels() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.allLabels()
}

// allLabels returns the labels of the repository, and those that something carries or
// carried.
func (g *issues) allLabels() []string {
	all := slices.Clone(g.labels)
	for _, t := range g.threads {
		all = append(all, t.Labels...)
		for _, l := range t.Labelings {
			all = append(all, l.Label)
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
func (g *issues) issueAnswer(t *thread) object {
	repo := g.URL() + "/repos/" + g.Repo()
	at := fmt.Sprintf("%s/issues/%d", repo, t.Number)
	closed, assignees := any(nil), []object{}
	if t.State == "closed" {
		closed = t.Updated.Format(time.RFC3339)
	}
	for _, login := range t.Assignees {
		assignees = append(assignees, user(login))
	}
	blocking := 0
	for _, n := range t.BlockedBy {
		if g.thread(n).State == "open" {
			blocking++
		}
	}
	v := object{
		"id": t.Number, "node_id": nodeID(t.Number), "number": t.Number, "title": t.Title, "body": t.Body, "state": t.State,
		"url": at, "repository_url": repo, "labels_url": at + "/labels{/name}", "comments_url": at + "/comments", "events_url": at + "/events",
		"html_url": fmt.Sprintf("%s/issues/%d", g.CloneURL(), t.Number), "labels": labelAnswers(t.Labels), "assignee": nil, "assignees": assignees,
		"milestone": nil, "locked": false, "comments": len(t.comments), "closed_at": closed, "author_association": cmp.Or(t.Association, g.association(t.Author)),
		"created_at": t.Created.Format(time.RFC3339), "updated_at": t.Updated.Format(time.RFC3339), "user": user(t.Author),
		"issue_dependencies_summary": object{"blocked_by": blocking, "total_blocked_by": len(t.BlockedBy), "blocking": 0, "total_blocking": 0},
	}
	if g.quirks.NoSummary {
		delete(v, "issue_dependencies_summary")
	}
	if t.Corrupt {
		v["title"] = 7
	}
	if t.pull != nil {
		v["html_url"] = g.pullURL(t.Number)
		v["pull_request"] = object{"url": at, "html_url": g.pullURL(t.Number), "diff_url": at, "patch_url": at}
	}
	return v
}

// association returns the association of an author with the repository. As at GitHub, it
// hides the membership of those who have not made it public, so that they look like strangers,
// and like those whose pull request was merged once.
func (g *issues) association(login string) string {
	isTheirs := func(t *thread) bool { return t.pull != nil && t.pull.Merged && t.Author == login }
	switch {
	case g.public[login]:
		return "MEMBER"
	case slices.ContainsFunc(g.threads, isTheirs):
		return "CONTRIBUTOR"
	}
	return "NONE"
}
