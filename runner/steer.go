package runner

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// maxSteers bounds how often a session is given feedback while it works. What people say after
// that waits for the next session.
const maxSteers = 10

// givenItems holds the items of feedback that a session was given, by which its agent answers them.
// It is safe for concurrent use.
type givenItems struct {
	mu    sync.Mutex
	items []feedback.Item
}

// add numbers the items after the others, and returns them for the prompt.
func (g *givenItems) add(items []feedback.Item) []prompt.Feedback {
	g.mu.Lock()
	defer g.mu.Unlock()
	added := make([]prompt.Feedback, 0, len(items))
	for _, item := range items {
		item.ID = strconv.Itoa(len(g.items) + 1)
		g.items = append(g.items, item)
		added = append(added, item.Feedback)
	}
	return added
}

func (g *givenItems) find(id string) (feedback.Item, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.items, func(item feedback.Item) bool { return item.ID == id })
	if i < 0 {
		return feedback.Item{}, false
	}
	return g.items[i], true
}

// give adds items to what a session was given, and returns them for its prompt.
func (c *conversations) give(id tracker.ID, given *givenItems, items []feedback.Item) []prompt.Feedback {
	for _, sentence := range feedback.Notes(items) {
		c.notice(c.nameOf(id) + ": " + sentence)
	}
	return given.add(items)
}

// replyTo returns the function that answers an item that a session was given; nil without a way to
// people.
func (c *conversations) replyTo(id tracker.ID, given *givenItems) func(ctx context.Context, item, text string, resolve bool) error {
	if c.conn.Feedback == nil {
		return nil
	}
	channel, pull := c.conn.Feedback, c.pullOf(id)
	return func(ctx context.Context, name, text string, resolve bool) error {
		item, ok := given.find(name)
		if !ok {
			return fmt.Errorf("there is no item %q", name)
		}
		return channel.Reply(ctx, id, pull, item, c.redact(text), resolve)
	}
}

func (s *sessions) steerable() map[tracker.ID]bool {
	ready := map[tracker.ID]bool{}
	for id, w := range s.owned {
		if !w.steers && w.steered < maxSteers && w.steering.IsReady() {
			ready[id] = true
		}
	}
	return ready
}

// steer gives a session what people said since it began. It returns at once, and a message tells the
// result, before the one that the session has ended.
func (l *loop) steer(d schedule.Decision) {
	w := l.running.owned[d.ID]
	w.steers = true
	if w.steered++; w.steered == maxSteers {
		l.notice(fmt.Sprintf("%s: its session was given feedback %d times: what people say from now on waits for the next session", l.nameOf(d.ID), maxSteers))
	}
	items := l.conversations.give(d.ID, &w.given, l.conversations.judge(d.ID).News())
	w.log.Info(d.Action.Happened(), "session_id", w.last.Session, "reason", d.Why.String())
	l.wg.Go(func() {
		w.steering.Give(items, func(err error) { l.send(steered{w, d.Feedback, err}) })
	})
}

// steered is the message that a session was given feedback, or was not.
type steered struct {
	*worker
	said schedule.Feedback
	err  error
}

func (m steered) applyTo(l *loop) {
	m.steers = false
	if m.err != nil { // the feedback waits: for the next plan, or for the next session
		m.log.Info("not steered", "session_id", m.last.Session, "reason", m.err)
		return
	}
	if l.running.owned[m.id] != m.worker {
		return // it has lost its claim
	}
	m.log.Info("steered", "session_id", m.last.Session, "feedback", m.said.News)
	l.display.happened(m.id, l.nameOf(m.id), "steered", m.said.News)
	l.notice(l.nameOf(m.id) + ": its session was given, while it worked: " + m.said.News)
	if m.round != "" {
		m.round += ", "
	}
	m.round += m.said.News
	l.change(schedule.Steered{ID: m.id, Session: m.claim.Sessions, Mark: m.said.Mark})
	l.replan = true // more may have been said since
	l.display.refresh()
}

// hasNews reports whether people said something that the session on an issue was not given.
func (c *conversations) hasNews(id tracker.ID) bool {
	_, talks := c.state.Conversations[id]
	return talks && c.judge(id).Feedback.News != ""
}
