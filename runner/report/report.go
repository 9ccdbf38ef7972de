package report

import (
	"maps"
	"slices"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// Report is a finished tick, or a plan, ready to be shown.
type Report struct{ tick Tick }

// Of returns the report of a tick.
func Of(t Tick) Report { return Report{t} }

// Text returns the report for a terminal with the given number of columns, 40 at
// least.
func (r Report) Text(width int) string {
	w := newTextWriter(width, r.tick.Ended)
	w.print(newView(r.tick).document())
	return w.String()
}

// Markdown returns the report for the summary of a step, in GitHub's Markdown. What a
// person must do comes first, and links lead on. It begins with a heading and has an empty
// line between blocks, so that it can be cut between any two of them.
func (r Report) Markdown(l Links) string {
	w := &markdownWriter{level: "####"}
	v := newView(r.tick)
	v.page, v.links = true, l
	w.print(v.document())
	return w.String()
}

// document returns the report: the verdict on the tick, what was worked on or would be,
// what a person must do, what was left alone and why, and what it cost. On a page what a
// person must do stands first: below the tables nobody sees it on a phone.
func (v view) document() document {
	var d document
	v.headline(&d)
	if v.page {
		v.attention(&d)
	}
	v.issues(&d)
	v.plan(&d)
	if !v.page {
		v.attention(&d)
	}
	addHosts(&d, v.Hosts)
	v.warnings(&d)
	v.notices(&d)
	v.notStarted(&d)
	v.waiting(&d)
	v.spending(&d)
	return d
}

// view is a tick with its indexes. Its methods fill the sections of the report.
type view struct {
	Tick
	page     bool // it is for a page, which has links
	links    Links
	worked   map[tracker.ID]bool             // whether an issue has a row
	verdicts map[tracker.ID]schedule.Verdict // the last one of an issue: a released issue may be started again
}

// newView returns the view of a tick. Its reasons are in words: categories are for the JSON.
func newView(t Tick) view {
	t = inWords(t)
	v := view{Tick: t, worked: map[tracker.ID]bool{}, verdicts: make(map[tracker.ID]schedule.Verdict, len(t.Verdicts))}
	for _, row := range t.Rows {
		v.worked[row.ID] = true
	}
	for _, verdict := range t.Verdicts {
		v.verdicts[verdict.Issue.ID] = verdict
	}
	return v
}

func inWords(t Tick) Tick {
	t.Unread, t.Pause.Why = text.InWords(t.Unread), text.InWords(t.Pause.Why)
	t.Errors, t.Warnings, t.Notices = eachInWords(t.Errors), eachInWords(t.Warnings), eachInWords(t.Notices)
	t.Rows, t.Verdicts, t.Claims = slices.Clone(t.Rows), slices.Clone(t.Verdicts), maps.Clone(t.Claims)
	for i := range t.Rows {
		row := &t.Rows[i]
		row.Why, row.Next.Why.Detail, row.Warnings = text.InWords(row.Why), text.InWords(row.Next.Why.Detail), eachInWords(row.Warnings)
	}
	for i := range t.Verdicts {
		t.Verdicts[i].Why.Detail = text.InWords(t.Verdicts[i].Why.Detail)
	}
	for id, c := range t.Claims {
		c.Why = text.InWords(c.Why)
		t.Claims[id] = c
	}
	return t
}

// eachInWords returns reasons in words. One that shows nothing gets words of ours, so that no
// heading stands alone.
func eachInWords(reasons []string) []string {
	words := make([]string, len(reasons))
	for i, why := range reasons {
		if words[i] = text.InWords(why); showsNothing(words[i]) {
			words[i] = "No reason was given: the log of the run may have it."
		}
	}
	return words
}

// The outcomes of a tick.
const (
	completed   = "completed"          // issues were worked on, however that went, or given to shards
	nothingToDo = "nothing_to_do"      // no issue could be started
	unreadable  = "tracker_unreadable" // the tracker could not be read when it was last asked
	interrupted = "interrupted"        // a signal stopped the tick
	deadline    = "deadline"           // --deadline stopped the tick
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
	case t.Worked() > 0, t.Assigned.Issues > 0, t.DryRun && t.planned() > 0:
		return completed
	case len(t.Errors) > 0:
		return failed
	}
	return nothingToDo
}

func (t Tick) planned() int {
	n := 0
	for _, v := range t.Verdicts {
		if v.Action != "" {
			n++
		}
	}
	return n
}

func (t Tick) failure() string {
	if t.outcome() == unreadable {
		return t.Unread
	}
	if n := len(t.Errors); n > 0 && t.outcome() == failed {
		return t.Errors[n-1]
	}
	return ""
}
