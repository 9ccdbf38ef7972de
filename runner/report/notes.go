package report

import (
	"slices"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// Note is one remark on a tick for the page of its run, in one line.
type Note struct {
	Title string // may be empty
	Text  string
}

// Notes returns the remarks on a tick: errors for what a person must fix, and for
// the issues that were parked in this tick; warnings for failures that did not
// stop it; notices for a tick that had nothing to do or gave its issues to shards, and for
// what people should know.
func (r Report) Notes() (errors, warnings, notices []Note) {
	v := newView(r.tick)
	note := func(to *[]Note, title, s string) {
		n := Note{text.Fit(title, titleWidth), text.Fit(s, 2*itemWidth)}
		if n.Text == "" {
			n.Title, n.Text = "", n.Title
		}
		if !slices.Contains(*to, n) {
			*to = append(*to, n)
		}
	}
	pause := func(to *[]Note, title, s string) {
		advice := " " + v.ways().endPause().text()
		note(to, title, sentence(text.Fit(s, 2*itemWidth-text.Columns(advice)-1))+advice)
	}
	lead, detail := v.headlineText()
	switch outcome := v.outcome(); {
	case outcome == unreadable || outcome == failed:
		note(&errors, lead, detail)
	case outcome == nothingToDo && v.pausing():
		pause(&warnings, lead, detail)
	case outcome == nothingToDo, outcome == completed && v.Assigned.Issues > 0:
		note(&notices, lead, detail)
	case v.pausing() && slices.Contains(v.Errors, v.Pause.Why):
		pause(&errors, v.pausedUntil(), v.Pause.Why)
	case v.pausing():
		pause(&warnings, v.pausedUntil(), v.Pause.Why)
	case outcome == interrupted || outcome == deadline:
		note(&warnings, "", lead+".")
	}
	for _, err := range v.otherErrors() {
		note(&errors, "Something to fix", err)
	}
	for _, id := range v.Parked {
		verdict, known := v.verdicts[id]
		if !known || verdict.Phase != schedule.Parked {
			continue // it went on since
		}
		called := name(verdict.Issue.Identifier, id)
		s, list := v.parkedReason(verdict)
		if list != "" {
			s += ": " + inOneLine(list)
		}
		advice := " " + v.ways().goOn(retryName([]schedule.Verdict{verdict})).text()
		note(&errors, called+" is parked", sentence(text.Fit(s, 2*itemWidth-text.Columns(advice)-1))+advice)
	}
	for _, row := range v.Rows {
		called := name(row.Identifier, row.ID) + " " + v.issueOutcome(row)
		if why := v.failureReason(row); why != "" {
			note(&warnings, called+": "+v.next(row), why)
		}
		for _, warning := range row.Warnings {
			note(&warnings, called+", with a warning", warning)
		}
	}
	for _, row := range v.refused() {
		text := inOneLine(row.Refused)
		if row.Kept.Folder != "" && !v.losesKept(row.Kept) {
			text = sentence(text) + " The work is kept in " + keptIn(row.Kept)
		}
		note(&warnings, name(row.Identifier, row.ID)+" "+v.issueOutcome(row)+": "+v.next(row), text)
	}
	for _, notice := range v.Tick.Notices {
		note(&notices, "", notice)
	}
	for _, h := range v.Hosts {
		note(&warnings, "Worker host "+h.Name+" is left alone until "+text.Instant(h.Until, v.Ended), text.InWords(h.Why))
	}
	for _, warning := range v.Warnings {
		note(&warnings, "", warning)
	}
	return errors, warnings, notices
}
