package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

func TestAMalformedIssueKeepsItsWorkspaceAndDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Done"), issue("A-2", "Done"), issue("A-3", "Todo"))
		f.prepare("A-1")
		f.prepare("A-2")
		f.board.spoil("A-1")
		tick := f.tick(t.Context())
		if tick.Counts().Completed != 1 || !warned(tick, "A-1") {
			t.Errorf("completed %d, warnings %q", tick.Counts().Completed, tick.Warnings)
		}
		if diff := cmp.Diff([]string{"A-1"}, f.keys()); diff != "" {
			t.Errorf("workspaces (-want +got):\n%s", diff)
		}
	})
}

// On a runner of GitHub no workspace outlives the job, and the cache of the sessions has the
// thread of every issue that was ever worked on.
func TestThreadsThatNothingResumesAreRemovedWithoutAWorkspace(t *testing.T) {
	f := newFixture(t)
	old := time.Now().Add(-48 * time.Hour)
	f.edit(func(s *schedule.State) {
		s.Claims = map[tracker.ID]schedule.Claim{"1": {ID: "1", Identifier: "A-1", Phase: schedule.Parked, Since: old}}
		s.Deliveries = map[tracker.ID]schedule.Delivery{"2": {Identifier: "A-2", Branch: "symphony/A-2", At: old}}
	})
	r := f.run()
	r.SessionDir = t.TempDir()
	for _, key := range []string{"A-1", "A-2", "A-3"} {
		home := filepath.Join(r.SessionDir, "home", key)
		if err := os.MkdirAll(home, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(home, time.Time{}, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	homes, err := filepath.Glob(filepath.Join(r.SessionDir, "home", "*"))
	if diff := cmp.Diff([]string{filepath.Join(r.SessionDir, "home", "A-1"), filepath.Join(r.SessionDir, "home", "A-2")}, homes); err != nil || diff != "" {
		t.Errorf("%v: (-want +got):\n%s", err, diff)
	}
}

// Handed-over issues keep their workspaces. To read all of them in every tick would use up
// the rate limit of a tracker that needs a request for each.
func TestATickReadsAFewOfManyIssuesWithAWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var issues []tracker.Issue
		for n := range 50 {
			issues = append(issues, issue(fmt.Sprintf("A-%d", n+1), "Done"))
		}
		f := newFixture(t, issues...)
		for _, i := range issues {
			f.prepare(i.Identifier)
		}
		for _, want := range []int{30, 10, 0} {
			f.tick(t.Context())
			if got := len(f.keys()); got != want {
				t.Errorf("%d workspaces, want %d", got, want)
			}
		}
	})
}

func TestAFailedCleanupDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Done"), issue("A-2", "Todo"))
		f.prepare("A-1")
		f.board.read = func() error { return errDown }
		tick := f.tick(t.Context())
		if tick.Counts().Completed != 1 || len(tick.Errors) != 0 || len(tick.Warnings) != 1 {
			t.Errorf("completed %d, errors %q, warnings %q", tick.Counts().Completed, tick.Errors, tick.Warnings)
		}
	})
}

func TestAnIssueThatComesBackStartsOnceItsWorkspaceIsRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issue("A-1", "Done"))
	removing, goOn := filepath.Join(t.TempDir(), "removing"), filepath.Join(t.TempDir(), "go")
	for _, fifo := range []string{removing, goOn} {
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := workspace.Open(workspace.Config{Root: f.dir, Hooks: workspace.Hooks{
		BeforeRemove: "echo > " + removing + "; read -r line < " + goOn, Timeout: time.Minute,
	}}, workspace.Env{Parent: os.Environ()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	f.root = root
	f.prepare("A-1")
	f.flow.change(func(s *workflow.Settings) { s.Poll = time.Hour }, nil)
	started := make(chan struct{}, 10)
	f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
		started <- struct{}{}
		return f.handOver(ctx, job, report)
	}
	r, refresh := f.run(), make(chan struct{})
	r.Once, r.Refresh = false, refresh
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := r.Run(ctx)
		ended <- err
	}()

	if _, err := os.ReadFile(removing); err != nil { // until the hook runs
		t.Fatal(err)
	}
	f.board.move("A-1", "Todo")
	refresh <- struct{}{}
	refresh <- struct{}{} // taken once the pass after the first one is over
	if len(started) > 0 {
		t.Error("a session started in a workspace that was being removed")
	}
	if err := os.WriteFile(goOn, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	select {
	case <-started:
	case <-time.After(20 * time.Second):
		t.Error("no session started after the removal")
	}
	cancel()
	if err := <-ended; !errors.Is(err, schedule.ErrInterrupted) {
		t.Error(err)
	}
}
