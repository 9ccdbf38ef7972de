package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// fleetApp returns a program outside Actions, with an environment and secrets.
func fleetApp(secrets []string, environ ...string) *app {
	a := &app{Process: wiring.Process{Environ: environ, Stdout: &strings.Builder{}, Stderr: &strings.Builder{}}, program: "symphony", redactor: redact.New(secrets...)}
	a.DetectActions()
	return a
}

// plannedAt returns a plan of one shard with one issue.
func plannedAt(at time.Time, limit time.Duration, title string) fleet.Plan {
	plan := fleet.Plan{Owner: schedule.Owner{Host: "host", Started: at.UnixMilli(), Limit: int64(limit.Seconds())}}
	slice := schedule.New(plan.ShardOwner(1))
	slice.Claims["1"] = schedule.Claim{ID: "1", Identifier: "A-1", Title: title, Phase: schedule.Waiting, Since: at.UTC(), Due: at.UTC()}
	plan.Shards = []fleet.Slice{{Number: 1, State: slice}}
	return plan
}

func TestAnAgentOfAShardCannotReadTheExchange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home, beside := filepath.Join(dir, "home"), filepath.Join(dir, "project", "WORKFLOW.md")
	for name, test := range map[string]struct {
		exchange string
		want     []string
	}{
		"a folder of its own":               {filepath.Join(dir, "exchange"), []string{""}},
		"a folder of the project":           {filepath.Join(dir, "project", "exchange"), []string{""}},
		"the project itself":                {filepath.Join(dir, "project"), fleet.Names()},
		"the home of the user":              {home, fleet.Names()},
		"a folder that holds the temporary": {filepath.Join(dir, "tmp"), fleet.Names()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := fleetApp(nil, "HOME="+home, "TMPDIR="+filepath.Join(dir, "tmp", "here"))
			plan := plannedAt(time.Now(), time.Hour, "Look")
			work := &workCommand{app: a, exchange: test.exchange, plan: plan, slice: plan.Shards[0]}
			r := &runner.Runner{}
			work.prepare(r, action.Event{}, workflow.Workflow{Path: beside})
			var want []string
			for _, name := range test.want {
				want = append(want, filepath.Join(test.exchange, name))
			}
			if !slices.Equal(r.Denied.Paths, want) {
				t.Errorf("denied are %q, want %q", r.Denied.Paths, want)
			}
		})
	}
}

// A state is saved without secrets; the plan is made of the one that the process still has.
func TestAPlanHoldsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-that-somebody-pasted"
	plan := &planCommand{app: fleetApp([]string{secret}), exchange: t.TempDir(), runsOn: "one"}
	plan.made = plannedAt(time.Now(), time.Hour, "Use "+secret)
	if err := plan.write(report.Tick{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(plan.exchange, "plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), secret) || !strings.Contains(string(text), "Use ") {
		t.Errorf("plan.json holds a secret, or not the title:\n%s", text)
	}
	if read, err := fleet.ReadPlan(plan.exchange); err != nil || read.Owner != plan.made.Owner {
		t.Errorf("read %+v: %v", read.Owner, err)
	}
}

// A plan that was stopped after its save has claimed issues. If collect did not start, they
// would wait for the next run.
func TestAPlanThatFailedDoesNotSayThatThereIsNoWork(t *testing.T) {
	t.Parallel()
	plan := &planCommand{app: fleetApp(nil), runsOn: "one"}
	for _, output := range plan.shardOutputs(action.Event{}, workflow.Workflow{}) {
		if output[1] != "" {
			t.Errorf("%s is %q", output[0], output[1])
		}
	}
	plan.made = fleet.Plan{Owner: schedule.Owner{Run: "77", Attempt: 2}}
	if got := plan.shardOutputs(action.Event{}, workflow.Workflow{}); !slices.Contains(got, [2]string{"work", "false"}) || !slices.Contains(got, [2]string{"attempt", "2"}) {
		t.Errorf("a plan without work: %q", got)
	}
}

func TestALargeFleetWithTheTokenOfTheJobGetsAWarning(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		shards int
		env    string
		warns  bool
	}{
		{63, "SYMPHONY_ACTS_AS_JOB=true", false},
		{64, "SYMPHONY_ACTS_AS_JOB=true", true},
		{256, "SYMPHONY_ACTS_AS_JOB=false", false},
		{256, "", false}, // no job
	} {
		plan := &planCommand{app: fleetApp(nil, test.env), shards: test.shards, slots: 2, limit: time.Hour}
		plan.prepare(&runner.Runner{}, workflow.Workflow{})
		if warns := strings.Contains(strings.Join(plan.warnings, "\n"), "SYMPHONY_GITHUB_TOKEN"); warns != test.warns {
			t.Errorf("%d shards with %q: warnings %q", test.shards, test.env, plan.warnings)
		}
	}
	for _, step := range readManifestOf(t, fleetAction).Runs.Steps {
		if _, told := step.Env["SYMPHONY_ACTS_AS_JOB"]; step.ID == "plan" && !told {
			t.Error("the Action does not tell the plan whose token it has")
		}
	}
}

// The ids of pipelines are numbers in other engines too, and GitHub would say of its own run
// of that number that it has ended, or that it never was.
func TestGitHubIsNotAskedAboutTheRunsOfOtherEngines(t *testing.T) {
	t.Parallel()
	hub := storetest.New(t, storetest.Config{})
	hub.SetRun(storetest.Run{ID: 4711, Status: "completed", Jobs: []storetest.Job{{Name: "build", Status: "completed"}}})
	a := fleetApp(nil, hub.Env()...)
	plan := &planCommand{app: a, id: "4711", attempt: 1, limit: time.Hour}
	r := &runner.Runner{Self: schedule.Owner{Host: "host", Started: 1}}
	plan.prepare(r, workflow.Workflow{})
	shard := r.Fleet.Owner
	shard.Shard = 3
	got := wiring.OwnerStatuses(a.statePlace(), workflow.Workflow{}, a.Owner(), &wiring.StateStore{})(context.Background(), []schedule.Owner{shard})
	if got[shard].Status != schedule.Unknown {
		t.Errorf("%s has the status %d, want that its lease decides", shard.Name(), got[shard].Status)
	}
}

// Outside Actions a lease alone says that a shard works: an hour for its start, and its time.
func TestAShardEndsBeforeItsIssuesAreTakenOver(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, test := range map[string]struct {
		ago  time.Duration
		want time.Duration
	}{
		"it starts at once":                  {0, 5 * time.Hour},
		"it starts late":                     {time.Hour, 5 * time.Hour},
		"it starts very late":                {4 * time.Hour, 2 * time.Hour},
		"others may work on the issues soon": {6*time.Hour - 30*time.Second, 0},
		"others may work on the issues":      {7 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := &workCommand{app: fleetApp(nil), tickOptions: tickOptions{deadline: 5 * time.Hour}, plan: plannedAt(now.Add(-test.ago), 5*time.Hour, "Late")}
			err := work.endBeforeLease(now)
			if test.want == 0 {
				if exitStatus(err) != exitUsage || !strings.Contains(err.Error(), "plan again") {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || (work.deadline-test.want).Abs() > time.Second { // the plan has milliseconds
				t.Errorf("it has %v, want %v: %v", work.deadline, test.want, err)
			}
		})
	}
}
