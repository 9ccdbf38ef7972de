package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Review is a review of a pull request.
type Review struct {
	By      string
	Verdict string // APPROVED, CHANGES_REQUESTED or COMMENTED
	Body    string
	Lines   []LineComment
}

// LineComment is a comment of a review on a line of the head that the pull request adds
// or shows.
type LineComment struct {
	Path string
	Line int
	Body string
}

// Thread is a discussion of reviews at a line of a file.
type Thread struct {
	ID                 string // GraphQL id
	Path               string
	Line               int // 0 if the line is gone
	Outdated, Resolved bool
	Comments           []Comment
}

type review struct {
	comment
	verdict string
	begun   []*discussion // discussions that its comments began
}

// discussion is a Thread of a pull request.
type discussion struct {
	id       int
	path     string
	commit   string // commit on whose line the comment was made
	original int    // the line there
	line     int    // line of the head; 0 if it is gone
	hunk     string
	resolved bool
	comments []*comment
}

func (d *discussion) node() string { return fmt.Sprintf("PRRT_%d", d.id) }

// reviews has the reviews of pull requests and their discussions.
type reviews struct{ *pulls }

// AddReview has somebody review a pull request, and returns the id of the review in
// GraphQL. As at GitHub, its comments are created before they are published.
func (g *reviews) AddReview(number int, r Review) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.syncPulls()
	t := g.pull(number)
	if t == nil {
		return ""
	}
	added := &review{comment: comment{id: g.newID(), kind: "PRR", author: r.By, body: r.Body, created: g.tick()}, verdict: r.Verdict}
	for _, on := range r.Lines {
		if g.hunkAt(t, on.Path, on.Line) == "" {
			g.t.Errorf("the diff of #%d does not show line %d of %s", t.Number, on.Line, on.Path)
		}
	}
	added.begun = g.begin(t, r.By, r.Lines)
	t.Updated = g.tick()
	added.published = t.Updated
	for _, d := range added.begun {
		d.comments[0].published = t.Updated
	}
	t.reviews, t.discussions = append(t.reviews, added), append(t.discussions, added.begun...)
	return added.node()
}

// addReviewRoute adds the requests about comments on lines of pull requests.
func (g *reviews) addReviewRoute() {
	g.handle("pull-requests: read", "GET /pulls/comments", g.changedLines)
	g.handle("pull-requests: write", "POST /pulls/{n}/comments", g.onPull(func(r *http.Request, t *thread) (int, any) {
		var on LineComment
		switch {
		case !decode(r, &on) || on.Body == "":
			return invalid("body", "")
		case on.Path == "" || g.hunkAt(t, on.Path, on.Line) == "":
			return invalid("line", "")
		}
		begun := g.begin(t, g.as, []LineComment{on})[0]
		t.Updated = g.tick()
		begun.comments[0].published = t.Updated
		t.discussions = append(t.discussions, begun)
		return http.StatusCreated, g.lineAnswer(t, begun, begun.comments[0])
	}))
}

// lineAnswer returns a comment on a line as the REST API gives it.
func (g *reviews) lineAnswer(t *thread, d *discussion, c *comment) object {
	pull := fmt.Sprintf("%s/repos/%s/pulls/%d", g.URL(), g.Repo(), t.Number)
	url := fmt.Sprintf("%s/repos/%s/pulls/comments/%d", g.URL(), g.Repo(), c.id)
	link := func(to string) object { return object{"href": to} }
	return object{
		"id": c.id, "node_id": c.node(), "url": url, "html_url": g.commentURL(t, c), "pull_request_url": pull, "pull_request_review_id": nil,
		"body": c.body, "user": user(c.author), "author_association": g.association(c.author), "created_at": stamp(c.created), "updated_at": stamp(c.updated()),
		"path": d.path, "diff_hunk": d.hunk, "commit_id": t.head, "original_commit_id": d.commit,
		"_links": object{"self": link(url), "html": link(g.commentURL(t, c)), "pull_request": link(pull)},
	}
}

