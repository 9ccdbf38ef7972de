package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/symphony-runner/symphony/runner/store"
)

// failingRun describes a run of the command line whose status is not 0.
type failingRun struct {
	args   []string
	env    []string
	setUp  func(p *project)
	stdout func(t *testing.T) *os.File // nil keeps what is printed
	code   int
	cause  string // in a line of standard error
}

// full opens a device on which no room is left.
func full(t *testing.T) *os.File {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	return f
}

// unread opens the writing end of a pipe that nobody reads.
func unread(t *testing.T) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	return w
}

// readOnly opens a file that cannot be written to.
func readOnly(t *testing.T) *os.File {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNoStatusButZeroWithoutItsCauseOnStandardError(t *testing.T) {
	t.Parallel()
	state := func(content string) func(*project) {
		return func(p *project) { p.write(".symphony/state.json", content) }
	}
	busyPort := func() string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		return port
	}()
	noRoom, notOurs := "no space left on device", "bad file descriptor"
	for name, run := range map[string]failingRun{
		"the report goes to a full disk":   {args: []string{"--once", "--report", "/dev/full"}, code: 1, cause: "keep the report: "},
		"a tick prints to a full disk":     {args: []string{"--once"}, stdout: full, code: 1, cause: noRoom},
		"a tick prints to nobody":          {args: []string{"--once"}, stdout: unread, code: 1, cause: "broken pipe"},
		"a tick prints to a closed file":   {args: []string{"--once"}, stdout: readOnly, code: 1, cause: notOurs},
		"a plan prints to a full disk":     {args: []string{"--once", "--dry-run"}, stdout: full, code: 1, cause: noRoom},
		"a verdict goes to a full disk":    {args: []string{"explain", "A-1"}, stdout: full, code: 1, cause: noRoom},
		"a validation goes to a full disk": {args: []string{"validate"}, stdout: full, code: 1, cause: noRoom},
		"the state goes to a full disk":    {args: []string{"state", "show"}, stdout: full, code: 1, cause: noRoom},
		"a resume is told to a full disk":  {args: []string{"state", "resume"}, stdout: full, code: 1, cause: noRoom},
		"help goes to a full disk":         {args: []string{"--help"}, stdout: full, code: 1, cause: noRoom},
		"the tracker cannot be read": {args: []string{"--once"}, code: 1, cause: "connection refused",
			setUp: func(p *project) {
				p.replace("kind: file", "kind: linear\n  project_slug: abc\n  api_key: lin_api_0123456789\n  endpoint: http://127.0.0.1:1/")
			}},
		"the state is cut off":        {args: []string{"--once"}, setUp: state(`{"version": 2,`), code: 1, cause: "state_unreadable"},
		"the state is newer":          {args: []string{"--once"}, setUp: state(`{"version": 99}`), code: 1, cause: "state_newer"},
		"there is no such command":    {args: []string{"state", "mend"}, code: 2, cause: "mend"},
		"nothing is said about state": {args: []string{"state"}, code: 2, cause: "say what to do"},
		"no workflow to validate":     {args: []string{"validate", "missing.md"}, code: 2, cause: "found problems with: workflow;"},
		"validate finds a problem": {args: []string{"validate"}, code: 2, cause: "found problems with: prompt, codex;",
			setUp: func(p *project) {
				p.write("WORKFLOW.md", "---\ntracker: {kind: file}\ncodex: {command: no-such-codex}\n---\n{{ nothing }}\n")
			}},
		"the issue is not known":  {args: []string{"explain", "Z-9"}, code: 2, cause: `no issue "Z-9"`},
		"the claim is not known":  {args: []string{"state", "retry", "Z-9"}, code: 2, cause: `no claim of "Z-9"`},
		"the port is taken":       {args: []string{"--port", busyPort}, code: 2, cause: "is in use"},
		"the tick must not park":  {args: []string{"--once", "--fail-on", "parked"}, code: 1, cause: "fail_on: 1 parked"},
		"another run has it open": {args: []string{"--once"}, code: 3, cause: "state_locked", setUp: func(p *project) { lockState(t, p) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stderr := run.do(t)
			if code != run.code {
				t.Errorf("exit status %d, want %d", code, run.code)
			}
			if !hasLine(stderr, "symphony: ", run.cause) {
				t.Errorf("no line of standard error names %q:\n%s", run.cause, stderr)
			}
		})
	}
}

