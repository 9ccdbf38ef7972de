package codex_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/codex/scriptedagent"
	"github.com/symphony-runner/symphony/internal/codextest"
)

// programs holds what the real Codex has to do for the programs of the host, in this order in one
// session that has no thread at first.
var programs = []struct {
	name string
	test func(c *testbed, s testSession)
	once bool // with one of the profiles
}{
	{"their ends", func(c *testbed, s testSession) { runsPrograms(c.t, s.Session, c.ws.Path, c.path("temp")) }, false},
	{"both outputs", passesBothOutputs, false},
	{"much output", streamsMuchOutput, true},
	{"a terminal", givesATerminal, false},
	{"the keys of a terminal", endsWithItsKeys, true},
	{"children", killsChildren, false},
	{"the sandbox", holdsPrograms, false},
	{"what a repository runs", holdsTheRepository, false},
	{"a repository that is no folder", refusesNoFolder, false},
	{"around a turn", runsAroundATurn, false},
	{"during a tool call", runsDuringATool, false},
}

// TestRealCodexRunsTheHostsPrograms has a session for each way in which the server gets the
// permission profile.
func TestRealCodexRunsTheHostsPrograms(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	for name, asArguments := range map[string]bool{"config.toml": false, "arguments": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTestbed(t, plainModel)
			var s testSession
			c.tools = []codex.Tool{{
				Name: "deliver", Description: "Delivers.", InputSchema: json.RawMessage(`{"type":"object"}`),
				Call: func(context.Context, json.RawMessage) (string, bool) {
					return c.exec(s, "git rev-parse --is-inside-work-tree"), true
				},
			}}
			s = c.connect(asArguments)
			defer c.close(s)
			for _, part := range programs {
				if part.once && !asArguments {
					continue
				}
				t.Run(part.name, func(t *testing.T) {
					c.t = t
					part.test(c, s)
				})
				c.t = t
			}
		})
	}
}

// exec runs shell code in the sandbox and returns what it printed. The program must be
// started.
func (c *testbed) exec(s testSession, script string) string {
	c.t.Helper()
	var out bytes.Buffer
	_, err := s.Exec(c.t.Context(), codex.Exec{Argv: []string{"/bin/sh", "-c", "exec 2>&1\n" + script}, Stdout: &out, Timeout: time.Minute})
	if err != nil {
		c.t.Errorf("%s: %v", script, err)
	}
	return out.String()
}

// uniqueTime returns a number of seconds that no other process sleeps.
func uniqueTime() string { return fmt.Sprint(100_000_000 + rand.IntN(100_000_000)) }

func TestTheScriptedAgentRunsTheHostsProgramsAsCodexDoes(t *testing.T) {
	t.Setenv("SECRET", "s3cret")
	cwd, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	var serving sync.WaitGroup
	serving.Go(func() {
		defer theirs.Close()
		_ = scriptedagent.Serve(t.Context(), theirs, theirs, scriptedagent.Options{ // ends with the connection
			Config: []string{`default_permissions=":read-only"`, `permissions.symphony.extends=":workspace"`},
		})
	})
	s, err := codex.Connect(t.Context(), ours, codex.Options{Version: "1", Cwd: cwd, Temp: cwd, ProfileGiven: true, Config: codex.Config{Env: []string{"SECRET"}}})
	if err != nil {
		t.Fatal(err)
	}
	runsPrograms(t, s, cwd, cwd)
	s.Close()
	serving.Wait()
}

