package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

func TestTheTimeOfAShardCountsFromTheBeginningOfItsJob(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ gone, want time.Duration }{
		{2 * time.Minute, 58 * time.Minute},
		{0, time.Hour},
		{-time.Minute, time.Hour}, // clocks that differ
		{2 * time.Hour, time.Second},
	} {
		if got := timeLeft(time.Hour, now.Add(-c.gone), now); got != c.want {
			t.Errorf("%v after the beginning %v are left, want %v", c.gone, got, c.want)
		}
	}
	if got := timeLeft(time.Hour, time.Time{}, now); got != time.Hour {
		t.Errorf("of a job whose beginning is not known %v are left", got)
	}
}

// In a workflow that is called by another one, GITHUB_WORKFLOW_REF names the caller's file,
// which has none of the fleet's jobs.
func TestPlanAndCollectNeedNoTimeoutOfTheirJob(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	m.issues(nil)
	m.write(workflowFile, "jobs:\n  fleet:\n    uses: "+strings.TrimPrefix(fleetCall, "uses: ")+"\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	exchange := filepath.Join(m.home, "exchange")
	symphony := filepath.Join(m.home, "symphony")
	if err := os.Symlink(self, symphony); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"plan"}, {"collect"}} {
		code, said := m.runProgram([]string{"GITHUB_JOB=" + args[0]}, symphony, append(args, "--exchange", exchange, "--state", "branch:symphony-state")...)
		if warned := annotations("warning", said); code != 0 || strings.Contains(strings.Join(warned, "\n"), "timeout-minutes") {
			t.Errorf("%s: exit status %d, warnings %q\n%s", args[0], code, warned, said)
		}
	}
}

// The tracker and the publisher have clients of their own, and each shard has some.
func TestAShardPostsItsShareOfWhatGitHubTakes(t *testing.T) {
	t.Parallel()
	const token = "ghs_0123456789abcdefSHARE"
	g := githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: token})
	g.AddIssue(githubtest.Issue{Title: "A cart", State: "open"})
	p := emptyProject(t)
	p.write("WORKFLOW.md", `---
tracker: {kind: github, provider: {repo: acme/shop, api_key: `+token+`, api_url: "`+g.URL()+`"}}
repository: {url: "https://github.com/acme/shop", token: `+token+`}
delivery: {kind: pull_request}
---
Go.
`)
	exchange := filepath.Join(p.dir, "exchange")
	plan := fleet.Plan{Owner: schedule.Owner{Run: "r", Started: time.Now().UnixMilli(), Limit: 3600}}
	for n := range 80 {
		plan.Shards = append(plan.Shards, fleet.Slice{Number: n + 1, State: schedule.New(plan.ShardOwner(n + 1))})
	}
	if err := fleet.WritePlan(exchange, plan); err != nil {
		t.Fatal(err)
	}
	a := &app{Process: wiring.Process{Stdout: t.Output(), Stderr: t.Output()}, redactor: redact.New()}
	a.DetectActions()
	work := &workCommand{app: a, exchange: exchange, shard: "7"}
	if err := work.Run(t.Context(), []string{filepath.Join(p.dir, "missing.md")}); err == nil || work.slice.Number != 7 {
		t.Fatalf("%v, slice %d", err, work.slice.Number)
	}
	if wait := a.content.Take(time.Now()); wait > 0 {
		t.Errorf("the first post waits for %v", wait)
	}
	wf, err := a.workflows(filepath.Join(p.dir, "WORKFLOW.md")).Current()
	if err != nil {
		t.Fatal(err)
	}
	adapter, err := a.opener().Tracker(wf, quiet(), false)
	if err != nil {
		t.Fatal(err)
	}
	publisher, err := a.opener().Publisher(wf, quiet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), 30*time.Second)
	defer end()
	title := "A cart"
	_, ofPublisher := publisher.GitHub.Pulls.Create(ctx, client.NewPullRequest{Title: &title})
	update := adapter.Tools[slices.IndexFunc(adapter.Tools, func(tool tracker.Tool) bool { return tool.Name == "issue_update" })]
	ofTracker := update.Call(ctx, tracker.Issue{ID: "1", Identifier: "GH-1"}, []byte(`{"comment": "Hello."}`))
	if !errors.Is(ofPublisher, client.ErrContent) || !strings.Contains(ofTracker.Text, "nothing was posted") {
		t.Errorf("a second post in the same minute: %v, %s", ofPublisher, ofTracker.Text)
	}
}
