package runner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// hosts are worker hosts in memory. Each request takes a second.
type hosts struct {
	mu         sync.Mutex
	workspaces map[string][]string // identifiers of issues by host
	unknown    map[string][]string // keys by host
	down       map[string]bool
	used       map[string][]string // what ForgetUnused was told, by host
	asked      int                 // hosts that are asked at once, at most
	asking     int
	run        func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome // the sessions there
}

// Run runs a session, which leaves a workspace.
func (h *hosts) Run(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
	h.mu.Lock()
	h.workspaces[job.Host] = append(slices.DeleteFunc(h.workspaces[job.Host], func(name string) bool { return name == job.Issue.Identifier }), job.Issue.Identifier)
	h.mu.Unlock()
	return h.run(ctx, job, report)
}

// ask waits for an answer of a host.
func (h *hosts) ask(ctx context.Context, host string) (unlock func(), err error) {
	h.mu.Lock()
	h.asking++
	h.asked = max(h.asked, h.asking)
	h.mu.Unlock()
	passes(ctx, time.Second)
	h.mu.Lock()
	h.asking--
	if h.down[host] {
		err = fmt.Errorf("worker host %s: connection refused", host)
	}
	return h.mu.Unlock, err
}

func (h *hosts) Issues(ctx context.Context, host string) (known []workspace.Issue, unknown []string, err error) {
	unlock, err := h.ask(ctx, host)
	defer unlock()
	if err != nil {
		return nil, nil, err
	}
	for _, name := range h.workspaces[host] {
		known = append(known, workspace.Issue{ID: name, Identifier: name})
	}
	return known, h.unknown[host], nil
}

func (h *hosts) Remove(ctx context.Context, host string, issue workspace.Issue) (hook, err error) {
	unlock, err := h.ask(ctx, host)
	defer unlock()
	if err != nil {
		return nil, err
	}
	h.workspaces[host] = slices.DeleteFunc(h.workspaces[host], func(name string) bool { return name == issue.Identifier })
	h.unknown[host] = slices.DeleteFunc(h.unknown[host], func(key string) bool { return key == workspace.Key(issue.Identifier) })
	if strings.HasSuffix(issue.Identifier, "-hook") {
		hook = fmt.Errorf("worker host %s: before_remove: exit status 1", host)
	}
	return hook, nil
}

func (h *hosts) ForgetUnused(ctx context.Context, host string, used []string, before time.Time) error {
	unlock, err := h.ask(ctx, host)
	defer unlock()
	if err == nil && time.Since(before) >= 24*time.Hour {
		h.used[host] = used
	}
	return err
}

func (h *hosts) Test(ctx context.Context, host string) (string, error) {
	unlock, err := h.ask(ctx, host)
	defer unlock()
	return "0.169.0", err
}

// left returns the hosts with a workspace of an issue, sorted.
func (h *hosts) left(identifier string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := []string{}
	for _, host := range slices.Sorted(maps.Keys(h.workspaces)) {
		if slices.Contains(h.workspaces[host], identifier) {
			names = append(names, host)
		}
	}
	return names
}

// onHosts returns a runner whose sessions run on hosts, where each leaves a workspace.
func (f *fixture) onHosts(names ...string) (*runner.Runner, *hosts) {
	h := &hosts{workspaces: map[string][]string{}, unknown: map[string][]string{}, down: map[string]bool{}, used: map[string][]string{}}
	s := &f.flow.now.Settings
	s.Worker.Hosts, s.Policy.Hosts = names, names
	r := f.run()
	r.Connect = func(context.Context, workflow.Workflow) (runner.Connection, error) {
		return runner.Connection{Tracker: tracker.Adapter{Reader: f.board}, Hosts: h}, nil
	}
	r.RunSession = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
		f.t.Error("a session runs on this machine")
		return schedule.Outcome{Class: schedule.IssueFailed}
	}
	h.run = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
		return f.sessions(ctx, job, report)
	}
	return r, h
}

