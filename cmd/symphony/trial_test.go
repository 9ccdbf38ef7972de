package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/trial"
)

// trialFile is the workflow that init --trial writes.
const trialFile = "../../runner/scaffold/templates/trial.yml"

// TestTheTrialRunsAsAWorkflow has act run the file that init writes, up to the program.
func TestTheTrialRunsAsAWorkflow(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const person = "github_pat_0123456789abcdefghij"
	m.stub("go", `test "$*" = "run github.com/symphony-runner/symphony/cmd/symphony@v1 trial --cached true" && test "$GITHUB_TOKEN" = `+shellQuote(m.token)+
		` && test "$`+trial.PersonVariable+`" = `+person+` && echo the trial begins`)
	m.write(workflowFile, readText(t, trialFile))
	m.checkOut()
	j := m.job()
	j.start = []string{"workflow_dispatch", "-s", trial.PersonVariable + "=" + person}
	o := readOutcome(t, j.act(t.TempDir()))
	if o.status != "success" || !strings.Contains(o.log, "the trial begins") {
		t.Errorf("the job ended with %s:\n%s", o.status, o.transcript)
	}
}

// runTrial runs the trial in a job of a repository, and returns what it says of each part.
func runTrial(t *testing.T, g *githubtest.GitHub, cached bool, env ...string) (verdicts []string, out string, ok bool) {
	t.Helper()
	p := emptyProject(t)
	p.exe = program(t) // it is also the agent
	p.env = append(append(p.env, g.Env()...), "GITHUB_ACTIONS=true", "GITHUB_RUN_ID=7", "GITHUB_RUN_ATTEMPT=1", "GITHUB_JOB=trial",
		"GITHUB_EVENT_NAME=workflow_dispatch", "GITHUB_ACTOR="+githubtest.Member, "GITHUB_REF=refs/heads/main",
		"GITHUB_OUTPUT="+p.dir+"/output", "GITHUB_STEP_SUMMARY="+p.dir+"/summary", "RUNNER_TEMP="+p.dir, "RUNNER_OS=Linux")
	p.env = append(p.env, env...)
	for _, name := range []string{"output", "summary"} {
		p.write(name, "")
	}
	g.SetRun(storetest.Run{ID: 7, Status: "in_progress"})
	said, err := p.command(t.Context(), "trial", fmt.Sprint("--cached=", cached)).CombinedOutput()
	for line := range strings.Lines(string(said)) {
		for _, verdict := range []string{"yes  ", "NO  ", "not tried  "} {
			if strings.HasPrefix(line, verdict) {
				verdicts = append(verdicts, strings.Join(strings.Fields(line), " "))
			}
		}
	}
	return verdicts, string(said), err == nil
}

func newTrialRepository(t *testing.T) *githubtest.GitHub {
	t.Helper()
	g := githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: "ghs_0123456789abcdefTOKEN"})
	g.Commit("main", map[string]string{"README.md": "# Shop\n"})
	g.SetClock(time.Now)
	g.KeepBranches()
	return g
}

func TestATrialPlaysThePathOfAnIssueAndLeavesNothing(t *testing.T) {
	t.Parallel()
	g := newTrialRepository(t)
	const person = "github_pat_0123456789abcdefghij"
	g.SetAccount(person, githubtest.Member)
	verdicts, out, ok := runTrial(t, g, true, trial.PersonVariable+"="+person)
	want := []string{
		"yes what this run saves in the cache is there",
		"yes the permission of a person can be read",
		"yes the job's token cannot change a workflow file",
		"yes an issue with the label becomes a pull request",
		"yes this run is no check of the pull request",
		"yes a comment on a line is answered by a commit",
		"yes a red check is answered by a commit",
		"yes a question is asked on the pull request",
		"yes a command in a comment is obeyed",
		"yes an answer lets the work go on",
		"yes after the merge nothing is left of the work",
	}
	if diff := cmp.Diff(want, verdicts[:min(len(want), len(verdicts))]); diff != "" || !ok {
		t.Errorf("ended well: %v, %d lines, (-want +got):\n%s\n%s", ok, len(verdicts), diff, out)
	}
	if branches := slices.Collect(maps.Keys(g.Branches())); !slices.Equal(branches, []string{"main"}) || g.Git("log", "--format=%s", "main") == "" {
		t.Errorf("the branches are %q", branches)
	}
	for _, number := range []int{1, 2} {
		if i := g.Issue(number); i.State != "closed" || len(i.Labels) > 0 {
			t.Errorf("#%d is %s with the labels %q", number, i.State, i.Labels)
		}
	}
}

// TestATrialWithoutAPersonTriesWhatTheJobCanDo counts the parts that take one.
func TestATrialWithoutAPersonTriesWhatTheJobCanDo(t *testing.T) {
	t.Parallel()
	verdicts, out, ok := runTrial(t, newTrialRepository(t), true)
	found := strings.Join(verdicts, "\n")
	if untold := strings.Count(found, "it takes a person"); !ok || untold != 4 || !strings.Contains(found, "yes a red check") || !strings.Contains(found, "yes after the merge") {
		t.Errorf("ended well: %v\n%s", ok, out)
	}
}

// TestATrialSaysWhatGitHubDoesNotDo has GitHub refuse pull requests of Actions, as a setting
// of the repository does.
func TestATrialSaysWhatGitHubDoesNotDo(t *testing.T) {
	t.Parallel()
	g := newTrialRepository(t)
	for range 20 {
		g.Fail("POST /pulls", storetest.Fault{Status: 403, Body: `{"message":"GitHub Actions is not permitted to create or approve pull requests."}`})
	}
	verdicts, out, ok := runTrial(t, g, false)
	found := strings.Join(verdicts, "\n")
	for _, want := range []string{
		"NO what this run saves in the cache is there: the workflow saved an entry and did not find it again",
		"yes the permission of a person can be read",
		"NO an issue with the label becomes a pull request: there are 0 pull requests",
		"not tried this run is no check of the pull request: an earlier part failed",
		"not tried after the merge nothing is left of the work: an earlier part failed",
	} {
		if !strings.Contains(found, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if ok || len(g.Branches()) > 1 || g.Issue(1).State != "closed" {
		t.Errorf("ended well: %v, branches %v, the issue is %s\n%s", ok, g.Branches(), g.Issue(1).State, out)
	}
}
