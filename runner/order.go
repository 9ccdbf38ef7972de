package runner

import (
	"context"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// orders obeys commands that were not given in a comment.
type orders struct {
	*core
	issues *issueReader
	first  func(*schedule.State) (tracker.ID, schedule.Order, error) // Order of [Runner]
}

// takeFirst records the command that this run was started with, if there is one, and reports
// whether it did. It is
// kept in the state until a run has obeyed it: a session of another run is stopped by
// that run, which reads the state at each poll.
func (o *orders) takeFirst() (taken bool, err error) {
	if o.first == nil {
		return false, nil
	}
	id, order, err := o.first(o.state)
	if err != nil || order.Command == "" {
		return false, err
	}
	return o.take(id, order), nil
}

// take notes a command on an issue. It reports false for an issue without a claim and a
// delivery.
func (o *orders) take(id tracker.ID, order schedule.Order) bool {
	now := time.Now()
	if !o.state.Order(id, order, now) {
		return false
	}
	o.unsaved.add(schedule.CommandGiven{ID: id, Order: order, At: now})
	return true
}

// request notes a command that a person gave at a display. It is obeyed like a command in a
// comment, in a round that begins with a poll.
func (o *orders) request(r progress.Request) error {
	if !o.take(r.ID, r.Order) {
		return progress.ErrNoClaim
	}
	o.log.Info("command of the status page", "issue_id", r.ID, "issue_identifier", o.nameOf(r.ID), "command", r.Order.Command)
	o.pollSoon()
	return nil
}

// waiting returns the issues without a claim on which a command waits.
func (o *orders) waiting() []tracker.ID {
	var ids []tracker.ID
	for id := range o.state.Conversations {
		if _, claimed := o.state.Claims[id]; !claimed && o.state.HasPendingCommand(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (o *orders) readIssues(ctx context.Context) {
	ids := slices.Sorted(slices.Values(o.waiting()))
	if err := o.issues.readByID(ctx, ids); err != nil {
		o.issues.unasking("read the issues that a command is for", err)
	}
}

func (o *orders) addIssues(snap *schedule.Snapshot, unavailable map[tracker.ID]bool) {
	for _, id := range o.waiting() {
		if issue, known := o.issues.issues[id]; known && !unavailable[id] {
			snap.Claimed[id] = issue
		}
	}
}
