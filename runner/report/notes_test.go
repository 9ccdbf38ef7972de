package report_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/texttest"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestAFailedTickIsAnErrorAndNeverANotice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tick := anyTick().Draw(t, "tick")
		tick.Notices = nil // what people should know does not depend on the outcome
		errors, warnings, notices := report.Of(tick).Notes()
		outcome := decode(t, report.Of(tick))["outcome"]
		if (outcome == "tracker_unreadable" || outcome == "failed") && len(errors) == 0 {
			t.Errorf("%v is no error", outcome)
		}
		if outcome != "nothing_to_do" && len(notices) > 0 || outcome == "nothing_to_do" && len(notices)+len(warnings) == 0 {
			t.Errorf("%v, warnings %q, notices %q", outcome, warnings, notices)
		}
		for _, notes := range [][]report.Note{errors, warnings, notices} {
			for _, note := range notes {
				texttest.CheckVisible(t, note.Title)
				texttest.CheckVisible(t, note.Text)
			}
		}
	})
}

func TestAnIssueIsAnErrorInTheTickThatParkedItOnly(t *testing.T) {
	t.Parallel()
	parked := tick(func(t *report.Tick) {
		addClaim(t, schedule.Claim{Identifier: "ABC-9", Phase: schedule.Parked, Why: question}, schedule.IsParked, question)
		addClaim(t, schedule.Claim{Identifier: "ABC-10", Phase: schedule.Waiting}, schedule.NotDue, "")
	})
	if errors, _, _ := report.Of(parked).Notes(); len(errors) != 0 {
		t.Errorf("parked before: %q", errors)
	}
	parked.Parked = []tracker.ID{"ABC-9", "ABC-10"} // the second was retried since
	if errors, _, _ := report.Of(parked).Notes(); len(errors) != 1 || errors[0].Title != "ABC-9 is parked" {
		t.Errorf("parked in this tick: %q", errors)
	}
}

func TestThereIsWorkWhenSomethingWasDoneOrWouldBe(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"worked": true, "everything": true, "nothing": false, "no-issues": false, "unreadable": false, "paused": false,
		"interrupted": false, "dry-run": true, "dry-run-nothing": false,
	} {
		if got := ticks()[name].Work(); got != want {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
	}
}
