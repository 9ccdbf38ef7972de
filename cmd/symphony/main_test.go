package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"

	"github.com/symphony-runner/symphony/internal/scriptedagent"
	"github.com/symphony-runner/symphony/internal/shell"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// TestMain makes this test binary the program itself when it is called by that
// name: main is tested in a process of its own. The same goes for the scripted agent. The program does not see the
// workflow run that may be running the tests.
//
// The program also starts itself by its path, which may have any name: as an agent, or on a worker
// host. So whatever is started with other arguments than flags of tests is the program. Else the
// tests would start all tests, which would start all tests.
func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	switch isCommand := name == "symphony" || name == "scripted-agent"; {
	case isCommand:
	case len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test."):
		os.Args[0] = "symphony"
	default:
		for _, entry := range os.Environ() {
			name, _, _ := strings.Cut(entry, "=")
			if strings.HasPrefix(name, "GITHUB_") || strings.HasPrefix(name, "RUNNER_") || strings.HasPrefix(name, "ACTIONS_") {
				os.Unsetenv(name)
			}
		}
		os.Setenv("GORACE", raceOptions)
	}
	testscript.Main(tests{m}, map[string]func(){"symphony": main, "scripted-agent": runAgent})
}

// TestTheProgramIsNeverTakenForItsTests starts it by its path, with an argument for which tests
// would only print their flags.
func TestTheProgramIsNeverTakenForItsTests(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(self, "--help").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "LINEAR_API_KEY") {
		t.Errorf("%v\n%s", err, out)
	}
}

// runAgent is the scripted agent with all steps, whose command [scripted] returns.
func runAgent() {
	flags := pflag.NewFlagSet("scripted-agent", pflag.ContinueOnError)
	home := flags.String("home", "", "")
	config := flags.StringArrayP("config", "c", nil, "")
	unknown := flags.StringArray("unknown", nil, "")
	if err := flags.Parse(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
	if own := os.Getenv("CODEX_HOME"); attempt.IsSessionHome(own) {
		*home = own
	}
	os.Exit(scriptedagent.Main(os.Stdin, os.Stdout, os.Stderr, scriptedagent.Options{Home: *home, Config: *config, Unknown: *unknown}))
}

// tests are the tests of this package.
type tests struct{ m *testing.M }

// Run runs the tests, and removes the program that they have built. What they start obeys
// SIGHUP, also where they are run with nohup: a signal that we catch is not ignored there.
func (t tests) Run() int {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	defer func() { os.RemoveAll(programFolder) }()
	return t.m.Run()
}

// raceOptions keeps a program that is built with the race detector from sleeping for a
// second before it exits. It is the value of GORACE, which agents do not inherit.
const raceOptions = "atexit_sleep_ms=0"

// project is a folder with a WORKFLOW.md and issues, as a user has it.
type project struct {
	t   testing.TB
	dir string
	env []string // besides the test's own environment
	exe string   // the program; this test binary when empty
}

// emptyProject returns an empty folder, which is also the home folder: the login
// shells of the program must not run the profile of the user who runs the tests.
func emptyProject(t testing.TB) *project {
	t.Helper()
	dir := t.TempDir()
	return &project{t: t, dir: dir, env: []string{"HOME=" + dir}}
}

// newProject makes a project whose agent is command.
func newProject(t testing.TB, command string, issues map[string]string) *project {
	t.Helper()
	p := emptyProject(t)
	p.write("WORKFLOW.md", strings.ReplaceAll(`---
tracker:
  kind: file
workspace:
  root: workspaces
codex:
  command: COMMAND
---
You are working on {{ issue.identifier }}: {{ issue.title }}.

{{ issue.description }}
`, "COMMAND", mustJSON(t, command)))
	for name, text := range issues {
		p.write("issues/"+name+".md", text)
	}
	return p
}

// scripted returns the command of the scripted agent, which has more steps than the program's.
func scripted(t testing.TB, home string) string {
	t.Helper()
	return "exec -a scripted-agent " + shellQuote(program(t)) + " app-server --home " + shellQuote(home)
}

func (p *project) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// eventLog returns the event log of the only session on an issue, below a folder of logs.
func (p *project) eventLog(folder, issue string) string {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, folder, issue, "*.jsonl"))
	if err != nil || len(files) != 1 {
		p.t.Fatalf("event logs of %s: %v (%v)", issue, files, err)
	}
	return p.read(strings.TrimPrefix(files[0], p.dir+"/"))
}