func TestWorkspacesOfFinishedIssuesAreRemovedFromAllHostsAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Done"), issue("A-2", "Review"), issue("A-3-hook", "Done"), issue("A-4", "Done"))
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprint("build", i))
		}
		r, h := f.onHosts(names...)
		h.workspaces = map[string][]string{"build1": {"A-1", "A-2"}, "build2": {"A-1"}, "build3": {"A-1"}, "build4": {"A-3-hook"}}
		h.unknown["build5"], h.down["build3"] = []string{workspace.Key("A-4")}, true
		f.edit(func(s *schedule.State) {
			s.Claims["A-5"] = schedule.Claim{ID: "A-5", Identifier: "A-5", Phase: schedule.Parked, Since: time.Now()}
		})
		began := time.Now()
		tick, err := r.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"build3"}, h.left("A-1")); diff != "" {
			t.Errorf("workspaces of A-1 (-want +got):\n%s", diff)
		}
		if len(h.left("A-2")) != 1 || len(h.left("A-3-hook"))+len(h.unknown["build5"]) > 0 {
			t.Errorf("left: %v, %v", h.workspaces, h.unknown)
		}
		warnings := strings.Join(tick.Warnings, "\n")
		for _, want := range []string{"startup cleanup: worker host build3: connection refused", "A-3-hook: worker host build4: before_remove: exit status 1"} {
			if !strings.Contains(warnings, want) {
				t.Errorf("no warning %q in %q", want, warnings)
			}
		}
		if diff := cmp.Diff([]string{"A-5"}, h.used["build1"]); diff != "" || len(h.used) != 19 {
			t.Errorf("%d hosts were told of used keys (-want +got):\n%s", len(h.used), diff)
		}
		if took := time.Since(began); h.asked > 8 || took > 12*time.Second {
			t.Errorf("%d hosts were asked at once, in %v", h.asked, took)
		}
	})
}

func TestASessionGoesOnAtAnotherHostWhenItsOwnIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		r, h := f.onHosts("build1", "build2")
		var ran []string
		trouble := map[string]bool{}
		r.Progress = func(p progress.Progress) {
			for _, t := range p.Trouble {
				trouble[string(t.Source)+": "+t.Text] = true
			}
		}
		began := time.Now()
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			ran = append(ran, fmt.Sprintf("%s after %v: thread %q, attempt %d", job.Host, time.Since(began).Round(time.Second), job.Thread, job.Attempt))
			if job.Host == "build1" {
				passes(ctx, time.Second)
				return schedule.Outcome{Class: schedule.HostLost, Why: "ssh: the connection was lost", CutOff: true, Thread: "t1", Turns: 1}
			}
			return schedule.Outcome{Class: schedule.Done, Issue: new(f.board.move(job.Issue.ID, "Done")), Turns: 1}
		}
		r.Once = false
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		tick, err := r.Run(ctx)
		if !errors.Is(err, schedule.ErrInterrupted) {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{`build1 after 0s: thread "", attempt 0`, `build2 after 1m1s: thread "", attempt 0`}, ran); diff != "" {
			t.Errorf("sessions (-want +got):\n%s", diff)
		}
		if left := h.left("A-1"); len(left) > 0 {
			t.Errorf("workspaces of the finished issue are left on %v", left)
		}
		if row := tick.Rows[0]; row.Class != schedule.Done || row.Sessions != 2 || tick.Pause.Why != "" || len(tick.Claims) > 0 {
			t.Errorf("%+v", row)
		}
		until := began.Add(11 * time.Second).UTC().Format(time.RFC3339)
		if want := "hosts: left alone after a failure: build1 until " + until + " (ssh: the connection was lost)"; !trouble[want] {
			t.Errorf("a display is told of %v, not of %q", trouble, want)
		}
		for _, want := range []string{"msg=dispatched", "worker_host=build2", "outcome=host"} {
			if !strings.Contains(f.log.String(), want) {
				t.Errorf("the log has no %s:\n%s", want, f.log)
			}
		}
	})
}

// The state may be written by a stranger, and names the hosts.
func TestOnlyHostsOfTheWorkflowAreAskedToRemoveAWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Done"))
		r, h := f.onHosts("build1", "build2")
		h.workspaces = map[string][]string{"build1": {"A-1"}, "-oProxyCommand=x": {"A-1"}, "build2": {"A-1"}}
		f.edit(func(s *schedule.State) {
			s.Claims["A-1"] = schedule.Claim{
				ID: "A-1", Identifier: "A-1", Phase: schedule.Waiting, Since: time.Now(), Due: time.Now(), Why: "x", Host: "build1", Left: []string{"-oProxyCommand=x"},
			}
		})
		h.down["build2"] = true // it cannot be looked for there
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"-oProxyCommand=x", "build2"}, h.left("A-1")); diff != "" {
			t.Errorf("workspaces (-want +got):\n%s", diff)
		}
	})
}

func TestAPauseEndsWhenOneHostWorks(t *testing.T) {
	for name, works := range map[string]bool{"one works": true, "none works": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, issue("A-1", "Todo"))
				r, h := f.onHosts("build1", "build2")
				h.down["build1"], h.down["build2"] = true, !works
				f.edit(func(s *schedule.State) {
					s.Pause = schedule.Pause{Why: "no Codex", Cause: schedule.CauseStart, Since: time.Now(), Until: time.Now().Add(time.Hour)}
				})
				r.Test = func(context.Context, workflow.Workflow, schedule.Cause) error {
					t.Error("this machine is tested, and no session runs here")
					return nil
				}
				tick, err := r.Run(t.Context())
				if err != nil || (tick.Counts().Completed == 1) != works {
					t.Errorf("completed %d: %v", tick.Counts().Completed, err)
				}
			})
		})
	}
}
