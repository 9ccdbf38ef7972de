package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// Wherever a session in a repository is stopped, no process and no half-made folder is
// left, and the next session works.
func TestASessionInARepositoryIsStoppedAnywhere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set    func(r *Repository, wait string)
		causes []schedule.Reason
	}{
		"in after_create": {func(r *Repository, wait string) { r.Hooks.AfterCreate = wait }, []schedule.Reason{schedule.DeadlineReached}},
		"in before_run":   {func(r *Repository, wait string) { r.Hooks.BeforeRun = wait }, []schedule.Reason{schedule.ClaimLost}},
		"in after_run":    {func(r *Repository, wait string) { r.Hooks.AfterRun = wait }, []schedule.Reason{schedule.DeadlineReached, schedule.ClaimLost}},
		"in the check":    {func(r *Repository, wait string) { r.Verify = []string{wait} }, []schedule.Reason{schedule.Interrupted, schedule.DeadlineReached}},
	} {
		for _, cause := range test.causes {
			t.Run(name+" because of "+string(cause), func(t *testing.T) {
				t.Parallel()
				f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n")
				running := f.fifo("running")
				test.set(f.job.Repository, "echo $$ > "+quote(f.path("hook.pid"))+"; echo > "+quote(running)+"; sleep 3600")
				f.grace = impatient
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() {
					os.ReadFile(running) // once it is
					cancel(schedule.StopError(cause))
				}()
				// There is time for what the agent has made until a deadline.
				saved := cause == schedule.DeadlineReached && (name == "in after_run" || name == "in the check")
				if got := f.session(ctx); got.Class != schedule.Stopped || got.Why != "stopped: "+string(cause) || got.Delivered != saved {
					t.Errorf("%+v", got)
				}
				pid, _ := f.readPID("hook.pid")
				f.assertDead(pid)
				if f.isPublished() != saved || saved && !f.deliveries[0].Unproven {
					t.Errorf("published: %v", !saved)
				}
				if saved {
					f.git(f.origin, "update-ref", "-d", "refs/heads/"+f.branch.String())
				}
				test.set(f.job.Repository, "")
				f.delivers()
			})
		}
	}
}

func TestASessionThatFailsPublishesItsWorkAsUnproven(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end       string
		class     schedule.Class
		published bool
		warnings  int
	}{
		"the turn fails":    {"- [ ] Fail with `other`\n", schedule.IssueFailed, true, 0},
		"the agent asks":    {"- [ ] Ask `Which colour?`\n", schedule.NeedsInput, true, 0},
		"the agent is gone": {"- [ ] Exit `3`\n", schedule.IssueFailed, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n"+test.end)
			f.job.Repository.Verify = []string{"false"} // is not run
			got := f.session(t.Context())
			if got.Class != test.class || got.Delivered != test.published || len(got.Warnings) != test.warnings {
				t.Errorf("%+v", got)
			}
			for _, d := range f.deliveries {
				if !d.Unproven {
					t.Errorf("%+v", d)
				}
			}
		})
	}
}

// TestWithoutProgramsOfTheHostNothingBegins has servers that cannot run them, also for a session
// whose work would stay in the workspace: nothing could bring its files.
func TestWithoutProgramsOfTheHostNothingBegins(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(f *repositoryFixture)
		want   string
	}{
		"a command that is not one simple command": {func(f *repositoryFixture) {
			f.job.Account = Account{} // so the profile would be given by the command
			f.job.Codex.Command = f.agent()
		}, "make codex.command one simple command like `codex app-server`"},
		"an older Codex": {func(f *repositoryFixture) {
			f.job.Codex.Command += " permissionProfile/list command/exec command/exec/terminate thread/backgroundTerminals/clean"
		}, "install Codex 0.169 or later"},
	} {
		for _, delivers := range []bool{true, false} {
			t.Run(fmt.Sprint(name, delivers), func(t *testing.T) {
				t.Parallel()
				f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n")
				test.change(f)
				if !delivers {
					f.job.Repository.Deliver = nil
				}
				if got := f.session(t.Context()); got.Class != schedule.Systemic || got.Turns != 0 || !strings.Contains(got.Why, "exec_unavailable: ") || !strings.Contains(got.Why, test.want) {
					t.Errorf("%+v", got)
				}
				if _, err := os.Lstat(f.inWorkspace("")); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the workspace: %v", err)
				}
				f.job.Issue.ID, f.job.Issue.Identifier = "preflight", "preflight"
				if _, err := preflight(t.Context(), f.job); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("the check says %v", err)
				}
			})
		}
	}
}

func TestErrorsOfADeliveryHaveTheirClass(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]schedule.Class{
		git.ErrUnauthorized: schedule.Systemic, git.ErrForbidden: schedule.Systemic, git.ErrNotFound: schedule.Systemic,
		git.ErrRenamed: schedule.Systemic, git.ErrUnavailable: schedule.Systemic, git.ErrNoGit: schedule.Systemic,
		git.ErrStore: schedule.Systemic, git.ErrNoBase: schedule.Systemic, git.ErrEmpty: schedule.Systemic,
		ErrDelivery: schedule.Systemic, codex.ErrNoExec: schedule.Systemic,
		git.ErrMoved: schedule.IssueFailed, git.ErrTimeout: schedule.Transient, workspace.ErrInUse: schedule.Transient,
		git.ErrRejected: schedule.IssueFailed, git.ErrTooBig: schedule.IssueFailed,
		&git.Refusal{Reason: "odd", Err: git.ErrStore}: schedule.IssueFailed, &RefusedError{"odd"}: schedule.IssueFailed,
	} {
		if got, _ := classify(fmt.Errorf("deliver: %w", err)); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n")
	f.deliver = func(Delivery) error { return fmt.Errorf("%w: no pull requests for this token", ErrDelivery) }
	if got := f.session(t.Context()); got.Class != schedule.Systemic || !strings.Contains(got.Why, "no pull requests for this token") || got.Delivered {
		t.Errorf("%+v", got)
	}
}

// What the server says of a push is compared with what it says of others.
func TestARefusalOfTheServerNamesItsRule(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n")
	f.deliver = func(Delivery) error {
		return git.Rejected("Repository rule violations found for refs/heads/symphony/ABC-1", errors.New("422"))
	}
	got := f.session(t.Context())
	if got.Class != schedule.IssueFailed || got.Cause != schedule.CauseDelivery || got.Fault != "push: Repository rule violations found for *" {
		t.Errorf("%+v", got)
	}
}

func TestAnAgentUnderWhichTheBranchMovedEndsItsTurn(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n"+callDeliver)
	f.job.MaxTurns = 3
	f.deliver = func(Delivery) error { return git.ErrMoved }
	if got := f.session(t.Context()); got.Class != schedule.IssueFailed || !got.Moved || got.Turns != 1 {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(f.readLog(), "the branch or its base has moved: branch_moved. Your work is kept, and the next session has both: end your turn.") {
		t.Error("the agent is not told what to do")
	}
}
