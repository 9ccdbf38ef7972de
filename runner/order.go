package runner

import (
	"context"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// takeOrder records the command that this run was started with, if there is one. It is
// kept in the state until a run has obeyed it: a session of another run is stopped by
// that run, which reads the state at each poll.
func (l *loop) takeOrder() error {
	if l.Order == nil {
		return nil
	}
	id, order, err := l.Order(l.state)
	if err != nil || order.Command == "" {
		return err
	}
	l.tick.Ordered = l.order(id, order)
	return nil
}

// order notes a command on an issue. It reports false for an issue without a claim and a
// delivery.
func (l *loop) order(id tracker.ID, o schedule.Order) bool {
	now := time.Now()
	if !l.state.Order(id, o, now) {
		return false
	}
	l.unsaved.add(schedule.Ordered{ID: id, Order: o, At: now})
	return true
}

// request notes a command that a person gave at a display. It is obeyed like one of a comment,
// in a round that begins with a poll.
func (l *loop) request(r progress.Request) error {
	if !l.order(r.ID, r.Order) {
		return progress.ErrNoClaim
	}
	l.Log.Info("command of the status page", "issue_id", r.ID, "issue_identifier", l.nameOf(r.ID), "command", r.Order.Command)
	l.pollSoon()
	return nil
}

// ordered returns the issues without a claim on which a command waits.
func (l *loop) ordered() []tracker.ID {
	var ids []tracker.ID
	for id := range l.state.Conversations {
		if _, claimed := l.state.Claims[id]; !claimed && l.state.IsOrdered(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// readOrdered reads those issues.
func (l *loop) readOrdered(ctx context.Context) {
	ids := l.ordered()
	slices.Sort(ids)
	if err := l.issues.readByID(ctx, ids); err != nil {
		l.issues.unasking("read the issues that a command is for", err)
	}
}

// addOrdered adds those issues to a snapshot.
func (l *loop) addOrdered(snap *schedule.Snapshot) {
	unavailable := l.unavailable()
	for _, id := range l.ordered() {
		if issue, known := l.issues.issues[id]; known && !unavailable[id] {
			snap.Claimed[id] = issue
		}
	}
}