// Inside Actions both streams are the log, and the cause is an annotation.
func TestNoStatusButZeroWithoutItsCauseInTheLogOfActions(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]failingRun{
		"the outputs cannot be written": {env: []string{"GITHUB_OUTPUT=issues"}, code: 1, cause: "command_file"},
		"the summary cannot be written": {env: []string{"GITHUB_STEP_SUMMARY=issues"}, code: 1, cause: "command_file"},
		"the report cannot be written":  {args: []string{"--report", "/dev/full"}, code: 1, cause: "keep the report: "},
		"the state is cut off":          {setUp: func(p *project) { p.write(".symphony/state.json", "{") }, code: 1, cause: "not a state"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			run.stdout = func(t *testing.T) *os.File {
				f, err := os.Create(log)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			run.env = append([]string{
				"GITHUB_ACTIONS=true", "GITHUB_EVENT_NAME=schedule", "GITHUB_JOB=tick", "RUNNER_OS=Linux", "RUNNER_TEMP=.",
				"GITHUB_OUTPUT=outputs", "GITHUB_STEP_SUMMARY=summary",
			}, run.env...)
			code, stderr := run.do(t)
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			if code != run.code {
				t.Errorf("exit status %d, want %d", code, run.code)
			}
			if !hasLine(string(text), "::error ", run.cause) {
				t.Errorf("no annotation names %q:\n%s\n%s", run.cause, text, stderr)
			}
		})
	}
	t.Run("the log cannot be written", func(t *testing.T) {
		t.Parallel()
		run := failingRun{env: []string{"GITHUB_ACTIONS=true", "GITHUB_EVENT_NAME=schedule", "RUNNER_OS=Linux"}, stdout: full}
		if code, stderr := run.do(t); code != 1 || !hasLine(stderr, "symphony: ", "no space left on device") {
			t.Errorf("exit status %d\n%s", code, stderr)
		}
	})
}

func TestAnInterruptedRunSaysSoOnStandardError(t *testing.T) {
	t.Parallel()
	const report = "1 issue worked on"
	for name, test := range map[string]struct {
		signal       syscall.Signal
		tee, teeBoth bool // standard output, or both, go to a program that the signal ends too
		want         string
	}{
		"by Ctrl-C":                       {signal: syscall.SIGINT, want: "interrupted"},
		"by Ctrl-\\":                      {signal: syscall.SIGQUIT, want: "interrupted"},
		"by Ctrl-C in a pipe":             {signal: syscall.SIGINT, tee: true, want: "interrupted"},
		"by Ctrl-C with both in one pipe": {signal: syscall.SIGINT, tee: true, teeBoth: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Hang")})
			ctx, cancel := context.WithCancel(t.Context())
			cmd := p.command(ctx, "--once")
			cmd.Cancel = func() error { return cmd.Process.Signal(test.signal) }
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if test.tee {
				f := unread(t)
				defer f.Close()
				if cmd.Stdout = f; test.teeBoth {
					cmd.Stderr = f
				}
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the session", func() bool {
				text, err := os.ReadFile(filepath.Join(p.dir, ".symphony", "state.json"))
				return err == nil && strings.Contains(string(text), "running")
			})
			cancel()
			cmd.Wait()
			said := stderr.String()
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !test.teeBoth && !hasLine(said, "symphony: ", test.want) {
				t.Errorf("exit status %d\n%s", code, said)
			}
			if strings.Contains(said, "goroutine ") {
				t.Errorf("it shows its inside:\n%s", said)
			}
			if shown := stdout.String() + said; !test.teeBoth && !strings.Contains(shown, report) {
				t.Errorf("no report:\n%s", shown)
			}
		})
	}
}

// do runs the command line in a project with an issue that asks a question.
func (r failingRun) do(t *testing.T) (code int, stderr string) {
	t.Helper()
	p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Ask `Which colour?`")})
	if r.setUp != nil {
		r.setUp(p)
	}
	cmd := p.command(t.Context(), r.args...)
	cmd.Env = append(cmd.Env, r.env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if r.stdout != nil {
		f := r.stdout(t)
		defer f.Close()
		cmd.Stdout = f
	}
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	} else if ok && !exit.Exited() {
		t.Errorf("it was killed: %v", exit)
	}
	return cmd.ProcessState.ExitCode(), said.String()
}

// hasLine reports whether a line begins so and holds the text.
func hasLine(text, begin, want string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, begin) && strings.Contains(line, want) {
			return true
		}
	}
	return false
}

// lockState holds the state of a project as another run does.
func lockState(t *testing.T, p *project) {
	f, err := store.OpenFile(filepath.Join(p.dir, ".symphony", "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
}
