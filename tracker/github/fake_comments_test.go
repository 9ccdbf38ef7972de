package github

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

// fakeIssueComment is a comment on an issue of the fake, with its text.
type fakeIssueComment struct {
	by         fakeUser
	body       string
	at, edited time.Time // at is when the issue changed last, unless it is set
	deleted    bool
	reactions  []any
}

func commentID(issue, index int) string { return fmt.Sprintf("IC_%d_%d", issue, index) }

// comment returns the comment with an id, nil when there is none.
func (f *fake) comment(id any) *fakeIssueComment {
	var issue, index int
	if _, err := fmt.Sscanf(fmt.Sprint(id), "IC_%d_%d", &issue, &index); err != nil {
		return nil
	}
	return &f.issues[issue].comments[index]
}

// commentNode returns a comment as GraphQL does.
func (f *fake) commentNode(i *fakeIssue, index int) object {
	c := i.comments[index]
	at := c.at
	if at.IsZero() {
		at = i.updated
	}
	node := object{
		"id": commentID(i.number, index), "body": c.body, "author": actorNode(&c.by), "viewerDidAuthor": c.by == f.account, "lastEditedAt": nil, "editor": object(nil),
		"publishedAt": at.Format(time.RFC3339), "updatedAt": at.Format(time.RFC3339), "url": fmt.Sprintf("https://github.com/acme/shop/issues/%d#%d", i.number, index),
	}
	if c.by.Login == "" {
		node["author"] = object(nil)
	}
	if !c.edited.IsZero() {
		node["editor"] = node["author"]
		node["lastEditedAt"], node["updatedAt"] = c.edited.Format(time.RFC3339), c.edited.Format(time.RFC3339)
	}
	return node
}

// commentPage returns the comments of an issue, page by page from the newest on.
func (f *fake) commentPage(i *fakeIssue) resolver {
	return func(args map[string]any) any {
		var there []int
		for index := range i.comments {
			if !i.comments[index].deleted {
				there = append(there, index)
			}
		}
		if args["orderBy"] != nil {
			slices.SortStableFunc(there, func(a, b int) int { return i.comments[a].changed().Compare(i.comments[b].changed()) })
		}
		end := len(there)
		if before, ok := args["before"].(string); ok {
			end = atoi(strings.TrimPrefix(before, "before_"))
		}
		start := max(0, end-atoi(fmt.Sprint(args["last"])))
		nodes := []object{}
		for _, index := range there[start:end] {
			nodes = append(nodes, f.commentNode(i, index))
		}
		return object{"nodes": nodes, "totalCount": len(there), "pageInfo": object{"hasPreviousPage": start > 0, "startCursor": fmt.Sprintf("before_%d", start)}}
	}
}

// changed returns when the comment was written or edited; zero where the issue tells.
func (c *fakeIssueComment) changed() time.Time {
	if c.edited.IsZero() {
		return c.at
	}
	return c.edited
}

func (f *fake) editComment(input map[string]any) object {
	c := f.comment(input["id"])
	if c == nil {
		return object{"issueComment": object(nil)}
	}
	c.body = input["body"].(string)
	return object{"issueComment": object{"id": input["id"]}}
}

func (f *fake) react(input map[string]any) object {
	c := f.comment(input["subjectId"])
	if c == nil {
		return object{"subject": object(nil)}
	}
	if !slices.Contains(c.reactions, input["content"]) {
		c.reactions = append(c.reactions, input["content"])
	}
	return object{"subject": object{"id": input["subjectId"]}}
}

// restLogin returns the login of an account as the REST API writes it.
func (u fakeUser) restLogin() string {
	if u.Type == "Bot" {
		return u.Login + "[bot]"
	}
	return u.Login
}

// discussion lets accounts of the fake talk.
func (f *fake) discussion() *trackertest.Discussion {
	f.permissions["reader"] = "read"
	types := map[string]string{"linter": "Bot", "acme": "Organization"}
	change := func(comment string, edit func(*fakeIssueComment)) {
		f.mu.Lock()
		defer f.mu.Unlock()
		edit(f.comment(comment))
	}
	return &trackertest.Discussion{
		Trusted: "mem",
		Owner: func() string {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.account = fakeUser{"owner", "User"}
			f.permissions["owner"] = "write"
			return "owner"
		},
		Strangers: []string{"mallory", "reader", "linter", "acme", ""},
		Say: func(id tracker.ID, author, text string, at time.Time) string {
			f.mu.Lock()
			defer f.mu.Unlock()
			i := f.issues[atoi(string(id))]
			i.comments = append(i.comments, fakeIssueComment{by: fakeUser{author, cmp.Or(types[author], "User")}, body: text, at: at})
			return commentID(i.number, len(i.comments)-1)
		},
		Edit: func(_ tracker.ID, comment, text string, at time.Time) {
			change(comment, func(c *fakeIssueComment) { c.body, c.edited = text, at })
		},
		Retract: func(_ tracker.ID, comment string) { change(comment, func(c *fakeIssueComment) { c.deleted = true }) },
		ToolCall: func(_ tracker.ID, text string) (string, string) {
			return tracker.UpdateTool, fmt.Sprintf(`{"comment": %q}`, text)
		},
		Reactions: func(_ tracker.ID, comment string) (n int) {
			change(comment, func(c *fakeIssueComment) { n = len(c.reactions) })
			return n
		},
	}
}
