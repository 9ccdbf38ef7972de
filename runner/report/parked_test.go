package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// parkedIssues returns a number of claims, the first of which was parked last, a day after
// the second.
func parkedIssues(count int) (claims []schedule.Claim) {
	for n := range count {
		claims = append(claims, schedule.Claim{
			ID: tracker.ID(fmt.Sprintf("GH-%d", n+1)), Identifier: fmt.Sprintf("GH-%d", n+1), Title: "Cart", Phase: schedule.Parked,
			Since: end.Add(-time.Duration(n) * 24 * time.Hour), Why: "3 failures in a row (budget.max_attempts_per_issue), the last: turn_failed: badRequest",
		})
	}
	return claims
}

// TestWhatWasParkedLastIsShownOfAHundredParkedIssues looks at a state that people have left
// alone for months: what is new must not be what a list leaves out.
func TestWhatWasParkedLastIsShownOfAHundredParkedIssues(t *testing.T) {
	t.Parallel()
	claims := parkedIssues(100)
	done := tick(func(tick *report.Tick) {
		for n := len(claims) - 1; n >= 0; n-- { // the tracker lists the oldest issue first
			addClaim(tick, claims[n], schedule.IsParked, claims[n].Why)
		}
		tick.Parked = []tracker.ID{"GH-1"}
	})
	state := schedule.New(schedule.Owner{})
	for _, c := range claims {
		state.Claims[c.ID] = c
	}
	for name, page := range map[string]string{
		"the summary":        report.Of(inActions(done)).Markdown(links),
		"the report":         report.Of(done).Text(120),
		"the status page":    report.State(state, end).Markdown(links),
		"the shown state":    report.State(state, end).Text(120),
		"the state of a day": report.State(state, end.Add(24*time.Hour)).Text(40),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inOrder(t, page, "GH-1", "GH-2", "GH-9", "GH-10", "GH-20")
		})
	}
}

// TestAStatusPageSaysHowToAnswerBeforeWhatWaits looks at a phone, where a table of parked
// issues is many screens long.
func TestAStatusPageSaysHowToAnswerBeforeWhatWaits(t *testing.T) {
	t.Parallel()
	state := schedule.New(schedule.Owner{})
	for _, c := range parkedIssues(100) {
		state.Claims[c.ID] = c
	}
	inOrder(t, report.State(state, end).Markdown(links), "Parked: waits for a person", schedule.GoOnByEdit, "symphony state retry ID", "| Issue | Why |")
	inOrder(t, report.State(state, end).Text(120), "GH-100", schedule.GoOnByEdit) // people see the end of a terminal
}
