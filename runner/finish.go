package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// finish completes the report with what is left behind.
func (l *loop) finish(now time.Time) {
	t := &l.tick
	if l.state != nil && l.state.Pause.Why == "" {
		l.resolve(agentStopped)
	}
	t.Errors = l.errors()
	t.Ended = now
	t.Workflow, t.Tracker = l.wf.Path, l.wf.Settings.Tracker.Kind
	t.Budget = l.wf.Settings.Policy.Budget
	t.Listed = l.issues.listed()
	if l.unread != nil {
		t.Unread = l.unread.Error()
	}
	if l.state == nil {
		return // the tick failed before it had a state
	}
	t.Service = !l.Once && !t.DryRun
	t.Claims = maps.Clone(l.state.Claims)
	t.Pause, t.Spent, t.Today = l.state.Pause, l.spent(), l.state.SpentToday(now)
	t.Verdicts = slices.DeleteFunc(schedule.Explain(l.state, l.snapshot(now), l.policy(), now), finishedWith)
	for i, row := range t.Rows {
		if c := l.state.Claims[row.ID]; c.Phase == schedule.Parked && row.Next.Phase != schedule.Parked {
			t.Rows[i].Next = schedule.Next{Phase: schedule.Parked, Why: schedule.Why{Reason: schedule.IsParked, Detail: c.Why}} // by a later plan
		}
	}
	for _, c := range l.state.Claims {
		if c.Phase == schedule.Waiting && (t.NextDue.IsZero() || c.Due.Before(t.NextDue)) {
			t.NextDue = c.Due
		}
	}
}

// spent returns what the run has used: in a service, over all its ticks.
func (l *loop) spent() schedule.Spent { return l.before.Plus(l.state.Tick) }

// finishedWith reports whether an issue is no candidate any more: it is not
// left alone, it is done.
func finishedWith(v schedule.Verdict) bool {
	return v.Phase == "" && isOver(v.Why.Reason)
}

// isOver reports whether a reason means that an issue is no candidate any more.
func isOver(reason schedule.Reason) bool {
	switch reason {
	case schedule.Terminal, schedule.NotActive, schedule.NotVisible:
		return true
	}
	return false
}

// pollOnce polls, again where the tracker asks to wait for a short time.
func (l *loop) pollOnce(ctx context.Context) error {
	for {
		l.poll(ctx, time.Now())
		if !l.awaitsTracker(time.Now()) {
			return l.unread
		}
		select {
		case <-time.After(time.Until(l.limit.end())):
		case <-ctx.Done():
			return l.unread
		}
	}
}

// Plan says what a tick would do now, and why not more. It changes nothing: not
// the state, no workspace, no issue.
func (r *Runner) Plan(ctx context.Context) (report.Tick, error) {
	l := newLoop(r)
	l.tick.DryRun = true
	l.cleaned = true // nothing is removed
	err := l.open(ctx)
	if err == nil {
		err = l.pollOnce(ctx)
	}
	l.finish(time.Now())
	return l.tick, err
}
