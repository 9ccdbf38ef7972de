package trackertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// program and agent are the authors of the comments of a memoryTracker's own.
const (
	program = "symphony"
	agent   = "agent"
)

func (m *memoryTracker) discussion() *Discussion {
	return &Discussion{
		Trusted:   "kim",
		Owner:     func() string { return "owner" },
		Strangers: []string{"mallory"},
		Say: func(id tracker.ID, author, text string, at time.Time) string {
			return m.say(id, memoryComment{author: author, text: text, at: at})
		},
		Edit: func(id tracker.ID, comment, text string, at time.Time) {
			c := m.comment(id, comment)
			c.text = text
			if m.defect != "deaf to edits" {
				c.at = at
			}
		},
		Retract: func(id tracker.ID, comment string) {
			m.comments[id] = slices.DeleteFunc(m.comments[id], func(c memoryComment) bool { return c.id == comment && m.defect != "remembers what was deleted" })
		},
		ToolCall:  func(_ tracker.ID, text string) (string, string) { return "finish", `{"say": "` + text + `"}` },
		Reactions: func(id tracker.ID, comment string) int { return len(m.comment(id, comment).reactions) },
	}
}

// say adds a comment and returns its id.
func (m *memoryTracker) say(id tracker.ID, c memoryComment) string {
	if m.comments == nil {
		m.comments = make(map[tracker.ID][]memoryComment)
	}
	m.said++
	c.id = fmt.Sprint("c", m.said)
	m.comments[id] = append(m.comments[id], c)
	return c.id
}

func (m *memoryTracker) comment(id tracker.ID, comment string) *memoryComment {
	i := slices.IndexFunc(m.comments[id], func(c memoryComment) bool { return c.id == comment })
	return &m.comments[id][i]
}

// saying performs the call of the tool that comments; ok is false for another call.
func (m *memoryTracker) saying(issue tracker.Issue, arguments json.RawMessage) (ok bool) {
	var fields struct{ Say string }
	if json.Unmarshal(arguments, &fields) != nil || fields.Say == "" {
		return false
	}
	m.say(issue.ID, memoryComment{author: agent, text: fields.Say, at: time.Now()})
	return true
}

func (m *memoryTracker) CommentsSince(ctx context.Context, since map[tracker.ID]time.Time) (map[tracker.ID]tracker.Comments, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := len(since)
	if m.defect == "asks about nothing" {
		asked++
	}
	batch := 100
	if m.defect == "asks about each issue" {
		batch = 1
	}
	for n := 0; n < asked; n += batch {
		if err := m.request(ctx, 0); err != nil && m.defect != "hears no refusal" {
			return nil, err
		}
	}
	if m.defect == "reads again what was read" {
		m.requests += len(since)
	}
	all := make(map[tracker.ID]tracker.Comments)
	var earliest time.Time
	for _, at := range since {
		if earliest.IsZero() || at.Before(earliest) {
			earliest = at
		}
	}
	for id, at := range since {
		if m.find(id) == nil && m.defect != "hears of what is gone" {
			continue
		}
		if m.defect == "one time for all" {
			at = earliest
		}
		if list := m.heard(id, at); len(list.List) > 0 {
			all[id] = list
		}
	}
	return all, nil
}

// heard returns the comments on an issue since a time.
func (m *memoryTracker) heard(id tracker.ID, since time.Time) (list tracker.Comments) {
	for _, c := range m.comments[id] {
		if c.at.Before(since) || m.defect == "deaf to the same moment" && c.at.Equal(since) {
			continue
		}
		said := tracker.Comment{ID: c.id, Author: c.author, Own: c.author == program || c.author == agent, Text: c.text, At: c.at}
		switch m.defect {
		case "hears its agent":
			said.Own = c.author == program
		case "deaf to its owner":
			said.Own = said.Own || c.author == "owner"
		case "believes markers":
			said.Own = said.Own || tracker.IsMarked(c.text)
		case "cleans text":
			said.Text = strings.ReplaceAll(c.text, "\r\n", "\n")
		}
		if c.author == "mallory" && m.defect != "trusts everybody" {
			said.Distrust = "mallory has no write access"
		}
		list.List = append(list.List, said)
	}
	if m.defect != "newest first" {
		slices.SortStableFunc(list.List, func(a, b tracker.Comment) int { return a.At.Compare(b.At) })
	} else {
		slices.Reverse(list.List)
	}
	bound := tracker.MaxComments
	if m.defect == "loses words in a flood" {
		bound = 100
	}
	if n := len(list.List) - bound; n > 0 && m.defect != "reads a flood" {
		list.List, list.Truncated = list.List[n:], true
	}
	return list
}

func (m *memoryTracker) React(ctx context.Context, id tracker.ID, comment string, r tracker.Reaction) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.request(ctx, 0); err != nil {
		return err
	}
	if c := m.comment(id, comment); !slices.Contains(c.reactions, r) || m.defect == "reacts twice" {
		c.reactions = append(c.reactions, r)
	}
	return nil
}
