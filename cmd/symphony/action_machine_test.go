package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/internal/storetest"
)

// machine is a runner of one repository: its checkout, what jobs leave on it, and
// the releases of this action.
type machine struct {
	*project        // the checkout
	home     string // of the runner's user
	tools    string // the folder that is first on PATH, also of login shells
	path     string
	os, arch string
	action   string // folder of the action
	event    string // file with the event

	repository, api, token string
	server                 string // address of GitHub, or of another server
	registry               string // address of npm's registry
	ref, actionRepository  string // how the workflow names the action
	releases               *releases
	hub                    *storetest.Hub // nil: there is no GitHub
	jobEnv                 []string       // further variables of all jobs
	runs                   int
}

// workflowFile is the file of the workflow in the checkout.
const workflowFile = ".github/workflows/symphony.yml"

// newMachine returns a Linux or macOS runner. Its checkout has the sample issues of
// testdata/action with the agent of this program.
func newMachine(t testing.TB) *machine {
	t.Helper()
	m := &machine{
		project: emptyProject(t), home: t.TempDir(), os: "Linux", arch: "X64", action: repositoryRoot(t),
		repository: "octo/state-keeper", server: "https://github.com", registry: testRegistry, api: "http://127.0.0.1:1", token: "ghs_0123456789abcdefghij",
		ref: "v1", actionRepository: "symphony-runner/symphony", releases: newReleases(t),
	}
	if runtime.GOOS == "darwin" {
		m.os = "macOS"
	}
	if runtime.GOARCH == "arm64" {
		m.arch = "ARM64"
	}
	m.tools = filepath.Join(m.home, "tools")
	m.event = filepath.Join(m.home, "event.json")
	m.writeFile(m.event, "{}")
	m.path = m.tools + ":" + os.Getenv("PATH")
	m.writeFile(filepath.Join(m.home, ".bash_profile"), "PATH="+shellQuote(m.path)+"\n")
	m.stub("npm", `echo "npm $*" >>"$HOME/npm.log"; exit 1`)
	m.stub("sudo", `echo "sudo $*" >>"$HOME/sudo.log"; exit 1`)
	m.stub("gh", fakeGH)
	for path, text := range m.releases.standInFor(m.home) {
		m.writeFile(path, text)
	}
	m.releases.add("v1.2.3", strings.Repeat("a", 40), "v1")
	if err := os.CopyFS(m.dir, os.DirFS(filepath.Join("testdata", "action", "sample"))); err != nil {
		t.Fatal(err)
	}
	m.replace("AGENT", mustJSON(t, m.agent()))
	m.write(workflowFile, "concurrency: symphony\njobs:\n  tick:\n    timeout-minutes: 30\n")
	return m
}