// runsPrograms checks that a server runs programs of the host and tells their ends apart.
// SECRET is a variable of Config.Env.
func runsPrograms(t testing.TB, s *codex.Session, cwd, temp string) {
	t.Helper()
	if err := s.CanExec(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		exec   codex.Exec
		code   int
		stdout string
		stderr string
		want   error
	}{
		{name: "bytes", exec: codex.Exec{Argv: []string{"printf", `\377\376\000x`}}, stdout: "\xff\xfe\x00x"},
		{name: "a failure", exec: codex.Exec{Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}}, code: 3, stdout: "out\n", stderr: "err"},
		{name: "its own 101", exec: codex.Exec{Argv: []string{"sh", "-c", "exit 101"}}, code: 101},
		{name: "its own 124", exec: codex.Exec{Argv: []string{"sh", "-c", "exit 124"}}, code: 124},
		{name: "no input", exec: codex.Exec{Argv: []string{"cat"}}},
		{name: "the folder", exec: codex.Exec{Argv: []string{"pwd", "-P"}}, stdout: cwd + "\n"},
		{name: "the environment", exec: codex.Exec{Argv: []string{"sh", "-c", `echo "$TMPDIR/$SECRET/$CODEX_HOME/$A/$B"`}, Env: []string{"A=a b"}},
			stdout: temp + "///a b/\n"},
		{name: "a variable of the agent's", exec: codex.Exec{Argv: []string{"sh", "-c", `echo "$SECRET"`}, Inherit: []string{"SECRET"}}, stdout: "s3cret\n"},
		{name: "just enough", exec: codex.Exec{Argv: []string{"printf", "12345"}, MaxOutput: 5}, stdout: "12345"},
		{name: "too much", exec: codex.Exec{Argv: []string{"yes"}, MaxOutput: 100_000}, want: codex.ErrExecOutput},
		{name: "too long", exec: codex.Exec{Argv: []string{"sh", "-c", "trap '' TERM INT HUP; sleep 60; sleep 60"}, Timeout: 300 * time.Millisecond}, want: codex.ErrExecTimeout},
		{name: "missing", exec: codex.Exec{Argv: []string{"/no/such/program"}}, want: codex.ErrExecStart},
		{name: "not executable", exec: codex.Exec{Argv: []string{"/etc/passwd"}}, want: codex.ErrExecStart},
		{name: "killed", exec: codex.Exec{Argv: []string{"sh", "-c", "kill -9 $$"}}, want: codex.ErrExecKilled},
	} {
		var out bytes.Buffer
		test.exec.Stdout = &out
		got, err := s.Exec(t.Context(), test.exec)
		switch {
		case !errors.Is(err, test.want):
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		case err == nil && (got.ExitCode != test.code || out.String() != test.stdout || got.Stderr != test.stderr):
			t.Errorf("%s: %+v, %q", test.name, got, out.String())
		}
	}
}

// streamsMuchOutput takes more than may wait for a writer, and more than a line may have: both
// limits are on what is there at once.
func streamsMuchOutput(c *testbed, s testSession) {
	const size = 8 << 20
	sum, total := sha256.New(), 0
	read := filepath.Join(c.ws.Path, "read") // the program ends after that: see [codex.Exec.Stdout]
	_, err := s.Exec(c.t.Context(), codex.Exec{
		Argv:      []string{"sh", "-c", fmt.Sprintf("seq 1 100000000 | head -c %d; until [ -e %s ]; do sleep 0.1; done", size, read)},
		MaxOutput: size, Timeout: 10 * time.Minute, // on a machine that does much else
		Stdout: writerFunc(func(b []byte) (int, error) {
			if total += len(b); total == size {
				if err := os.WriteFile(read, nil, 0o600); err != nil {
					return 0, err
				}
			}
			return sum.Write(b)
		}),
	})
	if err != nil || total != size {
		c.t.Fatalf("%d bytes, %v", total, err)
	}
	text := make([]byte, 0, size+16)
	for i := int64(1); len(text) < size; i++ {
		text = append(strconv.AppendInt(text, i, 10), '\n')
	}
	if want := sha256.Sum256(text[:size]); !bytes.Equal(sum.Sum(nil), want[:]) {
		c.t.Error("the output is not that of the program")
	}
}

// writerFunc is a function as a writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// staying returns the processes with a text in their command line that do not end soon: the
// kernel ends those of a sandbox when its first one has ended, a moment after Codex answers.
func staying(text string) []int {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		if len(running(text)) == 0 {
			return nil
		}
	}
	return running(text)
}

func killsChildren(c *testbed, s testSession) {
	seconds := uniqueTime()
	if got := c.exec(s, fmt.Sprintf("setsid sleep %s & sleep %[1]s & echo left", seconds)); got != "left\n" {
		c.t.Errorf("printed %q", got)
	}
	if left := staying(seconds); len(left) > 0 {
		c.t.Errorf("after the end %v still run", left)
	}
	ctx, cancel := context.WithCancelCause(c.t.Context())
	cause := errors.New("the run was interrupted")
	_, err := s.Exec(ctx, codex.Exec{
		Argv: []string{"sh", "-c", "setsid sleep " + seconds + " & echo started; sleep " + seconds},
		Stdout: writerFunc(func(b []byte) (int, error) {
			cancel(cause)
			return len(b), nil
		}),
	})
	if !errors.Is(err, cause) {
		c.t.Errorf("%v, want %v", err, cause)
	}
	if left := staying(seconds); len(left) > 0 {
		c.t.Errorf("after the stop %v still run", left)
	}
	c.exec(s, "true") // the session goes on
}

