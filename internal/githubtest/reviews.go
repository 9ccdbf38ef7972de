package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/trackertest"
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

// AddReview has somebody review a pull request, and returns the id of the review in
// GraphQL. As at GitHub, its comments are created before they are published.
func (g *GitHub) AddReview(number int, r Review) string {
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
	t.updated = g.tick()
	added.published = t.updated
	for _, d := range added.begun {
		d.comments[0].published = t.updated
	}
	t.reviews, t.discussions = append(t.reviews, added), append(t.discussions, added.begun...)
	return added.node()
}

// addReviewRoute adds the request that comments on a line of a pull request.
func (g *GitHub) addReviewRoute(root string) {
	g.handle(root, "pull-requests: write", "POST /pulls/{n}/comments", g.onPull(func(r *http.Request, t *thread) (int, any) {
		var on LineComment
		switch {
		case !decode(r, &on) || on.Body == "":
			return invalid("body", "")
		case on.Path == "" || g.hunkAt(t, on.Path, on.Line) == "":
			return invalid("line", "")
		}
		begun := g.begin(t, g.as, []LineComment{on})[0]
		t.updated = g.tick()
		begun.comments[0].published = t.updated
		t.discussions = append(t.discussions, begun)
		return http.StatusCreated, g.lineAnswer(t, begun, begun.comments[0])
	}))
}

