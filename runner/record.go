package runner

import (
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// record logs the end of a session and keeps it for the report.
func (l *loop) record(m exited, claim schedule.Claim, next schedule.Next, now time.Time) {
	o := m.outcome
	row := l.tick.Row(m.id)
	row.Identifier, row.Title, row.URL, row.State = claim.Identifier, claim.Title, claim.URL, claim.State
	row.Attempt, row.Class, row.Status, row.Why, row.Next = claim.Attempt, o.Class, o.Status, o.Why, next
	row.Sessions++
	row.Turns += o.Turns
	row.Usage.Input += o.Usage.Input
	row.Usage.Output += o.Usage.Output
	row.Took += now.Sub(m.started)
	for _, w := range o.Warnings {
		if !slices.Contains(row.Warnings, w) { // sessions repeat each other
			row.Warnings = append(row.Warnings, w)
		}
	}
	if o.Issue != nil {
		row.Title, row.URL, row.State = o.Issue.Title, o.Issue.URL, o.Issue.State
	}

	attrs := []any{"session_id", m.last.Session, "pid", m.last.PID, "outcome", o.Class, "status", o.Status, "turns", o.Turns, "tokens", o.Usage.Total(), "next", nextWord(next)}
	if o.Why != "" {
		attrs = append(attrs, "reason", o.Why)
	}
	if !next.Due.IsZero() {
		attrs = append(attrs, "due", next.Due.UTC().Format(time.RFC3339))
	}
	switch o.Class {
	case schedule.Done:
		m.log.Info("completed", attrs...)
	case schedule.Stopped:
		m.log.Info("stopped", attrs...)
	case schedule.Systemic:
		l.problem(agentStopped, o.Why)
		m.log.Error("failed", attrs...)
	default:
		m.log.Warn("failed", attrs...)
	}
}

// remember keeps a tick that did something for people to look back on. One that
// did nothing leaves the state as it was: then there is nothing to save.
func (l *loop) remember(now time.Time) {
	if l.tick.Acted == 0 {
		return
	}
	p := schedule.TickRecord{
		Run: l.Self.Run, Attempt: l.Self.Attempt, Started: l.tick.Started, Ended: now, Stopped: l.tick.Stopped,
		Parked: len(l.tick.Parked), Tokens: l.spent().Usage.Total(),
	}
	for _, row := range l.tick.Rows {
		p.Sessions += row.Sessions
		if row.Completed() {
			p.Done++
		}
	}
	l.state.AppendHistory(p)
}

func nextWord(next schedule.Next) string {
	if next.Phase == "" {
		return "released: " + next.Why.String()
	}
	return string(next.Phase)
}
