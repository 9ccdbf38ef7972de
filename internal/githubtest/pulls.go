package githubtest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Pull is a pull request.
type Pull struct {
	Number                       int
	Title, Body                  string
	State                        string // open or closed
	Merged, Draft                bool
	Head, Base                   string // branches
	Fork                         string // repository of the head; empty for this one
	Labels, Assignees, Reviewers []string
}

// pulls has the pull requests, which are issues too, and their branches.
type pulls struct {
	*comments
	*diffs
	keepBranches bool
}

// AddPull adds a pull request, whose branch need not exist; it is closed then when somebody
// looks at it.
func (g *pulls) AddPull(p Pull) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.open(Issue{Title: p.Title, Body: p.Body, State: "open", Author: Member})
	t.pull = &p
	return t.Number
}

// Pulls returns the pull requests in the order in which they were opened.
func (g *pulls) Pulls() []Pull {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.syncPulls()
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

// ClosePull has somebody close a pull request without merging it; [Member] if nobody is
// named.
func (g *pulls) ClosePull(number int, by ...string) { g.endPull(number, by, func(*thread, string) {}) }

// ReopenPull has a person open a closed pull request again.
func (g *pulls) ReopenPull(number int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.pull(number); t != nil && !t.pull.Merged {
		g.setState(t, "open", Member)
	}
}

// Reopen has a person open a closed issue again.
func (g *pulls) Reopen(number int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.thread(number); t != nil && t.pull == nil {
		g.setState(t, "open", Member)
	}
}

// Merge has somebody merge a pull request as one commit, after which its branch is gone;
// [Member] if nobody is named.
func (g *pulls) Merge(number int, by ...string) { g.endPull(number, by, g.merge) }

// MarkMerged has a member merge a pull request in another way than [GitHub.Merge]: with a commit
// that the test has made and pushes to the base. The branch stays.
func (g *pulls) MarkMerged(number int, commit string) {
	g.endPull(number, nil, func(t *thread, by string) { t.pull.Merged, t.mergedBy, t.mergeCommit = true, by, commit })
}

// merge makes the merge commit of a pull request. g.mu must be held.
func (g *pulls) merge(t *thread, by string) {
	t.pull.Merged, t.mergedBy = true, by
	branch, base := "refs/heads/"+t.pull.Head, "refs/heads/"+t.pull.Base
	tree := g.Git("merge-tree", "--write-tree", base, branch)
	commit := g.Git("-c", "user.name=Kim", "-c", "user.email=kim@example.org", "commit-tree", "-p", base, "-m", t.Title, tree)
	g.Git("update-ref", base, commit)
	t.mergeCommit = commit
	if !g.keepBranches {
		g.Git("update-ref", "-d", branch)
	}
	if t.pull.Base != "main" {
		return // GitHub obeys closing words for the default branch only
	}
	for _, m := range closingWords.FindAllStringSubmatch(t.Body, -1) {
		if issue := g.thread(atoi(m[1])); issue != nil && issue.pull == nil {
			g.setState(issue, "closed", by)
		}
	}
}

// closingWords matches the text in the body of a pull request whose merge closes an issue.
var closingWords = regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):? +#([0-9]+)\b`)

// KeepBranches has the server leave the branches of merged pull requests, as GitHub does
// unless a setting of the repository says otherwise.
func (g *pulls) KeepBranches() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keepBranches = true
}