// lineAnswer returns a comment on a line as the REST API gives it.
func (g *GitHub) lineAnswer(t *thread, d *discussion, c *comment) object {
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
func (g *GitHub) begin(t *thread, by string, lines []LineComment) (begun []*discussion) {
	for _, on := range lines {
		c := &comment{id: g.newID(), kind: "PRRC", author: by, body: on.Body, created: g.tick()}
		begun = append(begun, &discussion{
			id: g.newID(), path: on.Path, commit: t.head, original: on.Line, line: on.Line, hunk: g.hunkAt(t, on.Path, on.Line), comments: []*comment{c},
		})
	}
	return begun
}

// Approve has somebody approve a pull request without a word.
func (g *GitHub) Approve(number int, by string) {
	g.AddReview(number, Review{By: by, Verdict: "APPROVED"})
}

// DismissReview has a member dismiss a review.
func (g *GitHub) DismissReview(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.threads {
		for _, r := range t.reviews {
			if r.node() == id {
				r.verdict, t.updated = "DISMISSED", g.tick()
				return
			}
		}
	}
	g.t.Errorf("there is no review %s", id)
}

// Reviews returns the texts of the reviews of a pull request that are published and have one.
func (g *GitHub) Reviews(number int) []Comment {
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
func (g *GitHub) Threads(number int) []Thread {
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
func (g *GitHub) ReplyInThread(id, by, body string) string {
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
func (g *GitHub) reply(id any, by, body string) *comment {
	t, d := g.discussion(id)
	if d == nil {
		return nil
	}
	t.updated = g.tick()
	c := &comment{id: g.newID(), kind: "PRRC", author: by, body: body, created: t.updated, published: t.updated}
	d.comments = append(d.comments, c)
	return c
}

// ResolveThread has a member resolve a discussion, which moves the time of no pull
// request.
func (g *GitHub) ResolveThread(id string) {
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
func (g *GitHub) discussion(id any) (*thread, *discussion) {
	for _, t := range g.threads {
		if i := slices.IndexFunc(t.discussions, func(d *discussion) bool { return d.node() == id }); i >= 0 {
			return t, t.discussions[i]
		}
	}
	return nil, nil
}

// moveLines has the discussions of a pull request follow their lines to its head.
func (g *GitHub) moveLines(t *thread) {
	for _, d := range t.discussions {
		d.line = d.original
		for _, h := range g.hunks(0, d.commit, t.head, d.path) {
			switch {
			case d.original >= h.from+h.fromLines && h.fromLines > 0, d.original > h.from && h.fromLines == 0:
				d.line += h.toLines - h.fromLines
			case d.original >= h.from && h.fromLines > 0:
				d.line = 0
			}
			if d.line == 0 {
				break
			}
		}
	}
}

// hunk is a part of a diff with its lines.
type hunk struct {
	from, fromLines, to, toLines int
	text                         []string // the first is that with the numbers
}

// aboutCommits returns the facts about commits that git has. It asks git once, since commits do not
// change and a flood of reviews is about the same lines. g.mu must be held.
func (g *GitHub) aboutCommits(args ...string) string {
	key := strings.Join(args, "\x00")
	answer, ok := g.answers[key]
	if !ok {
		answer = g.Git(args...)
		g.answers[key] = answer
	}
	return answer
}

// hunks returns the diff of a file between two commits.
func (g *GitHub) hunks(context int, from, to, path string) []hunk {
	var list []hunk
	for line := range strings.SplitSeq(g.aboutCommits("diff", fmt.Sprintf("--unified=%d", context), from, to, "--", ":(literal)"+path), "\n") {
		if numbers, ok := strings.CutPrefix(line, "@@ -"); ok {
			numbers, _, _ = strings.Cut(numbers, " @@")
			before, after, _ := strings.Cut(numbers, " +")
			h := hunk{}
			h.from, h.fromLines = numbered(before)
			h.to, h.toLines = numbered(after)
			list = append(list, h)
		}
		if n := len(list); n > 0 {
			list[n-1].text = append(list[n-1].text, line)
		}
	}
	return list
}

// numbered returns the first line and the number of lines from the head of a hunk.
func numbered(s string) (first, lines int) {
	at, count, ok := strings.Cut(s, ",")
	if !ok {
		return atoi(at), 1
	}
	return atoi(at), atoi(count)
}

// hunkAt returns the part of the diff of a pull request up to a line of its head; empty
// if the diff does not show the line.
func (g *GitHub) hunkAt(t *thread, path string, line int) string {
	for _, h := range g.hunks(3, g.aboutCommits("merge-base", g.Head(t.pull.Base), t.head), t.head, path) {
		at := h.to - 1
		for i, text := range h.text {
			if i > 0 && !strings.HasPrefix(text, "-") {
				at++
			}
			if i > 0 && at == line {
				return strings.Join(h.text[:i+1], "\n")
			}
		}
	}
	return ""
}

func (g *GitHub) reviewNode(t *thread, r *review) trackertest.Object {
	node := g.commentNode(t, &r.comment, "PullRequestReview")
	node["state"] = r.verdict
	return node
}

func (g *GitHub) discussionNode(t *thread, d *discussion) trackertest.Object {
	line := any(nil)
	if d.line > 0 {
		line = d.line
	}
	return trackertest.Object{
		"__typename": "PullRequestReviewThread", "id": d.node(), "path": d.path, "line": line, "originalLine": d.original, "isOutdated": d.line == 0, "isResolved": d.resolved,
		"comments": list(d.comments, func(c *comment) trackertest.Object {
			node := g.commentNode(t, c, "PullRequestReviewComment")
			node["diffHunk"] = d.hunk
			return node
		}),
	}
}

// closedAt returns the time when something was closed last.
func (t *thread) closedAt() time.Time {
	if len(t.closings) == 0 || t.State != "closed" {
		return time.Time{}
	}
	return t.closings[len(t.closings)-1].at
}

// changedLines returns the first page of the comments of reviews in the repository, those
// that changed last first.
func (g *GitHub) changedLines(r *http.Request) (int, any) {
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
		pull := fmt.Sprintf("%s/repos/%s/pulls/%d", g.URL(), g.Repo(), l.t.Number)
		answers = append(answers, object{
			"id": l.c.id, "node_id": l.c.node(), "url": fmt.Sprintf("%s/repos/%s/pulls/comments/%d", g.URL(), g.Repo(), l.c.id), "pull_request_url": pull,
			"html_url": g.commentURL(l.t, l.c), "body": l.c.body, "user": user(l.c.author), "author_association": g.association(l.c.author),
			"path": l.d.path, "diff_hunk": l.d.hunk, "commit_id": l.t.head, "original_commit_id": l.d.commit, "pull_request_review_id": nil,
			"created_at": stamp(l.c.created), "updated_at": stamp(l.c.updated()),
			"_links": object{"self": object{"href": pull}, "html": object{"href": pull}, "pull_request": object{"href": pull}},
		})
	}
	return http.StatusOK, answers
}
