package attempt

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// Whatever an agent leaves in its workspace, the next session begins with the files of
// the remote, keeps the caches, and nothing outside changes.
func TestTheNextSessionWorksAfterAHostileOne(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "")
	outside := f.path("outside")
	writeFile(t, filepath.Join(outside, "file"), "mine")
	for name, leave := range map[string]string{
		"no .git":        "rm -rf .git",
		"a file":         "rm -rf .git; echo gitdir: $OUTSIDE > .git",
		"a link":         "rm -rf .git; ln -s $OUTSIDE .git",
		"links in .git":  "rm -rf .git/objects .git/refs; ln -s $OUTSIDE .git/objects; ln -s $OUTSIDE/file .git/FETCH_HEAD; rm .git/HEAD; ln -s $OUTSIDE/file .git/HEAD",
		"pipes":          "rm .git/HEAD; mkfifo .git/HEAD .git/index.lock pipe",
		"a repository":   "mv .git/HEAD .git/x; cp -r .git/refs .git/objects .; echo ref: refs/heads/main > HEAD; printf '[core]\\n\\tbare=true\\n\\tfsmonitor=touch %s/ran\\n' $OUTSIDE > config",
		"a program":      "git config core.fsmonitor 'touch '$OUTSIDE/ran; git config filter.x.clean 'touch '$OUTSIDE/ran; git config filter.x.smudge 'touch '$OUTSIDE/ran; mkdir -p .git/hooks; printf '#!/bin/sh\\n" + `echo ran >> '$OUTSIDE'/ran` + "\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; echo '* filter=x' > .gitattributes",
		"odd references": "git symbolic-ref refs/heads/symphony/ABC-1 refs/heads/main; echo garbage > .git/refs/heads/odd; git worktree add -q ../../worktree 2>/dev/null || true",
		"a lock":         "touch .git/index.lock .git/HEAD.lock",
		"nested":         "git init -q nested; touch nested/x",
	} {
		t.Run(name, func(t *testing.T) {
			f.setScript("- [ ] Run `mkdir -p cache; echo kept > cache/x; echo left > left.txt; export OUTSIDE=" + outside + "; " + leave + "`\n")
			f.session(t.Context()) // may fail: git may not be able to read that
			os.Remove(filepath.Join(outside, "ran"))
			before := f.git(f.origin, "rev-parse", "main")
			f.git(f.origin, "update-ref", "-d", "refs/heads/"+f.branch.String()) // the next session begins with the base

			f.job.Issue.Title = "Again"
			f.setScript("- [ ] Run `test \"$(cat cache/x)\" = kept && test ! -e nested && test ! -e HEAD && test ! -e .gitattributes && git status --porcelain > cache/status && test ! -s cache/status`\n" +
				"- [ ] Create `a.txt` containing `one`\n")
			if got := f.session(t.Context()); got.Class != schedule.Done || !got.Delivered {
				t.Errorf("%+v", got)
			}
			f.assertPublished("1", "a.txt")
			if files := filesBelow(t, outside); len(files) != 1 || f.readText(filepath.Join(outside, "file")) != "mine" {
				t.Errorf("outside: %v", files)
			}
			if now := f.git(f.origin, "rev-parse", "main"); now != before {
				t.Error("the base has moved")
			}
			f.git(f.origin, "update-ref", "-d", "refs/heads/"+f.branch.String())
		})
	}
}

// A workspace in which git cannot bring the files to where they belong is removed.
func TestAWorkspaceThatCannotBeFilledIsMadeAgain(t *testing.T) {
	t.Parallel()
	// git has no paths of more than 4096 bytes.
	f := newRepositoryFixture(t, "- [ ] Run `n=$(printf %0200d 0); for i in $(seq 30); do mkdir $n && cd $n || exit; done; touch x`\n")
	f.session(t.Context())
	if got := f.session(t.Context()); got.Class != schedule.IssueFailed || !strings.Contains(got.Why, "checkout_failed") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Lstat(f.inWorkspace("")); !os.IsNotExist(err) {
		t.Errorf("the workspace is still there: %v", err)
	}
}

// A command of the agent still commits when its session is stopped. It is dead before
// the work is taken, which is published as unproven.
func TestCommandsOfTheAgentAreDeadBeforeTheWorkIsTaken(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "")
	running := f.fifo("running")
	f.setScript("- [ ] Create `a.txt` containing `one`\n" +
		"- [ ] Run `echo $$ > " + quote(f.path("left.pid")) + "; echo > " + quote(running) + "; while git add -A && git commit -q --allow-empty -m again; do sleep 0.1; done`\n")
	f.grace = impatient
	ctx, cancel := context.WithCancelCause(t.Context())
	f.onUpdate = func(u Update) {
		if u.Event == string(codex.SessionStarted) {
			go func() {
				os.ReadFile(running)
				cancel(schedule.StopError(schedule.DeadlineReached))
			}()
		}
	}
	alive := false
	f.deliver = func(Delivery) error {
		left, _ := f.readPID("left.pid")
		alive = syscall.Kill(left, 0) == nil
		return nil
	}
	if got := f.session(ctx); got.Class != schedule.Stopped || !got.Delivered || len(got.Warnings) > 0 {
		t.Errorf("%+v", got)
	}
	if alive {
		t.Error("it ran while the work was published")
	}
	f.assertPublished("1", "a.txt")
	if d := f.deliveries[0]; !d.Unproven || checked(d) != "Not finished" {
		t.Errorf("%+v", d)
	}
}