// endPull closes an open pull request, after end has done what goes before.
func (g *pulls) endPull(number int, by []string, end func(t *thread, by string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.syncPulls()
	t := g.pull(number)
	if t == nil || t.State != "open" {
		g.t.Errorf("#%d is not an open pull request", number)
		return
	}
	who := append(by, Member)[0]
	end(t, who)
	g.setState(t, "closed", who)
}

// Retarget has a member give a pull request another base.
func (g *pulls) Retarget(number int, base string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.pull(number); t != nil {
		t.pull.Base, t.Updated = base, g.tick()
	}
}

// ConvertToDraft has a member make a pull request a draft.
func (g *pulls) ConvertToDraft(number int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.pull(number); t != nil {
		t.pull.Draft, t.Updated = true, g.tick()
		t.conversions = append(t.conversions, Event{By: Member, At: t.Updated})
	}
}

// ForcePush has somebody replace a branch by one commit on top of main with these files,
// and returns the commit.
func (g *pulls) ForcePush(branch string, files map[string]string) string {
	g.t.Helper()
	const scratch = "refs/heads/githubtest-scratch"
	g.Git("update-ref", scratch, "refs/heads/main")
	commit := g.Commit("githubtest-scratch", files)
	g.Git("update-ref", "refs/heads/"+branch, commit)
	g.Git("update-ref", "-d", scratch)
	return commit
}

// pull returns a pull request; nil, and the test fails, if there is none of the number.
// g.mu must be held.
func (g *pulls) pull(number int) *thread {
	if t := g.thread(number); t != nil && t.pull != nil {
		return t
	}
	g.t.Errorf("#%d is not a pull request", number)
	return nil
}

// syncPulls has the open pull requests follow their branches, as they do at GitHub when
// somebody pushes. A pull request without a branch is closed. g.mu must be held.
func (g *pulls) syncPulls() {
	for _, t := range g.threads {
		if t.pull == nil || t.State != "open" {
			continue
		}
		switch head := g.Head(t.pull.Head); head {
		case t.head:
		case "":
			g.setState(t, "closed", Member)
		default:
			t.head, t.Updated = head, g.tick()
			g.moveLines(t)
		}
	}
}

// pullNodeID returns the id of a pull request in GraphQL.
func pullNodeID(number int) string { return fmt.Sprintf("PR_%d", number) }

// invalid returns the answer to a pull request that cannot be: of a field, or with a
// message.
func invalid(field, message string) (int, any) {
	problem := object{"resource": "PullRequest", "field": field, "code": "invalid"}
	if message != "" {
		problem = object{"resource": "PullRequest", "code": "custom", "message": message}
	}
	return http.StatusUnprocessableEntity, object{"message": "Validation Failed", "errors": []object{problem}}
}

func (g *pulls) addPullRoutes() {
	const read, change = "pull-requests: read", "pull-requests: write"
	owner, _, _ := strings.Cut(g.Repo(), "/")
	g.handle(read, "GET /pulls", func(r *http.Request) (int, any) {
		g.syncPulls()
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
	g.handle(change, "POST /pulls", func(r *http.Request) (int, any) { return g.openPull(r, owner) })
	g.handle(read, "GET /pulls/{n}", g.onPull(func(_ *http.Request, t *thread) (int, any) { return http.StatusOK, g.pullAnswer(t) }))
	g.handle(change, "PATCH /pulls/{n}", g.onPull(func(r *http.Request, t *thread) (int, any) {
		var body struct{ Title, Body, State *string }
		if !decode(r, &body) {
			return http.StatusBadRequest, object{"message": "Problems parsing JSON"}
		}
		for value, to := range map[*string]*string{body.Title: &t.Title, body.Body: &t.Body} {
			if value != nil {
				*to = *value
			}
		}
		state := t.State
		if body.State != nil {
			state = *body.State
		}
		g.setState(t, state, g.as)
		return http.StatusOK, g.pullAnswer(t)
	}))
	g.handle(change, "POST /pulls/{n}/requested_reviewers", g.onPull(func(r *http.Request, t *thread) (int, any) {
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
func (g *pulls) openPull(r *http.Request, owner string) (int, any) {
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
	t := g.open(Issue{Title: body.Title, Body: body.Body, State: "open", Author: g.as})
	t.pull, t.head = &Pull{Head: head, Base: body.Base, Draft: body.Draft}, g.Head(head)
	return http.StatusCreated, g.pullAnswer(t)
}

// pullAnswer returns a pull request as the REST API gives it, as far as anybody reads
// it. GitHub ends the lines of its text like browsers do.
func (g *pulls) pullAnswer(t *thread) object {
	owner, name, _ := strings.Cut(g.Repo(), "/")
	branch := func(name, commit string, more object) object {
		return object{"label": owner + ":" + name, "ref": name, "sha": commit, "user": user(owner), "repo": more}
	}
	repo := object{"id": 1, "name": name, "full_name": g.Repo(), "owner": user(owner)}
	from := maps.Clone(repo)
	from["full_name"] = cmp.Or(t.pull.Fork, g.Repo())
	merged, landed, assignees := any(nil), any(nil), []object{}
	for _, login := range t.Assignees {
		assignees = append(assignees, user(login))
	}
	if t.pull.Merged {
		merged, landed = stamp(t.closedAt()), t.mergeCommit
	}
	return object{
		"id": t.Number, "node_id": pullNodeID(t.Number), "number": t.Number, "state": t.State, "title": t.Title, "draft": t.pull.Draft,
		"body": strings.ReplaceAll(t.Body, "\n", "\r\n"), "html_url": g.pullURL(t.Number), "url": fmt.Sprintf("%s/repos/%s/pulls/%d", g.URL(), g.Repo(), t.Number),
		"merged_at": merged, "merge_commit_sha": landed, "created_at": stamp(t.Created), "updated_at": stamp(t.Updated), "user": user(t.Author),
		"head": branch(t.pull.Head, t.head, from), "base": branch(t.pull.Base, g.Head(t.pull.Base), repo), "labels": labelAnswers(t.Labels), "assignees": assignees,
	}
}

// onPull passes the pull request in the path on.
func (g *pulls) onPull(reply func(r *http.Request, t *thread) (int, any)) func(r *http.Request) (int, any) {
	return g.on(func(r *http.Request, t *thread) (int, any) {
		if t.pull == nil {
			return http.StatusNotFound, notFound
		}
		g.syncPulls()
		return reply(r, t)
	})
}