func repositoryRoot(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// onHub gives a machine a GitHub with a state branch.
func (m *machine) onHub() *storetest.Hub {
	m.t.Helper()
	m.hub = storetest.New(m.t, storetest.Config{Repo: m.repository})
	m.api = m.hub.URL()
	return m.hub
}

// issues makes these the only issues there are.
func (m *machine) issues(texts map[string]string) {
	m.t.Helper()
	if err := os.RemoveAll(filepath.Join(m.dir, "issues")); err != nil {
		m.t.Fatal(err)
	}
	m.write("issues/README", "")
	for name, text := range texts {
		m.write("issues/"+name+".md", strings.ReplaceAll(text, "§", "`"))
	}
}

// agent returns the command of the scripted agent. It keeps its threads where Codex
// does.
func (m *machine) agent() string {
	program, _, _ := strings.Cut(scripted(m.t, ""), " --home")
	return program + ` --home "$CODEX_HOME/scripted"`
}

// stub puts a program on the runner.
func (m *machine) stub(name, script string) {
	m.t.Helper()
	m.writeFile(filepath.Join(m.tools, name), "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(filepath.Join(m.tools, name), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// only leaves the named programs on PATH.
func (m *machine) only(programs ...string) {
	m.t.Helper()
	folder := m.t.TempDir()
	for _, program := range programs {
		path, err := exec.LookPath(program)
		if err != nil {
			m.t.Skipf("no %s on this machine", program)
		}
		if err := os.Symlink(path, filepath.Join(folder, program)); err != nil {
			m.t.Fatal(err)
		}
	}
	m.path = folder
	m.writeFile(filepath.Join(m.home, ".bash_profile"), "PATH="+shellQuote(m.path)+"\n")
}

// posix lists the programs that a runner without anything still has.
var posix = []string{"sh", "tr", "sed", "grep", "mktemp", "cut", "cksum", "mkdir", "cat", "awk", "sort", "tail", "rm", "find", "xargs"}

// logged returns what a stub or an agent wrote into a file of the home folder.
func (m *machine) logged(name string) string {
	text, err := os.ReadFile(filepath.Join(m.home, name))
	if err != nil {
		return ""
	}
	return string(text)
}

func (m *machine) writeFile(path, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) program(name string, args ...string) (string, error) {
	out, err := exec.CommandContext(context.WithoutCancel(m.t.Context()), name, args...).CombinedOutput()
	return string(out), err
}

// ownCopy gives the machine a copy of the action, which nobody edits meanwhile, with what is
// named besides. act copies all of it for each job.
func (m *machine) ownCopy(names ...string) {
	m.t.Helper()
	folder := m.t.TempDir()
	for _, name := range append(names, "action.yml", ".github", "go.mod", "go.sum") {
		if out, err := m.program("cp", "-R", filepath.Join(m.action, name), folder); err != nil {
			m.t.Fatalf("%v\n%s", err, out)
		}
	}
	m.action = folder
}

// environment returns what a step of the Action inherits.
func (m *machine) environment() []string {
	return []string{
		"PATH=" + m.path, "HOME=" + m.home, "LANG=C.UTF-8", "CI=true", "GITHUB_ACTIONS=true",
		"RUNNER_OS=" + m.os, "RUNNER_ARCH=" + m.arch, "RUNNER_TEMP=" + m.home, "NPM_CONFIG_REGISTRY=" + m.registry,
		"GITHUB_ACTION_PATH=" + m.action, "GITHUB_WORKSPACE=" + m.dir, "GITHUB_OUTPUT=" + filepath.Join(m.home, "output"),
		"GITHUB_STEP_SUMMARY=" + filepath.Join(m.home, "summary"),
		"GITHUB_RUN_ID=101", "GITHUB_RUN_ATTEMPT=1", "GITHUB_JOB=tick", "GITHUB_REPOSITORY=" + m.repository,
		"GITHUB_SERVER_URL=" + m.server, "GITHUB_API_URL=" + m.api, "GITHUB_EVENT_NAME=schedule", "GITHUB_EVENT_PATH=" + m.event,
		"GITHUB_REF=refs/heads/main", "GITHUB_WORKFLOW_REF=" + m.repository + "/" + workflowFile + "@refs/heads/main",
		"GITHUB_TOKEN=" + m.token, "ACTION_REPOSITORY=" + m.actionRepository, "ACTION_REF=" + m.ref,
	}
}

// runProgram runs a program as a step of the Action does.
func (m *machine) runProgram(env []string, program string, args ...string) (code int, said string) {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), program, args...)
	cmd.Dir = m.dir
	cmd.Env = append(m.environment(), env...)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// runScript runs a script of the Action by itself.
func (m *machine) runScript(name string, env []string, args ...string) (code int, said string) {
	m.t.Helper()
	return m.runProgram(env, "bash", append([]string{filepath.Join(m.action, ".github", "action", name)}, args...)...)
}

// checkAndPlan runs the first step of the Action with inputs, given as pairs of a
// name and a value, and the step that plans. A step that fails ends it.
func (m *machine) checkAndPlan(pairs ...string) (code int, said string, steps []map[string]string) {
	m.t.Helper()
	action := readManifest(m.t)
	inputs := map[string]string{}
	for name, input := range action.Inputs {
		inputs[name] = input.Default
	}
	for n := 0; n+1 < len(pairs); n += 2 {
		if _, known := inputs[pairs[n]]; !known {
			m.t.Fatalf("action.yml has no input %s", pairs[n])
		}
		inputs[pairs[n]] = pairs[n+1]
	}
	inputs["github-token"] = m.token
	symphony := filepath.Join(m.home, "bin", "symphony")
	if _, err := os.Lstat(symphony); err != nil {
		err := os.MkdirAll(filepath.Dir(symphony), 0o755)
		if err == nil {
			err = os.Symlink(program(m.t), symphony)
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
	output := filepath.Join(m.home, "output")
	values := maps.Clone(inputs)
	for _, id := range []string{"check", "plan"} {
		i := slices.IndexFunc(action.Runs.Steps, func(s step) bool { return s.ID == id })
		s := action.Runs.Steps[i]
		env := []string{"SYMPHONY=" + symphony, "INPUT_DRY_RUN=" + values["dry-run"], "OPENAI_API_KEY=" + inputs["openai-api-key"]}
		for name := range s.Env {
			if value, ok := values[strings.ToLower(strings.ReplaceAll(name, "_", "-"))]; ok {
				env = append(env, name+"="+value)
			}
		}
		m.writeFile(output, "")
		code, said = m.runProgram(env, s.Shell, "-e", "-c", s.Run)
		steps = append(steps, readPairs(m.t, output))
		if code != 0 {
			break
		}
		maps.Copy(values, steps[0])
	}
	return code, said, steps
}

// manifest is action.yml.
type manifest struct {
	Inputs  map[string]struct{ Description, Default string }
	Outputs map[string]struct{ Description, Value string }
	Runs    struct{ Steps []step }
}

type step struct {
	Name, ID, If, Uses, Shell, Run string
	With, Env                      map[string]string
}

func readManifest(t testing.TB) manifest { return readManifestOf(t, "action.yml") }

// readManifestOf reads the action at a path from the root.
func readManifestOf(t testing.TB, path string) manifest {
	t.Helper()
	var m manifest
	if err := yaml.Unmarshal([]byte(readText(t, filepath.Join(root, path))), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// readPairs reads a file of outputs: name=value, or name<<END, lines, END.
func readPairs(t testing.TB, path string) map[string]string {
	t.Helper()
	pairs := map[string]string{}
	lines := strings.Split(readText(t, path), "\n")
	for len(lines) > 0 {
		line := lines[0]
		lines = lines[1:]
		if line == "" {
			continue
		}
		at := strings.IndexAny(line, "=<")
		if at < 0 {
			t.Fatalf("%s: not a pair: %q", path, line)
		}
		if line[at] == '=' {
			pairs[line[:at]] = line[at+1:]
			continue
		}
		end := slices.Index(lines, strings.TrimPrefix(line[at:], "<<"))
		if end < 0 {
			t.Fatalf("%s: no end of %q", path, line)
		}
		pairs[line[:at]] = strings.Join(lines[:end], "\n")
		lines = lines[end+1:]
	}
	return pairs
}

func readText(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
