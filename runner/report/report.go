package report

import (
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// Report is a finished tick, or a plan, ready to be shown.
type Report struct{ tick Tick }

// Of makes the report of a tick.
func Of(t Tick) Report { return Report{t} }

// Text is the report for a terminal of so many columns, 40 at least: the verdict
// on the tick first, then what was worked on, what a person must do, what was
// left alone and why, and what it cost.
func (r Report) Text(width int) string {
	p := newPage(width)
	v := newView(r.tick)
	v.headline(p)
	v.issues(p)
	v.plan(p)
	v.attention(p)
	v.skipped(p)
	v.waiting(p)
	v.warnings(p)
	v.spending(p)
	return p.String()
}

// view is a tick with its indexes.
type view struct {
	Tick
	worked   map[tracker.ID]bool             // has a row
	verdicts map[tracker.ID]schedule.Verdict // the last one: a released issue may be started anew
}

func newView(t Tick) view {
	v := view{Tick: t, worked: map[tracker.ID]bool{}, verdicts: make(map[tracker.ID]schedule.Verdict, len(t.Verdicts))}
	for _, row := range t.Rows {
		v.worked[row.ID] = true
	}
	for _, verdict := range t.Verdicts {
		v.verdicts[verdict.Issue.ID] = verdict
	}
	return v
}

// The outcomes of a tick.
const (
	completed   = "completed"          // issues were worked on, however that went
	nothingToDo = "nothing_to_do"      // no issue could be started
	unreadable  = "tracker_unreadable" // the tracker could not be read when it was last asked
	interrupted = "interrupted"        // by a signal
	deadline    = "deadline"           // by --deadline
	failed      = "failed"             // it could not do its work
)

func (t Tick) outcome() string {
	switch {
	case t.Stopped == string(schedule.Interrupted):
		return interrupted
	case t.Stopped == string(schedule.DeadlineReached):
		return deadline
	case t.Unread != "":
		return unreadable
	case t.Stopped != "", !t.Listed:
		return failed
	case len(t.Rows) > 0, t.DryRun && t.planned() > 0:
		return completed
	case len(t.Errors) > 0:
		return failed
	}
	return nothingToDo
}

// planned is how many decisions the verdicts are.
func (t Tick) planned() int {
	n := 0
	for _, v := range t.Verdicts {
		if v.Action != "" {
			n++
		}
	}
	return n
}

// failure is the error that ended the tick.
func (t Tick) failure() string {
	if t.outcome() == unreadable {
		return t.Unread
	}
	if n := len(t.Errors); n > 0 && t.outcome() == failed {
		return t.Errors[n-1]
	}
	return ""
}
