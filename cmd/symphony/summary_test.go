package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// TestWhatTheSummaryOfAJobSaysWorksAsPrinted follows what a person on call reads first: the
// links, and the command of a parked issue, which a clone outside of the job runs.
func TestWhatTheSummaryOfAJobSaysWorksAsPrinted(t *testing.T) {
	t.Parallel()
	s := newTalk(t, "- [ ] Call `ask` with `{\"question\":\"Which colour?\"}`")
	outside := s.env
	summary := s.inJob()
	s.hub.AddComment(talkPull, "kim", "Paint it.")
	s.tick()
	page := summary()
	repo := s.hub.CloneURL()
	for _, want := range []string{
		"[All issues](" + repo + "/blob/symphony-state/README.md) · [Run workflow](" + repo + "/actions/workflows/tick.yml) · [Logs of the sessions](" + repo + "/actions/runs/2#artifacts)",
		"is parked: the agent asks: Which colour?", schedule.AnyComments.GoOn(), "| symphony/GH-1 |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the summary has no %q:\n%s", want, page)
		}
	}
	if needs, table := strings.Index(page, "What needs a person"), strings.Index(page, "| Issue |"); needs < 0 || table < needs {
		t.Errorf("what a person must do stands below the table:\n%s", page)
	}
	printed := regexp.MustCompile("Or run `symphony ([^`]+)`").FindStringSubmatch(page)
	if printed == nil {
		t.Fatalf("no command is printed:\n%s", page)
	}
	state, _ := s.hub.File("symphony-state", "README.md")
	if !strings.Contains(state, "[Run workflow]("+repo+"/actions/workflows/tick.yml)") || !strings.Contains(state, printed[0]) || !strings.Contains(state, "Which colour?") {
		t.Errorf("the page of the state:\n%s", state)
	}
	s.env = outside
	if r := s.ok(strings.Fields(printed[1])...); !strings.Contains(r.stdout, "GH-1: due now") {
		t.Errorf("symphony %s: %s", printed[1], r.stdout)
	}
	s.checkSessions(1, "after the printed command")
}