func holdsPrograms(c *testbed, s testSession) {
	c.write("state/state.json", "s3cret")
	c.write("later/credentials", "s3cret") // made after the start
	c.write("workspaces/sibling/work", "s3cret")
	c.write("homes/other/rollout", "s3cret")
	for _, name := range []string{"state/state.json", "later/credentials", "workspaces/sibling/work", "homes/other/rollout", "homes/own/config.toml"} {
		if got := c.exec(s, "cat "+c.path(name)); !strings.Contains(got, "cat: ") || strings.Contains(got, "s3cret") {
			c.t.Errorf("%s: %q", name, got)
		}
	}
	for _, path := range []string{c.path("outside"), c.path("workspaces/sibling/raid"), ".git/hooks/pre-commit", ".git/config", ".git/commondir"} {
		if got := c.exec(s, "echo raided > "+path+" && echo written"); strings.Contains(got, "written") {
			c.t.Errorf("%s: %q", path, got)
		}
	}
	if got := c.exec(s, "echo own > /tmp/of-exec && cat /tmp/of-exec"); got != "own\n" {
		c.t.Errorf("a file in its own /tmp: %q", got)
	}
	if os.Remove("/tmp/of-exec") == nil {
		c.t.Error("it wrote to /tmp of the machine")
	}
	if got := c.exec(s, "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -c -e s3cret -e ^CODEX_HOME="); got != "0\n" {
		c.t.Errorf("the environment of the processes in the sandbox has secrets: %s", got)
	}
	if got := c.exec(s, "tail -n +3 /proc/net/dev | grep -v ' lo:'"); got != "" {
		c.t.Errorf("there is a network: %s", got)
	}
	if got := c.exec(s, `echo x > "$TMPDIR/x" && echo y > made && git add made && git -c user.name=a -c user.email=a@b commit -qm made && git log --format=%s -1`); got != "made\n" {
		c.t.Errorf("work in the workspace: %s", got)
	}
}

// holdsTheRepository has git run what the agent's repository names.
func holdsTheRepository(c *testbed, s testSession) {
	const evidence = `{ echo ran; env | grep -c s3cret; tail -n +3 /proc/net/dev | grep -vc ' lo:'; } >> "$TMPDIR/evidence"`
	c.write("workspaces/own/.git/raid", fmt.Sprintf("#!/bin/sh\n%s\necho raided > %s\ncat\n", evidence, c.path("outside")))
	if err := os.Chmod(c.path("workspaces/own/.git/raid"), 0o700); err != nil {
		c.t.Fatal(err)
	}
	config := c.path("workspaces/own/.git/config")
	old, err := os.ReadFile(config)
	if err != nil {
		c.t.Fatal(err)
	}
	raid := c.path("workspaces/own/.git/raid")
	hostile := fmt.Sprintf("%s[core]\n\tfsmonitor = %s\n[filter \"raid\"]\n\tclean = %[2]s\n\tsmudge = %[2]s\n", old, raid)
	if err := os.WriteFile(config, []byte(hostile), 0o600); err != nil {
		c.t.Fatal(err)
	}
	defer os.WriteFile(config, old, 0o600)
	c.write("workspaces/own/.gitattributes", "* filter=raid\n")
	c.write("workspaces/own/new", "new\n")
	c.exec(s, "git add -A; git status --short")
	got := c.read("temp/evidence")
	if !strings.HasPrefix(got, "ran\n") {
		c.t.Fatalf("nothing of the repository ran, so this shows nothing: %q", got)
	}
	if strings.Trim(strings.ReplaceAll(got, "ran\n", ""), "0\n") != "" || c.exists("outside") {
		c.t.Errorf("a program of the repository has secrets or a network, or wrote outside: %q", got)
	}
}

