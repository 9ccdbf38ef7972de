package workspace

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// usedRepository makes a workspace with a repository of one commit on a branch, and lets
// an agent do something there. $OUT is a folder outside.
func usedRepository(t *testing.T, hooks Hooks, agent string) (r *Root, ws Workspace, out string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	out = t.TempDir()
	r = open(t, hooks)
	ws, err := r.Begin(t.Context(), issue)
	if err != nil {
		t.Fatal(err)
	}
	const repository = `set -e
git init -q -b symphony/ABC-1 .
git config user.name A; git config user.email a@example.com
echo mine > file; git add file; git commit -qm first; git tag v1
mkdir -p .git/refs/remotes/origin; echo 'ref: refs/remotes/origin/main' > .git/refs/remotes/origin/HEAD
git pack-refs; git commit -q --allow-empty -m second
`
	cmd := exec.CommandContext(t.Context(), "bash", "-c", repository+agent)
	cmd.Dir = ws.Path
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + out, "OUT=" + out, "GIT_CONFIG_NOSYSTEM=1"}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return r, ws, out
}

// Each of these makes the git of a hook that runs outside the sandbox obey the agent, or
// wait. The hook does not start.
func TestATrustedHookDoesNotStartOnAnIllFormedGit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ agent, says string }{
		"no .git":                     {"rm -rf .git", ".git is not a folder"},
		"a file as .git":              {"mv .git $OUT/git; echo gitdir: $OUT/git > .git", ".git is not a folder"},
		"a link as .git":              {"mv .git $OUT/git; ln -s $OUT/git .git", ".git is not a folder"},
		"a bare repository":           {"mv .git/HEAD .git/x; cp -r .git/refs .git/objects .git/config .; echo ref: refs/heads/main > HEAD", ".git/HEAD is not a file"},
		"a HEAD that git refuses":     {"echo x > .git/HEAD; cp -r .git/refs .git/objects .git/config .; echo ref: refs/heads/main > HEAD", ".git/HEAD names neither"},
		"a HEAD that is elsewhere":    {"echo 'ref: refs/remotes/origin/main' > .git/HEAD", ".git/HEAD names neither"},
		"no objects":                  {"rm -rf .git/objects", ".git/objects is not a folder"},
		"objects elsewhere":           {"mv .git/objects $OUT/o; ln -s $OUT/o .git/objects", ".git/objects is not a folder"},
		"refs elsewhere":              {"mv .git/refs $OUT/r; ln -s $OUT/r .git/refs", ".git/refs is not a folder"},
		"a pipe as HEAD":              {"rm .git/HEAD; mkfifo .git/HEAD", ".git/HEAD is not a file"},
		"a pipe as config":            {"rm .git/config; mkfifo .git/config", ".git/config is not a file"},
		"a pipe as FETCH_HEAD":        {"mkfifo .git/FETCH_HEAD", ".git/FETCH_HEAD is a named pipe"},
		"a pipe as a branch":          {"mkfifo .git/refs/heads/x", ".git/refs/heads/x is a named pipe"},
		"a link as FETCH_HEAD":        {"ln -s $OUT/file .git/FETCH_HEAD", ".git/FETCH_HEAD is a symbolic link"},
		"a link in logs":              {"rm -f .git/logs/HEAD; ln -s $OUT/file .git/logs/HEAD", ".git/logs/HEAD is a symbolic link"},
		"a link as a branch":          {"ln -s $OUT/file .git/refs/heads/x", ".git/refs/heads/x is a symbolic link"},
		"a link as HEAD":              {"mv .git/HEAD .git/x; ln -s x .git/HEAD", ".git/HEAD is not a file"},
		"a link to another branch":    {"ln -s symphony/ABC-1 .git/refs/heads/x", ".git/refs/heads/x is a symbolic link"},
		"a link as objects":           {"ln -s $OUT .git/objects/zz", ".git/objects/zz is a symbolic link"},
		"a socket":                    {"python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\".git/s\")'", ".git/s is a socket"},
		"a branch that is another":    {"git symbolic-ref refs/heads/symphony/ABC-1 refs/heads/main", ".git/refs/heads/symphony/ABC-1 stands for another"},
		"a tag that is a branch":      {"git symbolic-ref refs/tags/v2 refs/heads/main", ".git/refs/tags/v2 stands for another"},
		"objects of somebody else":    {"echo $OUT > .git/objects/info/alternates", "alternates names another repository"},
		"a folder nobody can walk to": {"p=.git/x; for i in $(seq 300); do p=$p/d; done; mkdir -p $p", "too deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("python3"); err != nil && strings.Contains(test.agent, "python3") {
				t.Skip("there is no python3 here")
			}
			const hook = `touch "$HOME/../started"`
			r, ws, out := usedRepository(t, Hooks{AfterCreate: hook, BeforeRun: hook, AfterRun: hook, BeforeRemove: hook, GuardGit: true}, test.agent)
			write(t, filepath.Join(out, "file"), "mine")
			started := filepath.Join(filepath.Dir(r.env.get("HOME")), "started")
			failed := map[string]error{
				"after_create": r.AfterCreate(t.Context(), ws), "before_run": r.BeforeRun(t.Context(), ws), "after_run": r.AfterRun(t.Context(), ws),
			}
			before, err := r.Remove(t.Context(), ws.Issue)
			if err != nil {
				t.Error(err)
			}
			failed["before_remove"] = before
			for name, err := range failed {
				if hook, ok := errors.AsType[*HookError](err); !ok || hook.Hook != name || !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if exists(started) {
				t.Error("a hook was started")
			}
			if exists(ws.Path) {
				t.Error("the workspace stays")
			}
			if text := read(t, filepath.Join(out, "file")); text != "mine" {
				t.Errorf("the file outside holds %q", text)
			}
		})
	}
}

