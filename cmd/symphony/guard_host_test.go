package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/codextest"
)

// runGit runs git in a folder, and returns what it printed.
func runGit(t testing.TB, folder string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestRaidLeavesTrapsForTheHost has an agent leave everything in its workspace and
// its temporary folder that could harm the host. Then the host continues: after_run
// pushes, a second tick fetches, runs a session and hands over, and a third one
// removes the workspace. Nothing outside may have changed.
func TestRaidLeavesTrapsForTheHost(t *testing.T) {
	t.Parallel()
	p, m := realProject(t, map[string]string{"A-1": todo("Set traps")})
	at := func(name string) string { return shellQuote(filepath.Join(p.dir, name)) }
	p.write("outside/keep", "kept\n")
	p.write("seed/file", "one\n")
	runGit(t, filepath.Join(p.dir, "seed"), "init", "-q", "-b", "main")
	runGit(t, filepath.Join(p.dir, "seed"), "add", "-A")
	runGit(t, filepath.Join(p.dir, "seed"), "commit", "-q", "-m", "one")
	runGit(t, p.dir, "clone", "-q", "--bare", "seed", "remote.git")
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
	if got, want := runGit(t, filepath.Join(p.dir, "remote.git"), "log", "-1", "--format=%s", "work"), "two"; got != want {
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
				p, m := realProject(t, map[string]string{"A-1": todo("Set a trap")})
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

// TestRaidIsRunByTheGitOfASandboxedHook sets the trap that no flag of git closes, for a
// hook of a workflow with a repository: the program runs, and reaches nothing.
func TestRaidIsRunByTheGitOfASandboxedHook(t *testing.T) {
	t.Parallel()
	p, m := realProject(t, map[string]string{"A-1": todo("Set a trap")})
	p.write("outside/keep", "kept\n")
	p.write("shop/README.md", "shop\n")
	shop := filepath.Join(p.dir, "shop")
	runGit(t, shop, "init", "-q", "-b", "main")
	runGit(t, shop, "add", "-A")
	runGit(t, shop, "commit", "-q", "-m", "one")
	p.replace("codex:\n", "repository: {url: ./shop}\ndelivery: {kind: none}\nhooks: {after_run: git status > ran}\ncodex:\n")
	trap := "echo sprung >> " + filepath.Join(p.dir, "workspaces", "A-1", "sprung") + "; echo raided > " + filepath.Join(p.dir, "outside", "raided") + "; false"
	raid := "git init -q inner && git -C inner -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git add inner && " +
		"git -C inner config core.fsmonitor '" + trap + "' && touch inner/file"
	m.Add(lane("A-1", call("exec_command", map[string]any{"cmd": raid, "yield_time_ms": 30000}), handOver(), say("Done.")))
	r := p.ok("--once")
	if text := p.read("workspaces/A-1/ran") + p.read("workspaces/A-1/sprung"); !strings.Contains(text, "sprung") {
		t.Fatalf("the hook has not sprung the trap, so this shows nothing: %s\n%s", text, r.stderr)
	}
	if names, err := os.ReadDir(filepath.Join(p.dir, "outside")); err != nil || len(names) != 1 {
		t.Errorf("the program of the agent has written outside: %v, %v", names, err)
	}
}

// TestNothingRemainsOfATick lets an agent leave a server, a child in a session
// of its own and a stopped process, each without the environment by which they
// would be known, and looks at what is there after the tick and was not before.
func TestNothingRemainsOfATick(t *testing.T) {
	t.Parallel()
	// The processes are known by an argument that no other has: the sandbox
	// hides their numbers.
	seconds := fmt.Sprint(1_000_000_000 + rand.Int64N(1_000_000_000))
	leave := fmt.Sprintf(`mkfifo pipe
env -i bash -c 'exec -a server sleep %[1]s' > pipe 2>&1 & cat pipe > /dev/null &
env -i setsid --fork sleep %[1]s > /dev/null 2>&1
env -i sleep %[1]s & kill -STOP $!
echo x > "$TMPDIR/left"; echo x > left
sleep 0.1; kill -0 $! && echo all of them are there`, seconds)
	p, m := realProject(t, map[string]string{"A-1": todo("Leave")},
		lane("A-1", call("exec_command", map[string]string{"cmd": leave}), handOver(), say("Done.")))
	home, temp := t.TempDir(), t.TempDir()
	p.env = append(p.env, "HOME="+home, "TMPDIR="+temp)

	// What a tick may change: the state, the logs, the workspaces, and the issue
	// that the agent handed over.
	ours := regexp.MustCompile(`^(\.symphony|logs|workspaces|issues/A-1\.md)(/|$)`)
	before := [][]string{snapshot(t, p.dir, ours), snapshot(t, home, nil), snapshot(t, temp, nil)}
	r := p.ok("--once", "--logs", "logs")
	after := [][]string{snapshot(t, p.dir, ours), snapshot(t, home, nil), snapshot(t, temp, nil)}

	requests := m.Requests()
	if !strings.Contains(r.stdout, "1 completed") || len(requests) < 2 || !said(requests[1], "all of them are there") {
		t.Fatalf("the agent did not leave what it should, so this shows nothing:\n%s\n%s", r.stdout, r.stderr)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the tick changed files that are not its own (-before +after):\n%s", diff)
	}
	if left := withArgument(t, seconds); len(left) > 0 {
		t.Errorf("still alive: %q", left)
	}
	p.noProcessLeft()
	p.ok("--once") // which takes the lock of the state
}

// said reports whether a command printed a text, as the model was told. The text of
// the command, which holds it too, is in the requests as well, but not at the start
// of a line.
func said(r codextest.Request, text string) bool {
	return strings.Contains(string(r.Body), `\n`+text)
}

// snapshot lists everything in a folder with its content, except names that match.
func snapshot(t *testing.T, folder string, but *regexp.Regexp) (all []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil || but != nil && but.MatchString(name) {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprint(name, " ", info.Mode())
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(content))
		}
		all = append(all, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// withArgument returns the command lines of the processes that have an argument.
func withArgument(t *testing.T, argument string) (lines []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		line, _ := os.ReadFile(path) // of one that has ended meanwhile: nothing
		if strings.Contains(string(line), "\x00"+argument+"\x00") {
			lines = append(lines, string(line))
		}
	}
	return lines
}
