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
		s := report.Stand(plan, tracker.ID(id), 2, nil)
		text := report.Verdict(verdictOn(id, "", schedule.NoSlots), schedule.Comments{}, "", "").Within(s).Text(200)
		if strings.Contains(text, "candidate") != (want != "") || !strings.Contains(text, want) {
			t.Errorf("GH-%s: %q in:\n%s", id, want, text)
		}
	}
	if s := report.Stand(plan[:3], "8", 1, nil); strings.Contains(report.Verdict(plan[2], schedule.Comments{}, "", "").Within(s).Text(200), "candidate") {
		t.Error("the only candidate has a place")
	}
}

func TestAVerdictOnAnotherStateNamesTheActiveOnes(t *testing.T) {
	t.Parallel()
	s := report.Standing{Active: []string{"Todo", "In Progress"}}
	for reason, want := range map[schedule.Reason]string{
		schedule.NotActive: "Move it to one of tracker.active_states (Todo, In Progress).",
		schedule.Terminal:  "Reopen it, in one of tracker.active_states (Todo, In Progress), if there is more to do.",
	} {
		lines := strings.Split(strings.TrimSpace(report.Verdict(verdictOn("1", "", reason), schedule.Comments{}, "", "").Within(s).Text(200)), "\n")
		if diff := cmp.Diff(want, lines[len(lines)-1]); diff != "" {
			t.Error(diff)
		}
	}
}
