package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex/codextest"
)

// TestNothingRemainsOfATick lets an agent leave a server, a child in a session
// of its own and a stopped process, each without the environment by which they
// would be known, and looks at what is there after the tick and was not before.
func TestNothingRemainsOfATick(t *testing.T) {
	t.Parallel()
	for name, posture := range map[string]string{
		"guarded":       "",
		"without guard": "  thread_sandbox: danger-full-access\n",
	} {
		t.Run(name, func(t *testing.T) {
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
			p, m := realProject(t, "", map[string]string{"A-1": todo("Leave")},
				lane("A-1", call("exec_command", map[string]string{"cmd": leave}), handOver(), say("Done.")))
			p.replace("codex:\n", "codex:\n"+posture)
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
			if strings.Contains(r.stdout, "runs without a sandbox") != (posture != "") {
				t.Errorf("the report does not say what the workflow opens:\n%s", r.stdout)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the tick changed files that are not its own (-before +after):\n%s", diff)
			}
			if left := withArgument(t, seconds); len(left) > 0 {
				t.Errorf("still alive: %q", left)
			}
			p.noProcessLeft()
			p.ok("--once") // which takes the lock of the state
		})
	}
}

// said reports whether the model was told a text by a command. A command's own
// text, which has it too, is in the requests as well, but not at a line's start.
func said(r codextest.Request, text string) bool {
	return strings.Contains(string(r.Body), `\n`+text)
}

// snapshot lists everything in a folder with what it holds, but for the names
// that match.
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

// withArgument are the command lines of the processes that have an argument.
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
