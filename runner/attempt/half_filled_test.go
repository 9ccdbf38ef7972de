package attempt

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace/git"
)

// stopInCheckout runs a session that is stopped when it has given the workspace its new
// .git and not its files.
func (f *repositoryFixture) stopInCheckout() {
	f.t.Helper()
	real, err := exec.LookPath("git")
	f.check(err)
	reached := f.fifo("reached")
	writeFile(f.t, f.path("bin", "git"), "#!/bin/sh\ncase \" $* \" in *' reset '*) echo > "+quote(reached)+"; sleep 3600;; esac\nexec "+quote(real)+` "$@"`+"\n")
	f.check(os.Chmod(f.path("bin", "git"), 0o755))
	repository := *f.job.Repository
	f.job.Repository.Host, err = git.Open(f.t.Context(), git.Config{
		Dir: f.path("others"), Workspaces: f.path("root"), Env: []string{"PATH=" + f.path("bin") + ":" + os.Getenv("PATH")}, Log: slog.New(slog.DiscardHandler),
	})
	f.check(err)
	ctx, cancel := context.WithCancelCause(f.t.Context())
	defer cancel(nil)
	go func() {
		os.ReadFile(reached) // once it is
		cancel(schedule.StopError(schedule.Interrupted))
	}()
	grace := f.grace
	f.grace = impatient
	if got := f.session(ctx); got.Class != schedule.Stopped || got.Turns != 0 {
		f.t.Fatalf("%+v", got)
	}
	f.grace = grace
	f.job.Repository.Host = repository.Host
}

// The files of a workspace that was not filled are those of an older commit. They are
// not the agent's work, and would take the newer commits of the base away.
func TestAWorkspaceThatWasNotFilledHasNoWork(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Say `hello`\n")
	f.session(t.Context())
	f.pushBase(map[string]string{"new.txt": "by a person\n", "README.md": "changed by a person\n"})
	f.stopInCheckout()
	f.setScript("- [ ] Create `a.txt` containing `one`\n")
	f.delivers()
	if got := f.git(f.origin, "diff", "--name-status", "main", f.branch.String()); got != "A\ta.txt" {
		t.Errorf("published:\n%s", got)
	}
}

// Work that is committed is carried through a session that was stopped so early.
func TestCommitsOutliveAWorkspaceThatWasNotFilled(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `.github/x` containing `refused`\n- [ ] Create `a.txt` containing `one`\n- [ ] Run `git add -A && git commit -qm work`\n")
	f.session(t.Context())
	f.stopInCheckout()
	f.setScript("- [ ] Run `rm .github/x`\n")
	f.delivers()
	f.assertPublished("1", "a.txt")
}

func TestASessionHasAPartOfTheFiles(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Run `test -e app/a && test ! -e lib`\n- [ ] Create `app/b` containing `one`\n- [ ] Create `.github/x` containing `refused`\n")
	f.pushBase(map[string]string{"app/a": "old\n", "lib/a": "old\n"})
	f.paths = []string{"app"}
	f.session(t.Context()) // its work is refused
	f.setScript("- [ ] Run `git rm -q --cached --sparse .github/x && git commit -qm less`\n")
	f.delivers()
	if got := f.git(f.origin, "diff", "--name-status", "main", f.branch.String()); got != "A\tapp/b" {
		t.Errorf("published:\n%s", got)
	}
}

// Another session may have other paths: what the last one did not have is not deleted.
func TestOtherPathsDoNotCountAsWork(t *testing.T) {
	t.Parallel()
	for name, paths := range map[string][2][]string{
		"all after some":  {{"app"}, nil},
		"some after all":  {nil, {"app"}},
		"some after some": {{"app"}, {"lib"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, "- [ ] Create `.github/x` containing `refused`\n- [ ] Run `echo one > top; git add --sparse -A . && git commit -qm work && git rm -q --cached --sparse .github/x && git commit -qm less`\n")
			f.pushBase(map[string]string{"app/a": "old\n", "lib/a": "old\n"})
			f.paths = paths[0]
			f.session(t.Context()) // its work is refused: the file is there
			f.paths = paths[1]
			f.setScript("- [ ] Create `b.txt` containing `one`\n")
			got := f.session(t.Context())
			if got.Class != schedule.Done || !got.Delivered || len(got.Warnings) != 1 {
				t.Errorf("%+v", got)
			}
			if got := f.git(f.origin, "diff", "--name-status", "main", f.branch.String()); got != "A\tb.txt\nA\ttop" {
				t.Errorf("published:\n%s", got)
			}
		})
	}
}