// What git makes itself is well formed.
func TestATrustedHookRunsWhereAnAgentHasOnlyUsedGit(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]string{
		"nothing":          "",
		"commits":          "git checkout -q -b other; git commit -q --allow-empty -m x; git tag -a v2 -m v2; git gc -q",
		"no branch":        "git checkout -q --detach",
		"a work tree":      "git worktree add -q $OUT/tree",
		"a stash":          "echo x > file; git stash -q",
		"a merge begun":    "git checkout -q -b b v1; echo b > file; git commit -qam b; git checkout -q -b c v1; echo c > file; git commit -qam c; git merge -q b || true",
		"a name like ref":  "git branch ref:x 2>/dev/null || git branch refx",
		"a nested clone":   "git clone -q . nested; ln -s ../file nested/link; git init -q --bare nested.git",
		"pipes of its own": "mkfifo pipe",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ws, _ := usedRepository(t, Hooks{AfterRun: "git log -1 --format=%H HEAD && ! test -p pipe", GuardGit: true}, agent)
			if err := r.AfterRun(t.Context(), ws); err != nil {
				t.Error(err)
			}
		})
	}
}

// Whatever else an agent puts there, a hook with an ordinary environment falls for it, and
// a guarded one does not.
func TestGitInATrustedHookRunsNothingOfTheAgent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ agent, hook string }{
		"a file system monitor": {"git config core.fsmonitor \"touch $OUT/ran; false\"", "git status > /dev/null"},
		"hooks in the work":     {"mkdir h; printf '#!/bin/sh\\ntouch '$OUT'/ran\\n' > h/post-checkout; chmod +x h/post-checkout; git config core.hooksPath h", "git checkout -q -b other"},
		"a transport":           {"git config protocol.ext.allow always; git remote add origin \"ext::touch $OUT/ran\"", "git fetch -q origin || true"},
		"a bare repository":     {"git init -q --bare sub; git -C sub config core.sshCommand \"touch $OUT/ran; false\"; git -C sub remote add origin ssh://nowhere/x", "cd sub; git fetch -q || true"},
		"a replaced object":     {"other=$(git commit-tree -m other $(git mktree < /dev/null)); git replace HEAD $other", "git cat-file -e HEAD:file 2>/dev/null || touch $OUT/ran"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, guard := range []bool{false, true} {
				r, ws, out := usedRepository(t, Hooks{GuardGit: guard}, test.agent)
				r.cfg.Hooks.BeforeRun = "OUT=" + out + "\n" + test.hook
				if err := r.BeforeRun(t.Context(), ws); err != nil {
					t.Errorf("guarded %v: %v", guard, err)
				}
				if ran := exists(filepath.Join(out, "ran")); ran == guard {
					t.Errorf("guarded %v: the agent's program ran: %v", guard, ran)
				}
			}
		})
	}
}

// A workflow cannot take the guard away by naming a variable.
func TestTheGuardOfGitIsNotAVariableOfTheWorkflow(t *testing.T) {
	t.Parallel()
	r, ws, _ := usedRepository(t, Hooks{
		BeforeRun: `test "$GIT_CONFIG_COUNT" = 6 && test "$(git config core.fsmonitor)" = false`,
		Env:       []string{"GIT_CONFIG_COUNT=0"}, GuardGit: true,
	}, "")
	if err := r.BeforeRun(t.Context(), ws); err != nil {
		t.Error(err)
	}
}
