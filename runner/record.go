package runner

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// finish completes the report with the claims, the spending and the issues that
// were left alone.
func (l *loop) finish(now time.Time) {
	t := &l.tick
	l.notifier.warnOnce()
	if l.state != nil && l.state.Pause.Why == "" {
		l.resolve(progress.Agent)
	}
	t.Errors, t.Warnings, t.Notices = l.errors(), l.warnings, l.notices
	t.Ended, t.Noted = now, l.conversations.noted
	t.Workflow, t.Tracker = l.wf.Path, l.wf.Settings.Tracker.Kind
	t.Delivers, t.Budget = l.delivers(), l.wf.Settings.Policy.Budget
	t.Listed = l.issues.listed() || l.fleet.isShard() // a shard need not list
	if l.issues.unread != nil {
		t.Unread = l.issues.unread.Error()
	}
	if l.state == nil {
		return // the tick failed before it had a state
	}
	t.Service, t.Comments = !l.Once && !t.DryRun, l.comments()
	t.Claims = maps.Clone(l.state.Claims)
	t.Deliveries = maps.Clone(l.state.Deliveries)
	t.Checks = l.state.Checks()
	t.Asked = make(map[tracker.ID]string, len(l.state.Conversations))
	for id, c := range l.state.Conversations {
		t.Asked[id] = c.Asked
	}
	t.Ignored = make(map[tracker.ID][]string, len(l.conversations.read))
	for id, r := range l.conversations.read {
		t.Ignored[id] = r.ignored
	}
	t.Hosts = l.state.Hosts.Down(l.policy().Hosts, now)
	t.Pause, t.Spent, t.Today, t.Reserved = l.state.Pause, l.spent(), l.state.SpentToday(now), l.state.Reserved()
	t.Verdicts = slices.DeleteFunc(schedule.Explain(l.state, l.outlook.snapshot(now), l.policy(), now), func(v schedule.Verdict) bool {
		return v.Phase == "" && isOver(v.Why.Reason) // no candidate any more: not left alone
	})
	for i, row := range t.Rows {
		if c := l.state.Claims[row.ID]; c.Phase == schedule.Parked && row.Next.Phase != schedule.Parked {
			t.Rows[i].Next = c.Next() // parked by a later plan
		}
	}
	t.NextDue, _ = l.state.NextRetry(l.policy(), now)
}

func isOver(reason schedule.Reason) bool {
	switch reason {
	case schedule.Terminal, schedule.NotActive, schedule.NotVisible:
		return true
	}
	return false
}

// record logs the end of a session and adds it to the report.
func (l *loop) record(m exited, claim schedule.Claim, next schedule.Next, now time.Time) {
	o := m.outcome
	row := l.tick.Row(m.id)
	row.Identifier, row.Title, row.URL, row.State = claim.Identifier, claim.Title, claim.URL, claim.State
	row.Attempt, row.Class, row.Status, row.Why, row.Next = claim.Attempt, o.Class, o.Status, o.Why, next
	row.Choice, row.Host = report.Choice(m.choice), claim.Host
	row.Delivered, row.Refused = o.Delivered, o.Refused
	row.Log.File, row.Ended = m.eventLog, now
	row.Sessions++
	row.Turns += o.Turns
	row.Usage = row.Usage.Plus(o.Usage)
	row.Took += now.Sub(m.started)
	addOnce(&row.Warnings, o.Warnings) // sessions of one issue repeat each other
	if o.Issue != nil {
		row.Title, row.URL, row.State = o.Issue.Title, o.Issue.URL, o.Issue.State
	}

	attrs := []any{"session_id", m.last.Session, "pid", m.last.PID, "outcome", o.Class, "status", o.Status, "turns", o.Turns, "tokens", o.Usage.Total()}
	if prices := l.wf.Settings.Policy.Budget.Prices; len(prices) > 0 {
		attrs = append(attrs, "cost", prices.Of(o.Usage).String())
	}
	attrs = append(attrs, "next", nextWord(next))
	why := o.Why
	if o.Class == schedule.Stopped || next.Phase == schedule.Parked {
		why = cmp.Or(next.Why.String(), why) // the error of the session repeats "stopped", and says nothing of a budget
	}
	if why != "" {
		attrs = append(attrs, "reason", why)
	}
	if !next.Due.IsZero() {
		attrs = append(attrs, "due", next.Due.UTC().Format(time.RFC3339))
	}
	what, level := "failed", slog.LevelWarn
	switch {
	case o.Class == schedule.Done && l.delivers() && !o.Delivered:
		what, level = "ended with nothing to publish", slog.LevelInfo
	case o.Class == schedule.Done && !l.delivers() && next.Phase == schedule.Waiting:
		what, level = "ended with its issue still active", slog.LevelInfo
	case o.Class == schedule.Done:
		what, level = "completed", slog.LevelInfo
	case o.Class == schedule.Stopped:
		what, level = "stopped", slog.LevelInfo
	case o.Class == schedule.NeedsInput:
		what = "asks a person"
	case o.Class == schedule.HostLost:
		attrs = append(attrs, "worker_host", claim.Host)
	case o.Class == schedule.Systemic:
		l.problem(progress.Agent, o.Why)
		level = slog.LevelError
	}
	m.log.Log(context.Background(), level, what, attrs...)
	if next.Phase == schedule.Parked {
		what = string(next.Phase)
	}
	l.display.happened(m.id, claim.Identifier, what, why)
	l.trimRows()
}

// maxRows bounds the rows of a service for issues that no claim is left of.
const maxRows = 500

func (l *loop) trimRows() {
	if l.Once || len(l.tick.Rows) <= maxRows {
		return
	}
	working := l.outlook.unavailable()
	l.tick.Trim(maxRows, func(id tracker.ID) bool {
		_, claimed := l.state.Claims[id]
		return claimed || working[id]
	})
}

func nextWord(next schedule.Next) string {
	if next.Phase == "" {
		return "released: " + next.Why.String()
	}
	return string(next.Phase)
}
