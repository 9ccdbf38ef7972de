package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace"
)

// testHosts are worker hosts of which each has an error; nil for one that works.
type testHosts map[string]error

func (h testHosts) Run(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
	return schedule.Outcome{Class: schedule.HostLost}
}

func (h testHosts) Issues(context.Context, string) ([]workspace.Issue, []string, error) {
	return nil, nil, nil
}

func (h testHosts) Remove(context.Context, string, workspace.Issue) (hook, err error) {
	return nil, nil
}

func (h testHosts) ForgetUnused(context.Context, string, []string, time.Time) error { return nil }

func (h testHosts) Test(ctx context.Context, host string) (string, error) {
	if host == "slow" {
		<-ctx.Done()
		return "", fmt.Errorf("worker host slow: %w", context.Cause(ctx))
	}
	return "0.169.0", h[host]
}

// onHosts returns an app whose workflow has worker hosts, and no Codex and no folder of workspaces
// on this machine.
func onHosts(t *testing.T, hosts testHosts, front string) (a *app, path string, stdout *bytes.Buffer) {
	t.Helper()
	p := emptyProject(t)
	p.write("WORKFLOW.md", "---\ntracker: {kind: file}\nworkspace: {root: /proc/nowhere}\ncodex: {command: no-such-codex app-server}\n"+front+"---\nWork.\n")
	p.write("issues/A-1.md", "---\ntitle: A\nstate: Todo\n---\n")
	stdout = new(bytes.Buffer)
	_, interrupts := wiring.NewInterrupts(t.Context())
	a = &app{Process: wiring.Process{
		Environ: []string{"HOME=" + p.dir, "TMPDIR=" + p.dir, "PATH=/usr/bin:/bin"}, Stdout: stdout, Stderr: t.Output(), Interrupts: interrupts,
		OpenHosts: func(workflow.Workflow, *slog.Logger) runner.Hosts { return hosts },
	}, logFormat: "text"}
	a.DetectActions()
	a.redactor = a.EnvironmentSecrets()
	return a, filepath.Join(p.dir, "WORKFLOW.md"), stdout
}

func TestValidateTriesEachWorkerHost(t *testing.T) {
	t.Parallel()
	refused := errors.New("worker host build2: connection refused: start sshd there")
	a, path, stdout := onHosts(t, testHosts{"build2": refused}, "worker: {ssh_hosts: [build1, build2, slow]}\n")
	err := (&validateCommand{app: a}).validate(t.Context(), path, 300*time.Millisecond)
	if !errors.Is(err, errProblems) || !strings.Contains(err.Error(), "host, host") {
		t.Error(err)
	}
	text := strings.Join(strings.Fields(stdout.String()), " ")
	for _, want := range []string{
		"ok host build1, codex 0.169.0", "problem host worker host build2: connection refused: start sshd there",
		"problem host worker host slow: it took longer than 300ms: look at the login profile and the load of the host",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
	for _, local := range []string{"workspace", "codex "} {
		if strings.Contains(text, "problem "+local) || strings.Contains(text, "ok "+local) {
			t.Errorf("%s of this machine is checked:\n%s", local, stdout)
		}
	}
	a, path, stdout = onHosts(t, nil, "worker: {ssh_hosts: [build1], max_concurrent_agents_per_host: 0}\n")
	_ = (&validateCommand{app: a}).validate(t.Context(), path, time.Minute)
	if text := strings.Join(strings.Fields(stdout.String()), " "); !strings.Contains(text, "skipped host fix the problems of worker, workspace, codex first") {
		t.Errorf("the hosts are tried with wrong settings:\n%s", stdout)
	}
}

// With worker hosts neither Codex nor the folder of the workspaces need be here.
func TestATickOnWorkerHostsNeedsNothingHere(t *testing.T) {
	t.Parallel()
	a, path, _ := onHosts(t, nil, "worker: {ssh_hosts: [build1]}\n")
	run, err := openTick(a, path, tickOptions{}, opening{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.close()
	for _, dryRun := range []bool{false, true} {
		conn, err := a.opener().Connect(t.Context(), run.wf, quiet(), dryRun)
		if err != nil || conn.Hosts == nil || conn.Workspaces != nil {
			t.Errorf("dry run %v: %+v, %v", dryRun, conn, err)
		}
	}
}

func TestAFleetHasNoWorkerHosts(t *testing.T) {
	t.Parallel()
	a, path, _ := onHosts(t, nil, "worker: {ssh_hosts: [build1]}\n")
	err := (&planCommand{app: a, exchange: filepath.Join(filepath.Dir(path), "exchange"), shards: 2, slots: 1, limit: time.Hour, attempt: 1, id: "1", runsOn: "ubuntu-latest"}).Run(t.Context(), []string{path})
	if !errors.Is(err, wiring.ErrUsage) || !strings.Contains(err.Error(), "WORKFLOW.md names worker.ssh_hosts, and the sessions of a fleet run on its own machines") {
		t.Error(err)
	}
}

func TestTheRoomOfAnIssueOnAWorkerHostIsThere(t *testing.T) {
	t.Parallel()
	a, path, _ := onHosts(t, nil, "worker: {ssh_hosts: [build1]}\n")
	err := (&shellCommand{app: a}).Run(t.Context(), "A-1", []string{path}, []string{"true"})
	if !errors.Is(err, wiring.ErrUsage) || !strings.Contains(err.Error(), "log in there") {
		t.Error(err)
	}
	err = (&explainCommand{app: a}).printEnvironment([]string{path})
	if !errors.Is(err, wiring.ErrUsage) || !strings.Contains(err.Error(), "variables of logins there") {
		t.Error(err)
	}
}

// A plan names the host on which a session would start, and connects to none.
func TestAPlanNamesTheWorkerHost(t *testing.T) {
	t.Parallel()
	a, path, stdout := onHosts(t, nil, "worker: {ssh_hosts: [build1]}\n")
	a.OpenHosts = func(workflow.Workflow, *slog.Logger) runner.Hosts { return nil }
	if err := (&explainCommand{app: a}).Run(t.Context(), "A-1", []string{path}); err != nil || !strings.Contains(stdout.String(), "A-1 would be started now on worker host build1.") {
		t.Errorf("%v\n%s", err, stdout)
	}
	r, _, err := a.planner([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	tick, err := r.Plan(t.Context())
	if text := report.Of(tick).Text(200); err != nil || !strings.Contains(text, "new on worker host build1") {
		t.Errorf("%v\n%s", err, text)
	}
}
