package report

import (
	"slices"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// maxWaiting is how many waiting issues are shown.
const maxWaiting = 20

// waiting are the issues whose time will come: those of the table above, which
// says it, are left out.
func (v view) waiting(p *page) {
	var waiting []schedule.Verdict
	for _, verdict := range v.Verdicts {
		if verdict.Phase == schedule.Waiting && !v.worked[verdict.Issue.ID] && (verdict.Verb == "" || !v.DryRun) {
			waiting = append(waiting, verdict)
		}
	}
	if len(waiting) == 0 {
		return
	}
	slices.SortStableFunc(waiting, func(a, b schedule.Verdict) int {
		return v.Claims[a.Issue.ID].Due.Compare(v.Claims[b.Issue.ID].Due)
	})
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
	case verdict.Verb == schedule.Dispatch:
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
