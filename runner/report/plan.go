package report

import (
	"fmt"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// plan is the table of what a dry run would do, in order.
func (v view) plan(p *page) {
	if !v.DryRun || v.planned() == 0 {
		return
	}
	p.section("")
	t := table{columns: []column{
		{head: "WOULD"},
		{head: "ISSUE", min: 12, max: 20},
		{head: "TITLE", min: 12, max: 60, drop: 2},
		{head: "STATE", min: 6, max: 20, drop: 1},
		{head: "WHY", min: 20, max: 30},
	}}
	verdicts, left := v.decided()
	for _, verdict := range verdicts {
		issue := verdict.Issue
		t.add(verbWord(verdict.Action), name(issue.Identifier, issue.ID), issue.Title, issue.State, v.purpose(verdict))
	}
	t.write(p)
	p.more("", left)
}

// decided are the verdicts that something would be done about, and how many
// more there are.
func (v view) decided() (verdicts []schedule.Verdict, left int) {
	for _, verdict := range v.Verdicts {
		if verdict.Action != "" && len(verdicts) < maxIssues {
			verdicts = append(verdicts, verdict)
		}
	}
	return verdicts, v.planned() - len(verdicts)
}

func verbWord(verb schedule.Action) string {
	if verb == schedule.Dispatch {
		return "start"
	}
	return string(verb)
}

// purpose says why a decision is made.
func (v view) purpose(verdict schedule.Verdict) string {
	if verdict.Action != schedule.Dispatch {
		return verdict.Why.String()
	}
	claim, claimed := v.Claims[verdict.Issue.ID]
	switch {
	case verdict.Phase == "":
		return "new"
	case claimed && claim.Failures > 0:
		return fmt.Sprintf("retry after %s: %s", plural(claim.Failures, "failure"), claim.Why)
	case claimed && claim.Sessions > 0:
		return fmt.Sprintf("continues after %s", plural(claim.Sessions, "session"))
	}
	return "is due again"
}

// sumPlan is the same on a page.
func (v view) sumPlan(s *sheet) {
	verdicts, left := v.decided()
	g := grid{heads: []string{"Would", "Issue", "Title", "State", "Why"}, room: summaryRoom, left: left}
	for _, verdict := range verdicts {
		g.add(literal(verbWord(verdict.Action), nameWidth), v.mention(verdict.Issue), literal(verdict.Issue.Title, titleWidth),
			literal(verdict.Issue.State, nameWidth), literal(v.purpose(verdict), whyWidth))
	}
	g.write(s)
}
