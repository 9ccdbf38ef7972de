package report

import (
	"slices"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// Note is one remark on a tick for whoever looks at the run, on a line each.
type Note struct {
	Title string // may be empty
	Text  string
}

// Notes are the remarks on a tick by who should care: errors for what a person
// must mend, the issues that were parked in this tick among them; warnings for
// what was survived; notices for a tick that had nothing to do.
func (r Report) Notes() (errors, warnings, notices []Note) {
	v := newView(r.tick)
	note := func(to *[]Note, title, text string) {
		n := Note{Fit(title, titleWidth), Fit(text, 2*itemWidth)}
		if n.Text == "" {
			n.Title, n.Text = "", n.Title
		}
		if !slices.Contains(*to, n) {
			*to = append(*to, n)
		}
	}
	lead, detail := v.judgement()
	switch outcome := v.outcome(); {
	case outcome == unreadable || outcome == failed:
		note(&errors, lead, detail)
	case outcome == nothingToDo && v.pausing():
		note(&warnings, lead, detail)
	case outcome == nothingToDo:
		note(&notices, lead, detail)
	case v.pausing() && slices.Contains(v.Errors, v.Pause.Why):
		note(&errors, v.untilMended(), v.Pause.Why)
	case v.pausing():
		note(&warnings, v.untilMended(), v.Pause.Why)
	case outcome == interrupted || outcome == deadline:
		note(&warnings, "", lead+".")
	}
	for _, err := range v.unsaid() {
		note(&errors, "Something to mend", err)
	}
	for _, id := range v.Parked {
		verdict, known := v.verdicts[id]
		if !known || verdict.Phase != schedule.Parked {
			continue // gone on since
		}
		called := name(verdict.Issue.Identifier, id)
		note(&errors, called+" is parked", sentence(v.plea(verdict))+" To let it go on, answer or change it in the tracker, or run: "+
			retryCommand([]schedule.Verdict{verdict}))
	}
	for _, row := range v.Rows {
		if why := v.reason(row); why != "" {
			note(&warnings, name(row.Identifier, row.ID)+" "+row.outcome()+": "+v.next(row), why)
		}
		for _, warning := range row.Warnings {
			note(&warnings, name(row.Identifier, row.ID)+" "+row.outcome()+", but not all of it worked", warning)
		}
	}
	for _, warning := range v.Warnings {
		note(&warnings, "", warning)
	}
	return errors, warnings, notices
}
