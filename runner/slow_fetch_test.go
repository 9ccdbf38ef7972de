package runner_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace/git"
)

// onSlowServer moves the repository to a server whose fetches never end while slow is set.
func (r *remote) onSlowServer(slow *atomic.Bool) {
	r.t.Helper()
	g := githubtest.New(r.t, storetest.Config{Repo: "acme/shop", Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if slow.Load() && strings.Contains(req.URL.String(), "git-upload-pack") {
				<-req.Context().Done() // of a git that was killed
				return
			}
			next.ServeHTTP(w, req)
		})
	}})
	at, err := git.ParseRemote(g.CloneURL(), "ghs_storetest")
	if err != nil {
		r.t.Fatal(err)
	}
	r.repository.Remote = at
}

// TestAFetchThatTakesAllTheTimeFailsTheTickAndSaysSo expects more than an issue that was not
// started: else a schedule of such ticks does nothing for ever, and looks healthy.
func TestAFetchThatTakesAllTheTimeFailsTheTickAndSaysSo(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	var slow atomic.Bool
	slow.Store(true)
	r.onSlowServer(&slow)
	run := r.run()
	run.Deadline = time.Second
	tick, err := run.Run(t.Context())
	if !errors.Is(err, git.ErrTimeout) || tick.Stopped != string(schedule.DeadlineReached) || len(tick.Rows) > 0 || len(r.claims()) > 0 {
		t.Fatalf("error %v, stopped %q, rows %v, claims %v", err, tick.Stopped, tick.Rows, r.claims())
	}
	if len(tick.Errors) != 1 || tick.Errors[0] != err.Error() {
		t.Errorf("errors %q, want %q", tick.Errors, err)
	}
	for _, part := range []string{"fetch " + r.repository.Remote.URL() + ": git_timeout: not done after ", "give the run more time (--deadline)"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %q, without %q", err, part)
		}
	}
}

func TestAFetchBetweenSessionsThatTheDeadlineEndsIsNoFailure(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	var slow atomic.Bool
	r.onSlowServer(&slow)
	r.flow.change(func(s *workflow.Settings) { s.Delivery.HandOver = workflow.HandOver{} }, nil) // so it stays active
	run := r.run()
	run.Deadline = 12 * time.Second
	r.work = func(folder string) {
		if err := os.WriteFile(filepath.Join(folder, "work.txt"), []byte("done\n"), 0o644); err != nil {
			t.Error(err)
		}
		slow.Store(true) // the next session needs what this one pushes
	}
	tick, err := run.Run(t.Context())
	if err != nil || tick.Stopped != string(schedule.DeadlineReached) || len(tick.Errors) > 0 || tick.Row("ABC-1") == nil {
		t.Errorf("error %v, stopped %q, errors %q, rows %v\n%s", err, tick.Stopped, tick.Errors, tick.Rows, r.log)
	}
}
