package report

import (
	"fmt"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
)

func (v view) plan(d *document) {
	if !v.DryRun || v.planned() == 0 {
		return
	}
	t := table{room: tableRoom, columns: []column{
		{head: "Would"},
		{head: "Issue", min: 12, max: 20},
		{head: "Title", min: 12, max: 60, drop: 2, width: titleWidth},
		{head: "State", min: 6, max: 20, drop: 1},
		{head: "Why", min: 20, width: whyWidth, prose: true},
	}}
	for _, verdict := range v.Verdicts {
		would := string(verdict.Action)
		switch {
		case would == "":
			continue
		case len(t.rows) == maxIssues:
			t.left++
			continue
		case verdict.Action == schedule.Dispatch:
			would = "start"
		}
		t.add(cell(would), phrase{v.issueLink(verdict.Issue)}, cell(verdict.Issue.Title), cell(verdict.Issue.State), cell(v.purpose(verdict)))
	}
	d.add(section{heading: "The plan", body: document{t}})
}

// purpose returns the reason of a decision, and the worker host of a session that starts.
func (v view) purpose(verdict schedule.Verdict) string {
	if verdict.Action != schedule.Dispatch {
		return verdict.Why.String()
	}
	return v.purposeOfStart(verdict) + hostPhrase(verdict, "on")
}

// purposeOfStart returns the reason why a session starts.
func (v view) purposeOfStart(verdict schedule.Verdict) string {
	if verdict.Why.Reason == schedule.Unanswered {
		return "to answer: " + verdict.Why.String()
	}
	claim, claimed := v.Claims[verdict.Issue.ID]
	switch {
	case verdict.Phase == "":
		return "new"
	case claimed && claim.Failures > 0:
		return fmt.Sprintf("retry after %s: %s", text.Count(claim.Failures, "failure"), claim.Why)
	case claimed && claim.Sessions > 0:
		return fmt.Sprintf("continues after %s", text.Count(claim.Sessions, "session"))
	}
	return "is due again"
}
