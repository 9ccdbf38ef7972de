package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace/git"
)

// addSubmodule gives the base branch a submodule at lib, from a repository beside it.
func (r *remote) addSubmodule(commit string) {
	r.t.Helper()
	seed := filepath.Join(filepath.Dir(r.origin), "seed")
	if err := os.WriteFile(filepath.Join(seed, ".gitmodules"), []byte("[submodule \"lib\"]\n\tpath = lib\n\turl = ../lib.git\n"), 0o644); err != nil {
		r.t.Fatal(err)
	}
	r.git(seed, "add", ".gitmodules")
	r.git(seed, "update-index", "--add", "--cacheinfo", "160000,"+commit+",lib")
	r.git(seed, "commit", "-q", "-m", "submodule")
	r.git(seed, "push", "-q", r.origin, "main")
	r.repository.Source.Submodules = true
	r.flow.change(func(s *workflow.Settings) { s.Repository.Submodules = true }, nil)
}

// makeLib makes the repository beside that of the base, and returns its commit.
func (r *remote) makeLib() string {
	r.t.Helper()
	dir := filepath.Dir(r.origin)
	r.git(dir, "clone", "-q", "--bare", r.origin, "lib.git")
	return r.git(filepath.Join(dir, "lib.git"), "rev-list", "--max-parents=0", "main")
}

func TestASubmoduleThatCannotBeFetchedHoldsEveryIssueAndChargesNone(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
	r.addSubmodule(strings.Repeat("7", 40))
	tick, err := r.run().Run(t.Context())
	if !errors.Is(err, git.ErrNotFound) || len(tick.Rows) > 0 || len(r.claims()) > 0 {
		t.Errorf("error %v, rows %v, claims %v", err, tick.Rows, r.claims())
	}
	if len(tick.Errors) != 1 || !strings.Contains(tick.Errors[0], "submodule lib: ") {
		t.Errorf("errors %q", tick.Errors)
	}
	for _, v := range tick.Verdicts {
		if v.Why.Reason != schedule.OnHold {
			t.Errorf("%s: %v", v.Issue.Identifier, v.Why)
		}
	}
	// The next tick finds it there.
	r.addSubmodule(r.makeLib())
	r.tick()
	if got := r.branches(); got != "main\nsymphony/ABC-1\nsymphony/ABC-2" {
		t.Errorf("branches %q", got)
	}
	if n := strings.Count(r.log.String(), `msg="fetched the repository"`); n != 1 {
		t.Errorf("the remote was fetched %d times, want once", n)
	}
}

// A base branch whose submodules can no longer be fetched does not stop a delivery of a
// session that has begun.
func TestADeliveryNeedsNoSubmodule(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	r.addSubmodule(r.makeLib())
	r.sessions = func(ctx context.Context, job attempt.Job, update func(attempt.Update)) schedule.Outcome {
		r.session(ctx, job, update)
		r.addSubmodule(strings.Repeat("7", 40))
		r.work = func(folder string) {
			if err := os.WriteFile(filepath.Join(folder, "more.txt"), []byte("more\n"), 0o644); err != nil {
				t.Error(err)
			}
		}
		return r.session(ctx, job, update) // a second delivery, for which the remote is read again
	}
	tick := r.tick()
	if d := r.state().Deliveries["ABC-1"]; len(tick.Errors) > 0 || len(r.errs) != 2 || r.errs[1] != nil || d.Head != r.git(r.origin, "rev-parse", "symphony/ABC-1") {
		t.Errorf("recorded %+v, errors %q, of deliveries %v", d, tick.Errors, r.errs)
	}
	if files := r.git(r.origin, "ls-tree", "--name-only", "symphony/ABC-1"); !strings.Contains(files, "more.txt") {
		t.Errorf("published %q", files)
	}
}
