package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Comment is a comment on an issue or a pull request, or of a review.
type Comment struct{ Author, Body string }

// Reaction is a reaction to a comment or a review, such as THUMBS_UP.
type Reaction struct{ By, Content string }

// comment is a comment on an issue or a pull request, a review, or a comment of one.
type comment struct {
	id           int
	kind         string // IC, PRR or PRRC, which the id in GraphQL begins with
	author, body string // no author: a deleted account
	created      time.Time
	published    time.Time
	edited       time.Time
	editor       string
	reactions    []Reaction
}

func (c *comment) node() string { return fmt.Sprintf("%s_%d", c.kind, c.id) }

// updated returns the time when a comment changed last.
func (c *comment) updated() time.Time {
	if c.edited.IsZero() {
		return c.published
	}
	return c.edited
}

// shown returns comments as tests see them.
func shown(comments []*comment) []Comment {
	var list []Comment
	for _, c := range comments {
		list = append(list, Comment{c.author, c.body})
	}
	return list
}

// comments holds the comments on issues and pull requests, and finds the comments of reviews.
type comments struct{ *issues }

// AddComment has somebody comment on an issue or a pull request, and returns the id of
// the comment in GraphQL. An empty author is one whose account is deleted.
func (g *comments) AddComment(number int, by, body string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.thread(number)
	if t == nil {
		g.t.Errorf("#%d does not exist", number)
		return ""
	}
	return g.comment(t, by, body).node()
}

// comment adds a comment to an issue or a pull request. g.mu must be held.
func (g *comments) comment(t *thread, by, body string) *comment {
	t.Updated = g.tick()
	c := &comment{id: g.newID(), kind: "IC", author: by, body: body, created: t.Updated, published: t.Updated}
	t.comments = append(t.comments, c)
	return c
}

// EditComment has somebody replace the text of a comment or a review, its author if
// nobody is named, which moves the time of no issue and no pull request.
func (g *comments) EditComment(id, body string, by ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, c := g.find(id); c != nil {
		c.body, c.edited, c.editor = body, g.tick(), append(by, c.author)[0]
		return
	}
	g.t.Errorf("there is no comment %s", id)
}

// DeleteComment deletes a comment. A discussion of a review goes with its last comment.
func (g *comments) DeleteComment(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.deleteComment(id) {
		g.t.Errorf("there is no comment %s", id)
	}
}

// deleteComment deletes a comment and reports whether there was one. g.mu must be held.
func (g *comments) deleteComment(id string) bool {
	deleted := false
	without := func(list []*comment) []*comment {
		return slices.DeleteFunc(list, func(c *comment) bool {
			deleted = deleted || c.node() == id
			return c.node() == id
		})
	}
	for _, t := range g.threads {
		t.comments = without(t.comments)
		for _, d := range t.discussions {
			d.comments = without(d.comments)
		}
		t.discussions = slices.DeleteFunc(t.discussions, func(d *discussion) bool { return len(d.comments) == 0 })
	}
	return deleted
}

// Reactions returns the reactions to a comment or a review in the order in which they
// were made.
func (g *comments) Reactions(id string) []Reaction {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, c := g.find(id); c != nil {
		return slices.Clone(c.reactions)
	}
	return nil
}

// React has somebody react to a comment or a review.
func (g *comments) React(id, by, content string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, c := g.find(id); c != nil {
		c.react(by, content)
		return
	}
	g.t.Errorf("there is no comment %s", id)
}

// react adds a reaction that is not there. g.mu must be held.
func (c *comment) react(by, content string) {
	if r := (Reaction{by, content}); !slices.Contains(c.reactions, r) {
		c.reactions = append(c.reactions, r)
	}
}

// find returns the comment or review of an id in GraphQL with its issue or pull request, nil if
// there is none. g.mu must be held.
func (g *comments) find(id any) (*thread, *comment) {
	for _, t := range g.threads {
		lists := [][]*comment{t.comments}
		for _, r := range t.reviews {
			lists = append(lists, []*comment{&r.comment})
		}
		for _, d := range t.discussions {
			lists = append(lists, d.comments)
		}
		for _, list := range lists {
			if i := slices.IndexFunc(list, func(c *comment) bool { return c.node() == id }); i >= 0 {
				return t, list[i]
			}
		}
	}
	return nil, nil
}