func refusesNoFolder(c *testbed, s testSession) {
	git := c.path("workspaces/own/.git")
	if err := os.Rename(git, c.path("workspaces/own/moved")); err != nil {
		c.t.Fatal(err)
	}
	for name, plant := range map[string]func() error{
		"a file": func() error { return os.WriteFile(git, []byte("gitdir: moved\n"), 0o600) },
		"a link": func() error { return os.Symlink("moved", git) },
	} {
		if err := plant(); err != nil {
			c.t.Fatal(err)
		}
		if _, err := s.Exec(c.t.Context(), codex.Exec{Argv: []string{"git", "status"}}); !errors.Is(err, codex.ErrExecStart) {
			c.t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(git); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := os.Rename(c.path("workspaces/own/moved"), git); err != nil {
		c.t.Fatal(err)
	}
}

// A repository's own .codex folder must not change the rules, whether the user trusts
// the repository or not.
func TestRealCodexIsRefusedWhenTheRepositoryChangesTheProfile(t *testing.T) {
	t.Parallel()
	for _, trust := range []string{"untrusted", "trusted"} {
		t.Run(trust, func(t *testing.T) {
			t.Parallel()
			codextest.Path(t)
			c := newTestbed(t, plainModel)
			c.script = fmt.Sprintf("mkdir .codex && cat > .codex/config.toml <<'END'\n[permissions.symphony.filesystem]\n%q = \"write\"\nEND\n", c.path("outside"))
			c.build()
			c.write("outside/file", "")
			c.config = fmt.Sprintf("[projects.%q]\ntrust_level = %q\n", c.ws.Path, trust)
			for _, asArguments := range []bool{false, true} {
				s := c.connect(asArguments)
				err := s.CanExec(t.Context())
				if trust == "trusted" {
					if !errors.Is(err, codex.ErrPosture) {
						t.Errorf("%v, want %v", err, codex.ErrPosture)
					}
					if _, err := s.Exec(t.Context(), codex.Exec{Argv: []string{"true"}}); !errors.Is(err, codex.ErrPosture) {
						t.Errorf("%v, want %v", err, codex.ErrPosture)
					}
				} else if got := c.exec(s, "echo raided > "+c.path("outside/file")); err != nil || !strings.Contains(got, "Read-only") {
					t.Errorf("%q, %v", got, err)
				}
				c.close(s)
			}
		})
	}
}

func runsAroundATurn(c *testbed, s testSession) {
	if got := c.exec(s, "echo before > f; cat f"); got != "before\n" {
		c.t.Errorf("before the thread: %q", got)
	}
	if err := s.OpenThread(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	seconds := uniqueTime()
	c.say("cat f; while :; do echo x >> growing; sleep 0.05; done; sleep "+seconds, map[string]any{"yield_time_ms": 250})
	if _, err := s.Turn(c.t.Context(), codex.Input{Text: "go"}); err != nil {
		c.t.Fatal(err)
	}
	if len(running(seconds)) == 0 {
		c.t.Fatal("the agent left nothing running, so this shows nothing")
	}
	if err := s.CleanTerminals(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	for len(running(seconds)) > 0 { // they die a moment after the answer; without CleanTerminals never
		c.exec(s, "true")
	}
	if got := c.exec(s, "test -s growing && echo after"); got != "after\n" {
		c.t.Errorf("after the turn: %q", got)
	}
}

// runsDuringATool has the tool of the session run a program.
func runsDuringATool(c *testbed, s testSession) {
	c.reply(codextest.Call{Name: "deliver", Arguments: "{}"})
	if _, err := s.Turn(c.t.Context(), codex.Input{Text: "go"}); err != nil {
		c.t.Fatal(err)
	}
	requests := c.model.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, `"output":"true\n"`) {
		c.t.Errorf("the tool answered otherwise: %.3000s", last)
	}
}

// After a session that crashed, a new server harvests what it left.
func TestRealCodexRunsTheHostsProgramsAfterACrash(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	c := newTestbed(t, plainModel)
	first := c.connect(false)
	if got := c.exec(first, "echo work > left"); got != "" {
		t.Error(got)
	}
	process, err := os.FindProcess(first.process.PID())
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	<-first.process.Done()
	if _, err := first.Exec(t.Context(), codex.Exec{Argv: []string{"true"}}); !errors.Is(err, codex.ErrPortExit) {
		t.Errorf("%v, want %v", err, codex.ErrPortExit)
	}
	first.process.Stop(t.Context())
	second := c.connect(false)
	if got := c.exec(second, "cat left"); got != "work\n" {
		t.Errorf("printed %q", got)
	}
	c.close(second)
	if left, _ := filepath.Glob(c.path("workspaces/own/.codex*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
