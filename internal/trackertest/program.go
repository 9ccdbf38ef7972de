package trackertest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/internal/shell"
)

// Build compiles the program for one test and returns its path.
func Build(t testing.TB) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "symphony")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", binary, "github.com/symphony-runner/symphony/cmd/symphony")
	build.Env = append(build.Environ(), "CGO_ENABLED=0") // as releases are
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return binary
}

// WorkCommand is a command with which an agent works on an issue. It also writes the
// agent's environment to a file, which the repository has to ignore: see [Ignored].
const WorkCommand = "env > agent.env && echo package shop > cart.go"

// Ignored is the content of .gitignore in the repository that the agent works on.
const Ignored = "agent.env\n"

// Program is the real program in a folder of its own, which is also its home, with a
// sample workflow.
type Program struct {
	t                testing.TB
	binary, dir      string
	variable, secret string   // the tracker's credential and what holds it
	env              []string // variables besides the environment of the test
}

// NewProgram sets up the folder for a program that [Build] compiled. The variable is
// the environment variable with the tracker's credential; env has others.
func NewProgram(t testing.TB, binary, variable, secret string, env ...string) *Program {
	t.Helper()
	return &Program{t: t, binary: binary, dir: t.TempDir(), variable: variable, secret: secret, env: env}
}

// ScriptedAgent returns the command of the agent that is part of the program.
func (p *Program) ScriptedAgent() string {
	return shell.Quote(p.binary) + " scripted-agent app-server --home " + shell.Quote(filepath.Join(p.dir, "agent"))
}

// ToolCall returns the reply of a scripted model that calls a tool.
func ToolCall(tool, arguments string) codextest.Reply {
	return codextest.Reply{Items: []codextest.Item{codextest.Call{Name: tool, Arguments: arguments}}}
}

// RealCodex returns the command of a real Codex whose model is scripted.
func (p *Program) RealCodex(codex string, lanes ...codextest.Lane) string {
	p.t.Helper()
	model := codextest.NewModel(lanes...)
	p.t.Cleanup(model.Close)
	if err := (codextest.Home{URL: model.URL()}).Write(filepath.Join(p.dir, "codex")); err != nil {
		p.t.Fatal(err)
	}
	return shell.Quote(codex) + " app-server"
}

// UseSample writes WORKFLOW.md from a file of testdata/workflows, with the
// replacements given in pairs. The workflow uses an agent, has its workspaces in the
// folder and never polls a second time. The agent asks for the credential by its name.
func (p *Program) UseSample(path, agent string, replacements ...string) {
	p.t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	text := string(content)
	replacements = append(replacements,
		"interval_ms: 60000", "interval_ms: 3600000",
		"\nagent:\n", "\nworkspace: {root: workspaces}\ncodex: {command: \""+agent+"\", env: ["+p.variable+"]}\nagent:\n",
	)
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(text, replacements[i]) {
			p.t.Fatalf("%s does not say %q", path, replacements[i])
		}
		text = strings.Replace(text, replacements[i], replacements[i+1], 1)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "WORKFLOW.md"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// Output is the output of a run of the program, and its exit status.
type Output struct {
	Code           int
	Stdout, Stderr string
}

// Tick runs the program once. It fails the test when the credential is in the output
// or in a file of the folder, which has the event logs, the state and the
// workspaces.
func (p *Program) Tick() Output {
	p.t.Helper()
	r := p.run(p.binary, []string{"--once", "--logs", "logs"})
	if strings.Contains(r.Stdout+r.Stderr, p.secret) {
		p.t.Errorf("what the program says holds the credential:\n%s\n%s", r.Stdout, r.Stderr)
	}
	err := filepath.WalkDir(p.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(p.secret)) {
			p.t.Errorf("the credential is in %s", path)
		}
		return err
	})
	if err != nil {
		p.t.Error(err)
	}
	return r
}

// Explain runs the explain command for an issue.
func (p *Program) Explain(name string) Output {
	p.t.Helper()
	return p.run(p.binary, []string{"explain", name})
}

// CheckHandedOver fails the test unless a tick completed one issue: its claim is
// released and its session logged, and the environment that the agent wrote down has no
// credential.
func (p *Program) CheckHandedOver(identifier string) {
	p.t.Helper()
	if r := p.run(p.binary, []string{"state", "show"}); !strings.HasPrefix(r.Stdout, "No claims") {
		p.t.Errorf("the claim was not released:\n%s%s", r.Stdout, r.Stderr)
	}
	logs, _ := filepath.Glob(filepath.Join(p.dir, "logs", identifier, "*.jsonl")) // the pattern is valid
	if len(logs) != 1 {
		p.t.Fatalf("event logs of %s: %v", identifier, logs)
	}
	if log := p.read(strings.TrimPrefix(logs[0], p.dir+"/")); !strings.Contains(log, "turn/completed") {
		p.t.Errorf("the event log does not tell of the turn:\n%s", log)
	}
	env := "\n" + p.read("workspaces/"+identifier+"/agent.env")
	if !strings.Contains(env, "\nPATH=") || strings.Contains(env, "\n"+p.variable+"=") {
		p.t.Errorf("the agent's environment:%s", env)
	}
}

func (p *Program) read(name string) string {
	p.t.Helper()
	content, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(content)
}

func (p *Program) run(name string, args []string) Output {
	p.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(p.t.Context(), name, args...)
	cmd.Dir = p.dir
	cmd.Env = append(append(cmd.Environ(), "HOME="+p.dir, "CODEX_HOME="+filepath.Join(p.dir, "codex"), "GITHUB_ACTIONS=", p.variable+"="+p.secret), p.env...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return Output{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}
