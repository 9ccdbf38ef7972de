package report_test

import (
	"fmt"
	"strings"
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

// TestTheChoicesOfAQuestionAreAList looks at the sentence that a person must answer: in one
// line, nobody sees where a choice ends, and a reason has room for a part of them alone.
func TestTheChoicesOfAQuestionAreAList(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("the one that the export reads at night ", 7)
	why := "the agent asks: Which database? Say why. - the replica - " + long[:200] + "…"
	asks := tick(func(tick *report.Tick) {
		addClaim(tick, schedule.Claim{Identifier: "GH-1", Phase: schedule.Parked, Why: why, Tokens: 120, Sessions: 1}, schedule.IsParked, why)
		addClaim(tick, schedule.Claim{Identifier: "GH-2", Phase: schedule.Parked, Why: "the agent asks: Why? - or not"}, schedule.IsParked, "")
		addClaim(tick, schedule.Claim{Identifier: "GH-3", Phase: schedule.Parked, Why: "10 failures in a row"}, schedule.IsParked, "")
		tick.Parked = []tracker.ID{"GH-1"}
		tick.Asked = map[tracker.ID]string{
			"GH-1": "Which database?\nSay why.\n- the replica\n- " + long + "\n- <b>none</b> | @kim",
			"GH-2": "Why? - or not", "GH-3": "Red?\n- yes",
		}
	})
	inOrder(t, report.Of(inActions(asks)).Markdown(links),
		"(https://linear.app/acme/issue/GH-1) is parked: the agent asks: Which database? Say why. (120 tokens in 1 session)\n  - the replica\n  - "+long[:len(long)-1]+"\n  - &lt;b&gt;none&lt;/b&gt; &#124; @&#8203;kim\n",
		") is parked: the agent asks: Why? - or not\n", ") is parked: 10 failures in a row\n")
	inOrder(t, report.Of(asks).Text(100), "Which database? Say why. (120 tokens in 1 session)\n", "- the replica\n", "- <b>none</b> | @kim\n")
	errors, _, _ := report.Of(asks).Notes()
	if want := "the agent asks: Which database? Say why. (120 tokens in 1 session): the replica; the one"; len(errors) != 1 || !strings.HasPrefix(errors[0].Text, want) {
		t.Errorf("the annotations are %q", errors)
	}
}
