package report

import (
	"slices"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// maxWaiting is how many waiting issues are shown.
const maxWaiting = 20

// patient are the issues whose time will come, the next first: those of the
// table above, which says it, are left out.
func (v view) patient() []schedule.Verdict {
	var waiting []schedule.Verdict
	for _, verdict := range v.Verdicts {
		if verdict.Phase == schedule.Waiting && !v.worked[verdict.Issue.ID] && (verdict.Action == "" || !v.DryRun) {
			waiting = append(waiting, verdict)
		}
	}
	slices.SortStableFunc(waiting, func(a, b schedule.Verdict) int {
		return v.Claims[a.Issue.ID].Due.Compare(v.Claims[b.Issue.ID].Due)
	})
	return waiting
}

func (v view) waiting(p *page) {
	waiting := v.patient()
	if len(waiting) == 0 {
		return
	}
	p.section("Waiting:")
	t := table{columns: []column{
		{head: "ISSUE", min: 12, max: 20},
		{head: "TITLE", min: 12, max: 60, drop: 2},
		{head: "DUE"},
		{head: "AT (UTC)", drop: 1},
		{head: "WHY", min: 14},
	}}
	for _, verdict := range waiting[:min(len(waiting), maxWaiting)] {
		due, at, why := v.due(verdict)
		t.add(name(verdict.Issue.Identifier, verdict.Issue.ID), verdict.Issue.Title, due, at, why)
	}
	t.write(p)
	p.more("", len(waiting)-maxWaiting)
}

// due is when a waiting issue goes on, and what it waits for.
func (v view) due(verdict schedule.Verdict) (due, at, why string) {
	claim := v.Claims[verdict.Issue.ID]
	switch {
	case claim.Due.IsZero():
		return "", "", verdict.Why.String()
	case claim.Due.After(v.Ended):
		return relative(claim.Due, v.Ended), clock(claim.Due, v.Ended), claim.Why
	case verdict.Action == schedule.Dispatch:
		return "next tick", "", claim.Why
	}
	if g, known := groups[verdict.Why.Reason]; known && !g.particulars {
		return "now", "", g.words
	}
	return "now", "", verdict.Why.String()
}

// warnings are what the tick survived.
func (v view) warnings(p *page) {
	if len(v.Warnings) == 0 {
		return
	}
	p.section("Warnings:")
	p.items(v.Warnings, maxErrors)
}

// sumWaiting is the same as waiting on a page.
func (v view) sumWaiting(s *sheet) {
	waiting := v.patient()
	if len(waiting) == 0 {
		return
	}
	s.foldLong("Waiting: "+plural(len(waiting), "issue"), len(waiting), maxOpen, func() {
		shown := waiting[:min(len(waiting), maxWaiting)]
		g := grid{heads: []string{"Issue", "Title", "Due", "Why"}, room: summaryRoom, left: len(waiting) - len(shown)}
		for _, verdict := range shown {
			due, at, why := v.due(verdict)
			if at != "" {
				due = at + " UTC"
			}
			g.add(v.mention(verdict.Issue), literal(verdict.Issue.Title, titleWidth), literal(due, nameWidth), literal(why, whyWidth))
		}
		g.write(s)
	})
}

// sumWarnings is the same as warnings on a page.
func (v view) sumWarnings(s *sheet) {
	if len(v.Warnings) == 0 {
		return
	}
	s.foldLong(plural(len(v.Warnings), "warning"), len(v.Warnings), maxOpen, func() {
		var items []markdown
		for _, warning := range v.Warnings[:min(len(v.Warnings), maxErrors)] {
			items = append(items, literal(warning, itemWidth))
		}
		s.list(items, len(v.Warnings)-maxErrors)
	})
}
