package linear

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

// newUser returns an active member of the workspace.
func newUser(name string) object {
	return object{
		"id": "user-" + strings.ToLower(name), "name": name, "displayName": strings.ToLower(name), "isMe": false,
		"active": true, "guest": false, "app": false,
	}
}

// fakeTime returns a time as Linear writes it.
func fakeTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// say adds a comment, of which the author and the text are given.
func (f *fake) say(issue string, c object, at time.Time) object {
	f.said++
	n := f.said
	for key, value := range (object{
		"id": fmt.Sprintf("0c0ffee0-0000-4000-8000-%012d", n), "issue": f.find(issue), "url": fmt.Sprintf("https://linear.app/acme/comment/%d", n),
		"createdAt": fakeTime(at), "updatedAt": fakeTime(at), "editedAt": nil, "reactions": []object{},
		"user": object(nil), "botActor": object(nil), "externalUser": object(nil),
	}) {
		if _, given := c[key]; !given {
			c[key] = value
		}
	}
	f.comments[issue] = append(f.comments[issue], c)
	return c
}

func (f *fake) edit(c object, text string, at time.Time) {
	c["body"], c["editedAt"], c["updatedAt"] = text, fakeTime(at), fakeTime(at)
}

func (f *fake) retract(id string) {
	for issue := range f.comments {
		f.comments[issue] = slices.DeleteFunc(f.comments[issue], func(c object) bool { return c["id"] == id })
	}
}

// commentsOf returns the comments of an issue, in pages that begin with the newest.
func (f *fake) commentsOf(issue string) resolver {
	return func(a map[string]any) any {
		list := trackertest.Filter(f.comments[issue], a["filter"])
		if a["orderBy"] == "updatedAt" {
			slices.SortStableFunc(list, func(a, b object) int { return cmp.Compare(a["updatedAt"].(string), b["updatedAt"].(string)) })
		}
		slices.Reverse(list)
		return trackertest.Connection(list, f.cursor)(a)
	}
}

// speakers returns who can comment on issues, by the name of a comment's author.
func (f *fake) speakers() map[string]object {
	guest, former, app := newUser("Guest"), newUser("Former"), newUser("App")
	guest["guest"], former["active"], app["app"] = true, false, true
	by := func(user object) object { return object{"user": user} }
	return map[string]object{
		"kim": by(f.users[1]), "me": by(f.users[0]), "guest": by(guest), "former": by(former), "app": by(app), "": {},
		"Zapbot":  {"botActor": object{"name": "Zapbot"}},
		"a user":  {"externalUser": object{"displayName": "a user"}},
		"through": {"user": newUser("Through"), "botActor": object{"name": "GitHub"}},
	}
}

// discussion lets the accounts of the fake talk.
func (f *fake) discussion() *trackertest.Discussion {
	return &trackertest.Discussion{
		Trusted:   "kim",
		Owner:     func() string { return "me" },
		Strangers: []string{"guest", "former", "app", "", "Zapbot", "a user", "through"},
		Say: func(id tracker.ID, author, text string, at time.Time) string {
			f.mu.Lock()
			defer f.mu.Unlock()
			c := f.speakers()[author]
			c["body"] = text
			return f.say(string(id), c, at)["id"].(string)
		},
		Edit: func(_ tracker.ID, comment, text string, at time.Time) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.edit(f.comment(comment), text, at)
		},
		Retract: func(_ tracker.ID, comment string) { f.retract(comment) },
		ToolCall: func(id tracker.ID, text string) (string, string) {
			return "linear_graphql", arguments(fmt.Sprintf("mutation { commentCreate(input: {issueId: %q, body: %q}) { success } }", id, text))
		},
		Reactions: func(_ tracker.ID, comment string) int { return len(f.comment(comment)["reactions"].([]object)) },
	}
}

// comment returns the comment with an id.
func (f *fake) comment(id string) object {
	all := f.allComments()
	return all[slices.IndexFunc(all, func(c object) bool { return c["id"] == id })]
}