// restReactions are the reactions as the REST API writes them.
var restReactions = map[string]string{
	"+1": "THUMBS_UP", "-1": "THUMBS_DOWN", "laugh": "LAUGH", "confused": "CONFUSED", "heart": "HEART", "hooray": "HOORAY", "rocket": "ROCKET", "eyes": "EYES",
}

func (g *comments) addCommentRoutes() {
	const read, change = "issues: read", "issues: write"
	g.handle(change, "POST /issues/{n}/comments", g.on(func(r *http.Request, t *thread) (int, any) {
		var body struct{ Body string }
		if !decode(r, &body) || body.Body == "" {
			return http.StatusUnprocessableEntity, object{"message": "Validation Failed"}
		}
		return http.StatusCreated, g.commentAnswer(t, g.comment(t, g.as, body.Body))
	}))
	g.handle(read, "GET /issues/{n}/comments", g.on(func(_ *http.Request, t *thread) (int, any) {
		list := []object{}
		for _, c := range t.comments {
			list = append(list, g.commentAnswer(t, c))
		}
		return http.StatusOK, list
	}))
	one := func(reply func(r *http.Request, t *thread, c *comment) (int, any)) func(r *http.Request) (int, any) {
		return func(r *http.Request) (int, any) {
			for _, t := range g.threads {
				for _, c := range t.comments {
					if c.id == atoi(r.PathValue("id")) {
						return reply(r, t, c)
					}
				}
			}
			return http.StatusNotFound, notFound
		}
	}
	g.handle(change, "PATCH /issues/comments/{id}", one(func(r *http.Request, t *thread, c *comment) (int, any) {
		var body struct{ Body string }
		if !decode(r, &body) || body.Body == "" {
			return http.StatusUnprocessableEntity, object{"message": "Validation Failed"}
		}
		c.body, c.edited, c.editor = body.Body, g.tick(), g.as
		return http.StatusOK, g.commentAnswer(t, c)
	}))
	g.handle(change, "DELETE /issues/comments/{id}", one(func(_ *http.Request, _ *thread, c *comment) (int, any) {
		g.deleteComment(c.node())
		return http.StatusNoContent, nil
	}))
	g.handle(change, "POST /issues/comments/{id}/reactions", one(func(r *http.Request, _ *thread, c *comment) (int, any) {
		var body struct{ Content string }
		if !decode(r, &body) || restReactions[body.Content] == "" {
			return http.StatusUnprocessableEntity, object{"message": "Validation Failed"}
		}
		c.react(g.as, restReactions[body.Content])
		return http.StatusCreated, object{"id": g.newID(), "node_id": "REA_1", "user": user(g.as), "content": body.Content, "created_at": stamp(g.tick())}
	}))
	g.handle(read, "GET /issues/comments/{id}/reactions", one(func(_ *http.Request, _ *thread, c *comment) (int, any) {
		list := []object{}
		for n, reaction := range c.reactions {
			for rest, content := range restReactions {
				if content == reaction.Content {
					list = append(list, object{"id": n + 1, "node_id": "REA_1", "user": user(reaction.By), "content": rest, "created_at": stamp(c.published)})
				}
			}
		}
		return http.StatusOK, list
	}))
}

// commentAnswer returns a comment on an issue or a pull request as the REST API gives it.
func (g *comments) commentAnswer(t *thread, c *comment) object {
	repo := g.URL() + "/repos/" + g.Repo()
	return object{
		"id": c.id, "node_id": c.node(), "url": fmt.Sprintf("%s/issues/comments/%d", repo, c.id), "html_url": g.commentURL(t, c),
		"issue_url": fmt.Sprintf("%s/issues/%d", repo, t.Number), "body": c.body, "user": user(c.author), "author_association": g.association(c.author),
		"created_at": stamp(c.created), "updated_at": stamp(c.updated()),
	}
}

// commentURL returns the page of a comment or a review.
func (g *comments) commentURL(t *thread, c *comment) string {
	page := fmt.Sprintf("%s/issues/%d", g.CloneURL(), t.Number)
	if t.pull != nil {
		page = g.pullURL(t.Number)
	}
	anchor := map[string]string{"IC": "issuecomment-", "PRR": "pullrequestreview-", "PRRC": "discussion_r"}[c.kind]
	return fmt.Sprintf("%s#%s%d", page, anchor, c.id)
}
