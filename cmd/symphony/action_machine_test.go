package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/store/storetest"
)

// machine is what jobs of one repository run on and leave things in: the
// checkout, the cache, the artifacts, and the releases of this action.
type machine struct {
	*project  // the checkout
	workspace string
	home      string // of the runner's user
	tools     string // the folder that is first on PATH, also of login shells
	path      string
	temp      string // RUNNER_TEMP, emptied for each job
	os, arch  string
	action    string // folder of the action
	event     string // file with the event

	repository, api, token string
	server                 string // address of the GitHub, or what is in its place
	registry               string // address of npm's registry
	eventName              string
	ref, actionRepository  string // how the workflow names the action
	releases               *releases
	hub                    *storetest.Hub // nil: there is no GitHub

	cache     []entry
	artifacts map[string][]string
	uses      []string // actions of others that were used, in order
	runs      int
}

// workflowFile is the file of the workflow in the checkout.
const workflowFile = ".github/workflows/symphony.yml"

// newMachine is a Linux runner. Its checkout has the sample issues of
// testdata/action with the agent of this program.
func newMachine(t testing.TB) *machine {
	t.Helper()
	p := emptyProject(t)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{
		project: p, workspace: p.dir, home: t.TempDir(), os: "Linux", arch: "X64", action: root,
		repository: "octo/state-keeper", server: "https://github.com", registry: testRegistry, api: "http://127.0.0.1:1", token: "ghs_0123456789abcdefghij",
		ref: "v1", actionRepository: "symphony-runner/symphony", releases: newReleases(t), artifacts: map[string][]string{},
	}
	if runtime.GOOS == "darwin" {
		m.os = "macOS"
	}
	if runtime.GOARCH == "arm64" {
		m.arch = "ARM64"
	}
	m.temp = filepath.Join(m.home, "_temp")
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
	m.sample()
	return m
}

// sample puts the sample issues into the checkout.
func (m *machine) sample() {
	m.t.Helper()
	folder := filepath.Join("testdata", "action", "sample")
	if err := os.CopyFS(m.dir, os.DirFS(folder)); err != nil {
		m.t.Fatal(err)
	}
	m.replace("AGENT", mustJSON(m.t, m.agent()))
	m.write(workflowFile, "concurrency: symphony\njobs:\n  tick:\n    timeout-minutes: 30\n")
}

// issues makes these the only issues there are.
func (m *machine) issues(texts map[string]string) {
	m.t.Helper()
	if err := os.RemoveAll(filepath.Join(m.dir, "issues")); err != nil {
		m.t.Fatal(err)
	}
	for name, text := range texts {
		m.write("issues/"+name+".md", strings.ReplaceAll(text, "§", "`"))
	}
}

func (m *machine) emptyTemp() {
	m.t.Helper()
	if err := os.RemoveAll(m.temp); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Mkdir(m.temp, 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// agent is the command of the scripted agent. Its threads are kept where those of
// Codex are.
func (m *machine) agent() string {
	return scripted(m.t, filepath.Join(m.dir, ".symphony", "codex", "scripted"))
}

// job is the next run of the workflow; pairs are inputs and their values.
func (m *machine) job(pairs ...string) *job {
	m.t.Helper()
	inputs := map[string]string{}
	for n := 0; n+1 < len(pairs); n += 2 {
		inputs[pairs[n]] = pairs[n+1]
	}
	m.runs++
	return &job{machine: m, run: fmt.Sprint(100 + m.runs), attempt: "1", inputs: inputs, ctx: m.t.Context()}
}

// fresh makes the machine a new one, as a hosted runner is: of what the Action
// left, there is only what is somewhere else.
func (m *machine) fresh() {
	m.t.Helper()
	if err := os.RemoveAll(filepath.Join(m.dir, ".symphony")); err != nil {
		m.t.Fatal(err)
	}
}

// stub is a program of the runner.
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

// posix are the programs that a runner without anything still has.
var posix = []string{"sh", "tr", "sed", "grep", "mktemp", "cut", "cksum", "mkdir", "cat", "awk", "sort", "tail", "rm", "find", "xargs"}

// logged is what a stub wrote down.
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

func (m *machine) lookPath(program string) string {
	for _, folder := range filepath.SplitList(m.path) {
		if info, err := os.Stat(filepath.Join(folder, program)); err == nil && !info.IsDir() {
			return filepath.Join(folder, program)
		}
	}
	return ""
}

func (m *machine) program(name string, args ...string) (string, error) {
	out, err := exec.CommandContext(context.WithoutCancel(m.t.Context()), name, args...).CombinedOutput()
	return string(out), err
}
