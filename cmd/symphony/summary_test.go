package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// inJob gives the runs of a shop the environment of a job, and returns the function that
// reads the summary of the last run.
func (s *shop) inJob() (summary func() string) {
	path := filepath.Join(s.dir, "summary.md")
	s.env = append(s.env, "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+path, "GITHUB_OUTPUT="+filepath.Join(s.dir, "output"), "GITHUB_EVENT_NAME=schedule",
		"GITHUB_WORKFLOW_REF=acme/shop/.github/workflows/tick.yml@refs/heads/main", "SYMPHONY_ARTIFACT=symphony-9")
	return func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		os.Remove(path)
		return string(text)
	}
}

// TestWhatTheSummaryOfAJobSaysWorksAsPrinted follows what a person on call reads first: the
// links, and the command of a parked issue, which a clone outside of the job runs.
func TestWhatTheSummaryOfAJobSaysWorksAsPrinted(t *testing.T) {
	t.Parallel()
	s := newTalk(t, "Call `ask` with `{\"question\":\"Which colour?\"}`")
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

func TestTheSummaryAndTheStatePageTellTheChecksOfAPullRequest(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	summary := s.inJob()
	check := s.hub.SetCheck(s.hub.Head(talkBranch), githubtest.Check{Name: "unit", State: "IN_PROGRESS"})
	cell := func() string {
		t.Helper()
		page, _ := s.hub.File("symphony-state", "README.md")
		row := regexp.MustCompile(`\| symphony/GH-1 \| (\w*) ?\|`).FindStringSubmatch(page)
		if row == nil {
			t.Fatalf("the page of the state has no checks:\n%s", page)
		}
		return row[1]
	}
	s.tick()
	if got := cell(); got != "running" {
		t.Errorf("while they run: %q", got)
	}
	s.hub.FinishCheck(check, "SUCCESS")
	s.tick()
	if got := cell(); got != "green" {
		t.Errorf("after they succeeded: %q", got)
	}
	before := s.hub.Head("symphony-state")
	s.tick()
	if s.hub.Head("symphony-state") != before {
		t.Error("checks that did not change were saved again")
	}
	summary()
	s.hub.AddComment(talkPull, "kim", "Go on.")
	s.tick()
	if page := summary(); !strings.Contains(page, "updated | symphony/GH-1 | not known yet |") {
		t.Errorf("after a push the summary says\n%s", page)
	}
	s.hub.SetCheck(s.hub.Head(talkBranch), githubtest.Check{Name: "unit", State: "FAILURE"})
	s.tick()
	s.tick()
	if page, _ := s.hub.File("symphony-state", "README.md"); !regexp.MustCompile(`\| Completed \| Failed \|`).MatchString(page) {
		t.Errorf("the last ticks do not tell of failures:\n%s", page)
	}
}
