package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// git runs git in a folder, and returns what it printed.
func git(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestRaidLeavesTrapsForTheHost lets an agent leave in its workspace and its
// temporary folder all that could harm whoever works there next, and the host go
// on: after_run pushes, another tick fetches, runs a second session and hands
// over, a third one removes the workspace. Then it looks at the world outside.
func TestRaidLeavesTrapsForTheHost(t *testing.T) {
	t.Parallel()
	p, m := realProject(t, "", map[string]string{"A-1": todo("Set traps")})
	at := func(name string) string { return shellQuote(filepath.Join(p.dir, name)) }
	p.write("outside/keep", "kept\n")
	p.write("seed/file", "one\n")
	git(t, filepath.Join(p.dir, "seed"), "init", "-q", "-b", "main")
	git(t, filepath.Join(p.dir, "seed"), "add", "-A")
	git(t, filepath.Join(p.dir, "seed"), "commit", "-q", "-m", "one")
	git(t, p.dir, "clone", "-q", "--bare", "seed", "remote.git")
	p.replace("codex:\n", `agent: {max_turns: 1, max_issues_per_tick: 1}
hooks:
  timeout_ms: 20000
  after_create: git clone -q `+at("remote.git")+` . && git switch -q -c work
  before_run: |
    git fetch -q --no-recurse-submodules origin
    cat package.json Makefile >> hooked 2>&1; true
  after_run: |
    git push -q --no-verify --no-recurse-submodules origin HEAD:refs/heads/work
    cat package.json Makefile >> hooked 2>&1; true
  before_remove: cat package.json > /dev/null 2>&1; true
codex:
`)
	traps := `outside=` + at("outside") + `
echo work > work.txt && git add -A && git -c user.name=a -c user.email=a@b commit -q -m two
rm -rf .git/logs && ln -s "$outside" .git/logs
rm -rf .git/refs/remotes && ln -s "$outside" .git/refs/remotes
mkfifo package.json Makefile .git/FETCH_HEAD
ln -s "$outside" folder; ln -s "$outside/keep" link
printf '#!/bin/sh\necho raided > %s/hook\n' "$outside" > .git/hooks/pre-push; chmod +x .git/hooks/pre-push
printf '#!/bin/sh\necho raided > %s/hook\n' "$outside" > .git/hooks/reference-transaction; chmod +x .git/hooks/reference-transaction
cp -r .git evil; git config -f evil/config core.fsmonitor "echo raided > $outside/fsmonitor; false"
rm -f .git/commondir; echo ../evil > .git/commondir
git config core.sshCommand "echo raided > $outside/ssh"
mkdir -p .codex .agents && echo 'sandbox_mode = "danger-full-access"' > .codex/config.toml
mkdir locked && echo x > locked/x && chmod 000 locked
(for i in $(seq 300); do mkdir d && cd d; done)
ln -s "$outside" "$TMPDIR/out"; mkdir "$TMPDIR/locked"; echo x > "$TMPDIR/locked/x"; chmod 000 "$TMPDIR/locked"
echo; test -p package.json && test -L .git/logs && test -d d/d/d && echo the traps are set`
	m.Add(lane("A-1", call("exec_command", map[string]any{"cmd": traps, "yield_time_ms": 30000}), say("Not done."),
		call("exec_command", map[string]any{"cmd": "ls"}), handOver(), say("Done.")))
	outside := snapshot(t, filepath.Join(p.dir, "outside"), nil)
	intact := func(after string) {
		t.Helper()
		if diff := cmp.Diff(outside, snapshot(t, filepath.Join(p.dir, "outside"), nil)); diff != "" {
			t.Errorf("after %s the world outside is another (-before +after):\n%s", after, diff)
		}
	}

	r := p.ok("--once", "--logs", "logs")
	if requests := m.Requests(); len(requests) < 2 || !said(requests[1], "the traps are set") {
		t.Fatalf("the traps are not set, so this shows nothing:\n%s\n%s", r.stdout, r.stderr)
	}
	intact("after_run")
	if got, want := git(t, filepath.Join(p.dir, "remote.git"), "log", "-1", "--format=%s", "work"), "two"; got != want {
		t.Errorf("after_run pushed %q, want %q:\n%s", got, want, r.stderr)
	}
	second := p.ok("--once", "--logs", "logs")
	intact("the next attempt")
	if text := p.read("issues/A-1.md"); !strings.Contains(text, "state: Review") {
		t.Errorf("the second session did not hand over:\n%s\n%s\n%s", text, second.stdout, second.stderr)
	}
	for _, log := range []string{r.stderr, second.stderr} {
		if strings.Contains(log, "timed out") || strings.Contains(log, "hook failed") {
			t.Errorf("a hook did not go on:\n%s", log)
		}
	}
	p.write("issues/A-1.md", strings.Replace(p.read("issues/A-1.md"), "state: Review", "state: Done", 1))
	third := p.ok("--once", "--logs", "logs")
	intact("the removal of the workspace")
	for _, name := range []string{"workspaces/A-1", ".symphony/codex/tmp/A-1"} {
		if _, err := os.Lstat(filepath.Join(p.dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v\n%s", name, err, third.stderr)
		}
	}
	p.noProcessLeft()
}

// TestRaidIsRunByTheGitOfAHook shows what the guard does not cover: a hook is the
// workflow's own, and its git works on what the agent left. Each way is closed by
// the flags that the sample workflows give to git.
func TestRaidIsRunByTheGitOfAHook(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct{ create, raid, open, closed string }{
		"a folder of the work is the folder of hooks": {
			create: "git init -q . && git config core.hooksPath .husky && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one",
			raid:   "mkdir -p .husky; printf '#!/bin/sh\\necho raided > OUTSIDE/raided\\n' > .husky/reference-transaction; chmod +x .husky/reference-transaction",
			open:   "git update-ref refs/heads/x HEAD",
			closed: "git -c core.hooksPath=/dev/null update-ref refs/heads/x HEAD",
		},
		"a repository inside the work": {
			create: "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one",
			raid: "git init -q inner && git -C inner -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git add inner && " +
				"git -C inner config core.fsmonitor 'echo raided > OUTSIDE/raided; false' && touch inner/file",
			open:   "git status > /dev/null",
			closed: "git rev-list HEAD > /dev/null; git -c core.hooksPath=/dev/null fetch -q --no-recurse-submodules .",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for hook, want := range map[string]bool{way.open: true, way.closed: false} {
				p, m := realProject(t, "", map[string]string{"A-1": todo("Set a trap")})
				p.write("outside/keep", "kept\n")
				p.replace("codex:\n", "hooks:\n  after_create: "+mustJSON(t, way.create)+"\n  after_run: "+mustJSON(t, hook)+"\ncodex:\n")
				raid := strings.ReplaceAll(way.raid, "OUTSIDE", filepath.Join(p.dir, "outside")) + "\necho; echo the command ran"
				m.Add(lane("A-1", call("exec_command", map[string]any{"cmd": raid, "yield_time_ms": 30000}), handOver(), say("Done.")))
				r := p.ok("--once")
				if requests := m.Requests(); len(requests) < 2 || !said(requests[1], "the command ran") {
					t.Fatalf("the trap is not set, so this shows nothing:\n%s", r.stderr)
				}
				if _, err := os.Stat(filepath.Join(p.dir, "outside", "raided")); (err == nil) != want {
					t.Errorf("after %s the program of the agent has run: %v, want %v\n%s", hook, err == nil, want, r.stderr)
				}
			}
		})
	}
}