func (p *project) read(name string) string {
	p.t.Helper()
	content, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(content)
}

// replace changes a piece of WORKFLOW.md.
func (p *project) replace(old, new string) {
	p.t.Helper()
	text := p.read("WORKFLOW.md")
	if !strings.Contains(text, old) {
		p.t.Fatalf("WORKFLOW.md has no %q", old)
	}
	p.write("WORKFLOW.md", strings.Replace(text, old, new, 1))
}

// command returns the program, not yet started.
func (p *project) command(ctx context.Context, args ...string) *exec.Cmd {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, cmp.Or(p.exe, self))
	cmd.Args = append([]string{"symphony"}, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), p.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// result is how a run of the program ended.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the program to its end.
func (p *project) run(args ...string) result {
	p.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := p.command(p.t.Context(), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// ok runs the program, which must exit with 0.
func (p *project) ok(args ...string) result {
	p.t.Helper()
	r := p.run(args...)
	if r.code != 0 {
		p.t.Fatalf("symphony %s: exit status %d\n%s\n%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r
}

func (p *project) claims() map[tracker.ID]schedule.Claim {
	p.t.Helper()
	s, err := store.ReadFile(p.t.Context(), filepath.Join(p.dir, ".symphony", "state.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	return s.Claims
}

// noProcessLeft fails the test if a process still names a workspace of the
// project in its environment.
func (p *project) noProcessLeft() {
	p.t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, path := range environs {
		environ, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(environ), "SYMPHONY_WORKSPACE="+p.dir) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			p.t.Errorf("still alive: %s %q", filepath.Dir(path), line)
		}
	}
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// waitFor waits until a condition holds that another process brings about, which
// has no other way to signal it.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	if !poll(holds) {
		t.Fatalf("waited in vain for %s", what)
	}
}

func poll(holds func() bool) bool {
	deadline := time.After(60 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			return false
		}
	}
	return true
}

// TestScripts runs the command line as users do; see testdata/script at the top.
// In a script $AGENT is the command of the scripted agent, for codex.command,
// and `await FILE TEXT` waits until a file holds a text. The commands github, linear and
// workflow are of stories, see storyUsage.
func TestScripts(t *testing.T) {
	t.Parallel()
	params := scriptParams(func(env *testscript.Env) {
		env.Setenv("AGENT", scripted(t, filepath.Join(env.WorkDir, "agent")))
		setUpStory(env, nil)
	})
	params.Dir = scriptFolder
	testscript.Run(t, params)
}

// scriptFolder is the folder of the scripts.
var scriptFolder = filepath.Join("..", "..", "testdata", "script")

// scriptParams returns how scripts are run. Their environment gets an agent by setUpAgent.
func scriptParams(setUpAgent func(env *testscript.Env)) testscript.Params {
	return testscript.Params{
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", raceOptions)
			env.Setenv("HOME", env.WorkDir)
			setUpAgent(env)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await":     await,
			"collector": collectorCommand,
			"expand":    expand,
			"github":    githubCommand,
			"linear":    linearCommand,
			"workflow":  workflowCommand,
		},
	}
}

// await waits until a file holds a text: `await FILE TEXT`.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE TEXT")
	}
	path := ts.MkAbs(args[0])
	holds := func() bool {
		content, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(content), args[1])
	}
	if !poll(holds) {
		ts.Fatalf("waited in vain for %q in %s", args[1], args[0])
	}
}

// expand replaces ${NAME} in files by the environment: `expand FILE...`. Files of
// a script are written before there is an environment.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "${AGENT}", ts.Getenv("AGENT"))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}

func lookPath(path, name string) (string, error) {
	for _, folder := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found, nil
		}
	}
	return exec.LookPath(name)
}

func shellQuote(text string) string { return shell.Quote(text) }
