package githubtest

import (
	"fmt"
	"net/http"
	"slices"
)

// reviewOf is the body of a request that makes or submits a review.
type reviewOf struct {
	Body     string
	Event    string // APPROVE, REQUEST_CHANGES, COMMENT, or empty for a draft
	Comments []LineComment
}

// verdicts are the states of reviews by the events that make them.
var verdicts = map[string]string{"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}

// addReviewRoutes adds the requests that read, change and delete comments, and those that
// post, read and change reviews.
func (g *GitHub) addReviewRoutes(root string) {
	const read, change = "issues: read", "pull-requests: write"
	g.handle(root, read, "GET /issues/comments/{id}", func(r *http.Request) (int, any) {
		for _, t := range g.threads {
			if i := slices.IndexFunc(t.comments, func(c *comment) bool { return c.id == atoi(r.PathValue("id")) }); i >= 0 {
				return http.StatusOK, g.commentAnswer(t, t.comments[i])
			}
		}
		return http.StatusNotFound, notFound
	})
	line := func(reply func(r *http.Request, t *thread, d *discussion, c *comment) (int, any)) func(r *http.Request) (int, any) {
		return func(r *http.Request) (int, any) {
			for _, t := range g.threads {
				for _, d := range t.discussions {
					if i := slices.IndexFunc(d.comments, func(c *comment) bool { return c.id == atoi(r.PathValue("id")) }); i >= 0 {
						return reply(r, t, d, d.comments[i])
					}
				}
			}
			return http.StatusNotFound, notFound
		}
	}
	g.handle(root, read, "GET /pulls/comments/{id}", line(func(_ *http.Request, t *thread, d *discussion, c *comment) (int, any) {
		return http.StatusOK, g.lineAnswer(t, d, c)
	}))
	g.handle(root, change, "PATCH /pulls/comments/{id}", line(func(r *http.Request, t *thread, d *discussion, c *comment) (int, any) {
		var body struct{ Body string }
		if !decode(r, &body) || body.Body == "" {
			return invalid("body", "")
		}
		c.body, c.edited, c.editor = body.Body, g.tick(), g.as
		return http.StatusOK, g.lineAnswer(t, d, c)
	}))
	g.handle(root, change, "DELETE /pulls/comments/{id}", line(func(_ *http.Request, _ *thread, _ *discussion, c *comment) (int, any) {
		g.deleteComment(c.node())
		return http.StatusNoContent, nil
	}))
	g.handle(root, change, "POST /pulls/{n}/comments/{id}/replies", line(func(r *http.Request, t *thread, d *discussion, _ *comment) (int, any) {
		var body struct{ Body string }
		if !decode(r, &body) || body.Body == "" {
			return invalid("body", "")
		}
		return http.StatusCreated, g.lineAnswer(t, d, g.reply(d.node(), g.as, body.Body))
	}))
	g.handle(root, change, "POST /pulls/{n}/comments", g.onPull(func(r *http.Request, t *thread) (int, any) {
		var body struct {
			LineComment
			InReplyTo int `json:"in_reply_to"`
		}
		if !decode(r, &body) || body.Body == "" {
			return invalid("body", "")
		}
		for _, d := range t.discussions {
			if slices.ContainsFunc(d.comments, func(c *comment) bool { return c.id == body.InReplyTo }) {
				return http.StatusCreated, g.lineAnswer(t, d, g.reply(d.node(), g.as, body.Body))
			}
		}
		if body.Path == "" || g.hunkAt(t, body.Path, body.Line) == "" {
			return invalid("line", "")
		}
		begun := g.begin(t, g.as, []LineComment{body.LineComment})
		t.updated = g.tick()
		begun[0].comments[0].published = t.updated
		t.discussions = append(t.discussions, begun...)
		return http.StatusCreated, g.lineAnswer(t, begun[0], begun[0].comments[0])
	}))
	g.handle(root, change, "POST /pulls/{n}/reviews", g.onPull(func(r *http.Request, t *thread) (int, any) {
		var body reviewOf
		if !decode(r, &body) {
			return invalid("body", "")
		}
		if slices.ContainsFunc(body.Comments, func(on LineComment) bool { return on.Path == "" || g.hunkAt(t, on.Path, on.Line) == "" }) {
			return invalid("line", "")
		}
		added := &review{comment: comment{id: g.newID(), kind: "PRR", author: g.as, body: body.Body, created: g.tick()}, verdict: "PENDING"}
		added.begun = g.begin(t, g.as, body.Comments)
		t.reviews, t.discussions = append(t.reviews, added), append(t.discussions, added.begun...)
		if body.Event == "" {
			return http.StatusOK, g.reviewAnswer(t, added)
		}
		return g.submit(t, added, body)
	}))
	g.handle(root, read, "GET /pulls/{n}/reviews/{id}", g.onReview(func(_ *http.Request, t *thread, v *review) (int, any) {
		return http.StatusOK, g.reviewAnswer(t, v)
	}))
	g.handle(root, change, "PUT /pulls/{n}/reviews/{id}", g.onReview(func(r *http.Request, t *thread, v *review) (int, any) {
		var body reviewOf
		if !decode(r, &body) || body.Body == "" {
			return invalid("body", "")
		}
		v.body = body.Body
		if !v.published.IsZero() {
			v.edited, v.editor = g.tick(), g.as
		}
		return http.StatusOK, g.reviewAnswer(t, v)
	}))
	g.handle(root, change, "POST /pulls/{n}/reviews/{id}/events", g.onReview(func(r *http.Request, t *thread, v *review) (int, any) {
		var body reviewOf
		if !decode(r, &body) || v.verdict != "PENDING" || v.author != g.as {
			return invalid("event", "")
		}
		return g.submit(t, v, body)
	}))
}

// submit publishes a review. As at GitHub, nobody decides about their own pull request,
// and who asks for something says what.
func (g *GitHub) submit(t *thread, v *review, body reviewOf) (int, any) {
	verdict, known := verdicts[body.Event]
	switch {
	case !known:
		return invalid("event", "")
	case body.Event != "COMMENT" && v.author == t.Author:
		return invalid("", "Can not request changes on or approve your own pull request")
	case body.Body == "" && v.body == "" && (body.Event == "REQUEST_CHANGES" || body.Event == "COMMENT" && len(v.begun) == 0):
		return invalid("body", "")
	}
	if body.Body != "" {
		v.body = body.Body
	}
	t.updated = g.tick()
	v.verdict, v.published = verdict, t.updated
	for _, d := range v.begun {
		d.comments[0].published = t.updated
	}
	return http.StatusOK, g.reviewAnswer(t, v)
}

// onPull passes the pull request in the path on.
func (g *GitHub) onPull(reply func(r *http.Request, t *thread) (int, any)) func(r *http.Request) (int, any) {
	return g.on(func(r *http.Request, t *thread) (int, any) {
		if t.pull == nil {
			return http.StatusNotFound, notFound
		}
		g.syncPulls()
		return reply(r, t)
	})
}

// onReview passes the review in the path on.
func (g *GitHub) onReview(reply func(r *http.Request, t *thread, v *review) (int, any)) func(r *http.Request) (int, any) {
	return g.onPull(func(r *http.Request, t *thread) (int, any) {
		for _, v := range t.reviews {
			if v.id == atoi(r.PathValue("id")) {
				return reply(r, t, v)
			}
		}
		return http.StatusNotFound, notFound
	})
}

// lineAnswer returns a comment of a review as the REST API gives it.
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

// reviewAnswer returns a review as the REST API gives it.
func (g *GitHub) reviewAnswer(t *thread, v *review) object {
	pull := fmt.Sprintf("%s/repos/%s/pulls/%d", g.URL(), g.Repo(), t.Number)
	link := func(to string) object { return object{"href": to} }
	answer := object{
		"id": v.id, "node_id": v.node(), "html_url": g.commentURL(t, &v.comment), "pull_request_url": pull, "body": v.body, "user": user(v.author),
		"author_association": g.association(v.author), "state": v.verdict, "commit_id": t.head,
		"_links": object{"html": link(g.commentURL(t, &v.comment)), "pull_request": link(pull)},
	}
	if !v.published.IsZero() {
		answer["submitted_at"] = stamp(v.published)
	}
	return answer
}
