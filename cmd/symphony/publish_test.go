package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
)

func TestKeptWorkIsFoundWhereTheRunLeavesIt(t *testing.T) {
	t.Parallel()
	const lost = "is kept on the runner alone"
	for name, test := range map[string]struct {
		folder  string
		environ []string
		want    string
		lost    bool
	}{
		"uploaded":           {"/runner/scratch/logs/refused/GH-1", []string{"SYMPHONY_ARTIFACT=symphony-7"}, "logs/refused/GH-1 of the artifact symphony-7 keeps it. To look", false},
		"not uploaded":       {"/runner/scratch/logs/refused/GH-1", []string{"SYMPHONY_ARTIFACT="}, "/runner/scratch/logs/refused/GH-1 on its runner keeps it until the job ends.", true},
		"not below the logs": {"/repo/.symphony/refused/GH-1", []string{"SYMPHONY_ARTIFACT=symphony-7"}, "/repo/.symphony/refused/GH-1 on its runner keeps it until the job ends.", true},
	} {
		tick := deliveredTick("")
		tick.Rows[0].Kept = report.Kept{Folder: test.folder, Commands: []string{"git apply work.patch"}}
		got := publishTick(t, tick, workflow.Workflow{}, test.environ...)
		if !strings.Contains(got.summary, test.want) || strings.Contains(got.summary, "git apply") == test.lost || strings.Contains(got.summary, lost) != test.lost || strings.Contains(got.log, "::notice::Work that") != test.lost {
			t.Errorf("%s: not %q, lost %v:\n%s\n%s", name, test.want, test.lost, got.summary, got.log)
		}
	}
}

// published is what a run in Actions shows of its tick.
type published struct{ log, outputs, summary string }

// publishTick ends the command of a tick inside Actions, in an environment.
func publishTick(t *testing.T, tick report.Tick, wf workflow.Workflow, environ ...string) published {
	t.Helper()
	dir := t.TempDir()
	output, summary := filepath.Join(dir, "output"), filepath.Join(dir, "summary")
	var log bytes.Buffer
	a := &app{Process: wiring.Process{Stdout: &log, Environ: append([]string{
		"GITHUB_ACTIONS=true", "GITHUB_OUTPUT=" + output, "GITHUB_STEP_SUMMARY=" + summary,
	}, environ...)}}
	a.DetectActions()
	a.redactor = a.EnvironmentSecrets()
	tick.Listed, tick.Acted = true, len(tick.Rows)
	if err := (&tickReport{app: a, tickOptions: tickOptions{failOn: failNever, logs: "/runner/scratch/logs"}, wf: wf}).finish(tick, nil); err != nil {
		t.Fatal(err)
	}
	p := published{log: log.String()}
	for path, text := range map[string]*string{output: &p.outputs, summary: &p.summary} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		*text = string(content)
	}
	return p
}

// deliveredTick returns a tick with one pull request.
func deliveredTick(did string) report.Tick {
	return report.Tick{Delivers: true, Rows: []report.Row{{
		ID: "1", Identifier: "GH-1", Class: schedule.Done, Delivered: true, PullRequest: did,
		Delivery: schedule.Delivery{
			Identifier: "GH-1", Branch: "symphony/GH-1", Head: "1f1f", Number: 12, URL: "https://github.com/acme/shop/pull/12",
		},
	}}}
}

// Whatever an agent, a tracker or GitHub put into the place of the work passes the
// redactor before it leaves.
func TestNoPartOfADeliveryLeavesWithASecret(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery-staple"
	tick := deliveredTick("opened")
	row := &tick.Rows[0]
	row.Class, row.Why, row.Refused = schedule.IssueFailed, "refused "+secret, "- a: "+secret+"\n"
	row.Delivery.Branch, row.Delivery.URL, row.Delivery.Refused = "b/"+secret, "https://github.com/?"+secret, secret
	row.Kept = report.Kept{Folder: "/tmp/" + secret, Commands: []string{"git apply " + secret}}
	got := publishTick(t, tick, workflow.Workflow{}, "SHOP_TOKEN="+secret)
	log := strings.Replace(got.log, "::add-mask::"+secret+"\n", "", 1)
	for where, text := range map[string]string{"log": log, "outputs": got.outputs, "summary": got.summary} {
		if strings.Contains(text, secret) || !strings.Contains(strings.ReplaceAll(text, `\*`, "*"), "***") {
			t.Errorf("the %s shows the secret, or not that there was one:\n%s", where, text)
		}
	}
}

func TestTheRunSaysThatChecksDoNotStartForTheJobsToken(t *testing.T) {
	t.Parallel()
	const notice = "GitHub starts no checks by itself"
	with := func(token string) workflow.Workflow {
		return workflow.Workflow{Settings: workflow.Settings{Repository: &workflow.Repository{Token: token}}}
	}
	asJob := []string{"SYMPHONY_ACTS_AS_JOB=true", "GITHUB_TOKEN=ghs_ofthejob"}
	for _, input := range []string{"app-id", "private-key", "github-token"} {
		if !strings.Contains(checksWait, input) || !slices.Contains(names(readAction(t).inputs), input) {
			t.Errorf("the notice does not name the input %s of the Action: %s", input, checksWait)
		}
	}
	for name, test := range map[string]struct {
		tick report.Tick
		wf   workflow.Workflow
		env  []string
		want int
	}{
		"the job's token opened one":     {deliveredTick("opened"), with("ghs_ofthejob"), asJob, 1},
		"it updated one":                 {deliveredTick("updated"), with("ghs_ofthejob"), asJob, 0},
		"nothing was published":          {report.Tick{}, with("ghs_ofthejob"), asJob, 0},
		"the input is another token":     {deliveredTick("opened"), with("ghp_ofaperson"), []string{"SYMPHONY_ACTS_AS_JOB=false", "GITHUB_TOKEN=ghp_ofaperson"}, 0},
		"WORKFLOW.md names another":      {deliveredTick("opened"), with("ghp_ofaperson"), asJob, 0},
		"a GitHub App opened it":         {deliveredTick("opened"), with("ghs_ofthejob"), append([]string{"SYMPHONY_APP_ID=7", "SYMPHONY_APP_PRIVATE_KEY=x"}, asJob...), 0},
		"the hooks of WORKFLOW.md do it": {deliveredTick("opened"), workflow.Workflow{}, asJob, 0},
	} {
		got := publishTick(t, test.tick, test.wf, test.env...)
		if n := strings.Count(got.log, "::notice::"+notice); n != test.want {
			t.Errorf("%s: %d annotations, not %d:\n%s", name, n, test.want, got.log)
		}
		if n := strings.Count(got.summary, notice); n != test.want {
			t.Errorf("%s: the summary says it %d times, not %d:\n%s", name, n, test.want, got.summary)
		}
	}
}