// begin returns new discussions, whose comments are not published yet. g.mu must be held.
func (g *reviews) begin(t *thread, by string, lines []LineComment) (begun []*discussion) {
	for _, on := range lines {
		c := &comment{id: g.newID(), kind: "PRRC", author: by, body: on.Body, created: g.tick()}
		begun = append(begun, &discussion{
			id: g.newID(), path: on.Path, commit: t.head, original: on.Line, line: on.Line, hunk: g.hunkAt(t, on.Path, on.Line), comments: []*comment{c},
		})
	}
	return begun
}

// Approve has somebody approve a pull request without a word.
func (g *reviews) Approve(number int, by string) {
	g.AddReview(number, Review{By: by, Verdict: "APPROVED"})
}

// DismissReview has a member dismiss a review.
func (g *reviews) DismissReview(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.threads {
		for _, r := range t.reviews {
			if r.node() == id {
				r.verdict, t.Updated = "DISMISSED", g.tick()
				return
			}
		}
	}
	g.t.Errorf("there is no review %s", id)
}

// Reviews returns the texts of the reviews of a pull request that are published and have one.
func (g *reviews) Reviews(number int) []Comment {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []Comment
	if t := g.pull(number); t != nil {
		for _, r := range t.reviews {
			if !r.published.IsZero() && r.body != "" {
				list = append(list, Comment{r.author, r.body})
			}
		}
	}
	return list
}

// Threads returns the discussions of a pull request in the order in which they began.
func (g *reviews) Threads(number int) []Thread {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.syncPulls()
	var list []Thread
	if t := g.pull(number); t != nil {
		for _, d := range t.discussions {
			list = append(list, Thread{d.node(), d.path, d.line, d.line == 0, d.resolved, shown(d.comments)})
		}
	}
	return list
}

// ReplyInThread has somebody reply in a discussion, and returns the id of the comment in
// GraphQL.
func (g *reviews) ReplyInThread(id, by, body string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.reply(id, by, body); c != nil {
		return c.node()
	}
	g.t.Errorf("there is no thread %s", id)
	return ""
}

// reply adds a comment to a discussion; nil if there is none of that id. g.mu must be
// held.
func (g *reviews) reply(id any, by, body string) *comment {
	t, d := g.discussion(id)
	if d == nil {
		return nil
	}
	t.Updated = g.tick()
	c := &comment{id: g.newID(), kind: "PRRC", author: by, body: body, created: t.Updated, published: t.Updated}
	d.comments = append(d.comments, c)
	return c
}

// ResolveThread has a member resolve a discussion, which moves the time of no pull
// request.
func (g *reviews) ResolveThread(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, d := g.discussion(id)
	if d == nil {
		g.t.Errorf("there is no thread %s", id)
		return
	}
	d.resolved = true
}

// discussion returns the discussion of an id in GraphQL, and its pull request.
func (g *reviews) discussion(id any) (*thread, *discussion) {
	for _, t := range g.threads {
		if i := slices.IndexFunc(t.discussions, func(d *discussion) bool { return d.node() == id }); i >= 0 {
			return t, t.discussions[i]
		}
	}
	return nil, nil
}

// closedAt returns the time when something was closed last.
func (t *thread) closedAt() time.Time {
	if len(t.closings) == 0 || t.State != "closed" {
		return time.Time{}
	}
	return t.closings[len(t.closings)-1].At
}

// changedLines returns the first page of the comments of reviews in the repository, those
// that changed last first.
func (g *reviews) changedLines(r *http.Request) (int, any) {
	if r.FormValue("sort") != "updated" || r.FormValue("direction") != "desc" {
		g.t.Errorf("the order of %s is not that of this server", r.URL)
	}
	type line struct {
		t *thread
		d *discussion
		c *comment
	}
	var lines []line
	for _, t := range g.threads {
		for _, d := range t.discussions {
			for _, c := range d.comments {
				lines = append(lines, line{t, d, c})
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return b.c.updated().Compare(a.c.updated()) })
	answers := []object{}
	for _, l := range lines[:min(len(lines), atoi(r.FormValue("per_page")))] {
		answers = append(answers, g.lineAnswer(l.t, l.d, l.c))
	}
	return http.StatusOK, answers
}
