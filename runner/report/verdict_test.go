package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// verdictOn returns a verdict on an issue.
func verdictOn(id string, action schedule.Action, reason schedule.Reason) schedule.Verdict {
	return schedule.Verdict{Issue: tracker.Issue{ID: tracker.ID(id), Identifier: "GH-" + id}, Action: action, Why: schedule.Why{Reason: reason, Detail: "so it is"}}
}

func TestAVerdictTellsThePlaceAmongTheCandidates(t *testing.T) {
	t.Parallel()
	plan := []schedule.Verdict{
		verdictOn("9", "", schedule.InProgress),
		verdictOn("3", schedule.Release, schedule.NotActive),
		verdictOn("8", schedule.Dispatch, ""),
		verdictOn("1", "", schedule.Blocked),
		verdictOn("2", schedule.Dispatch, schedule.Unanswered),
		verdictOn("7", "", schedule.NoStateSlots),
		verdictOn("6", "", schedule.NoSlots),
		verdictOn("5", "", schedule.NotDue),
	}
	for id, want := range map[string]string{
		"8": "It is the 1st of 4 candidates for 2 slots.", "2": "It is the 2nd of 4 candidates for 2 slots.",
		"7": "It is the 3rd of 4 candidates for 2 slots.", "6": "It is the 4th of 4 candidates for 2 slots.",
		"9": "", "3": "", "1": "", "5": "", "77": "",
	} {
		text := standing(verdictOn(id, "", schedule.NoSlots), report.Stand(plan, tracker.ID(id), 2, nil))
		if strings.Contains(text, "candidate") != (want != "") || !strings.Contains(text, want) {
			t.Errorf("GH-%s: %q in:\n%s", id, want, text)
		}
	}
	if s := report.Stand(plan[:3], "8", 1, nil); strings.Contains(standing(plan[2], s), "candidate") {
		t.Error("the only candidate has a place")
	}
}

// standing returns the text of a verdict with its place in a plan.
func standing(v schedule.Verdict, s report.Standing) string {
	view := report.Verdict(v, schedule.Comments{}, "", "")
	view.Standing = s
	return view.Text(200)
}

func TestAVerdictOnAnotherStateNamesTheActiveOnes(t *testing.T) {
	t.Parallel()
	s := report.Standing{Active: []string{"Todo", "In Progress"}}
	for reason, want := range map[schedule.Reason]string{
		schedule.NotActive: "Move it to one of tracker.active_states (Todo, In Progress).",
		schedule.Terminal:  "Reopen it, in one of tracker.active_states (Todo, In Progress), if there is more to do.",
	} {
		lines := strings.Split(strings.TrimSpace(standing(verdictOn("1", "", reason), s)), "\n")
		if diff := cmp.Diff(want, lines[len(lines)-1]); diff != "" {
			t.Error(diff)
		}
	}
}
