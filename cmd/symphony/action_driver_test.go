package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/runner/store/storetest"
)

// What follows executes action.yml as GitHub's runner does: steps with their
// conditions, expressions, files of commands, outputs, and the signals of a
// cancelled job. Actions of others are stood in for by action_standin_test.go.

// manifest is action.yml.
type manifest struct {
	Inputs  map[string]struct{ Description, Default string }
	Outputs map[string]struct{ Description, Value string }
	Runs    struct{ Steps []step }
}

type step struct {
	Name, ID, If, Uses, Shell, Run string
	With, Env                      map[string]string
	ContinueOnError                bool `yaml:"continue-on-error"`
}

func readManifest(t testing.TB) manifest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := yaml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// job is one job with the Action as its only step.
type job struct {
	*machine
	run, attempt string
	inputs       map[string]string
	env          []string        // of the workflow
	ctx          context.Context // done: the job is cancelled

	contexts contexts
	steps    map[string]any // the context of that name
	masks    []string
	after    []func(*job) // post steps
	log      bytes.Buffer
	outcome  outcome
}

// outcome is what there is to see of a job afterwards.
type outcome struct {
	status      string            // success, failure, cancelled
	code        int               // exit status of the first step that failed
	steps       map[string]string // outcome by name
	outputs     map[string]string
	errors      []string // annotations, as "title: message"
	warnings    []string
	notices     []string
	summary     string
	log         string
	environment map[string]string // what the action leaves to later steps
}

// perform runs the Action to its end.
func (j *job) perform() outcome {
	j.t.Helper()
	j.emptyTemp()
	action := readManifest(j.t)
	j.steps = map[string]any{}
	j.outcome = outcome{status: "success", steps: map[string]string{}, outputs: map[string]string{}, environment: map[string]string{}}
	j.contexts = contexts{
		"github": j.github(),
		"inputs": map[string]any{},
		"runner": map[string]any{"os": j.os, "arch": j.arch, "temp": j.temp},
		"env":    map[string]any{},
		"job":    map[string]any{"status": "success"},
		"steps":  j.steps,
	}
	for _, entry := range j.env {
		name, value, _ := strings.Cut(entry, "=")
		j.contexts["env"].(map[string]any)[name] = value
	}
	given := maps.Clone(j.inputs)
	for name, input := range action.Inputs {
		value, ok := given[name]
		if !ok {
			value = j.fill(input.Default)
		}
		delete(given, name)
		j.contexts["inputs"].(map[string]any)[name] = value
	}
	if len(given) > 0 {
		j.t.Fatalf("action.yml has no inputs %v", slices.Collect(maps.Keys(given)))
	}
	j.tell("in_progress", "")
	for _, s := range action.Runs.Steps {
		j.step(s)
	}
	for name, output := range action.Outputs {
		j.outcome.outputs[name] = j.fill(output.Value)
	}
	for _, post := range slices.Backward(j.after) {
		post(j)
	}
	j.tell("completed", j.outcome.status)
	j.outcome.log = j.log.String()
	return j.outcome
}

// tell makes GitHub know how this run goes.
func (j *job) tell(status, conclusion string) {
	if j.hub == nil {
		return
	}
	id, err := strconv.ParseInt(j.run, 10, 64)
	if err != nil {
		j.t.Fatal(err)
	}
	j.hub.SetRun(storetest.Run{ID: id, Status: status, Conclusion: conclusion, Jobs: []storetest.Job{{Name: "tick", Status: status, Conclusion: conclusion}}})
}

func (j *job) fill(template string) string {
	j.t.Helper()
	text, err := j.contexts.text(template)
	if err != nil {
		j.t.Fatal(err)
	}
	return text
}

func (j *job) fillAll(templates map[string]string) map[string]string {
	filled := map[string]string{}
	for name, template := range templates {
		filled[name] = j.fill(template)
	}
	return filled
}

// step does one step, or skips it.
func (j *job) step(s step) {
	j.t.Helper()
	due, err := j.contexts.condition(s.If)
	if err != nil {
		j.t.Fatalf("%s: %v", s.Name, err)
	}
	result, outputs := "skipped", map[string]any{}
	if due {
		fmt.Fprintf(&j.log, "== %s\n", s.Name)
		code := 0
		if s.Uses != "" {
			code = j.use(s, outputs)
		} else {
			code = j.script(s, outputs)
		}
		switch {
		case j.ctx.Err() != nil && code != 0:
			result = "cancelled"
		case code != 0:
			result = "failure"
		default:
			result = "success"
		}
		if code != 0 && j.outcome.code == 0 && !s.ContinueOnError {
			j.outcome.code = code
		}
	}
	conclusion := result
	if result == "failure" && s.ContinueOnError {
		conclusion = "success"
	}
	switch {
	case j.ctx.Err() != nil:
		j.outcome.status = "cancelled"
	case conclusion == "failure":
		j.outcome.status = "failure"
	}
	j.contexts["job"].(map[string]any)["status"] = j.outcome.status
	j.outcome.steps[s.Name] = result
	if s.ID != "" {
		j.steps[s.ID] = map[string]any{"outcome": result, "conclusion": conclusion, "outputs": outputs}
	}
}

// script runs the text of a run: and returns its exit status.
func (j *job) script(s step, outputs map[string]any) int {
	j.t.Helper()
	file := filepath.Join(j.temp, "script.sh")
	j.writeFile(file, s.Run)
	var args []string
	switch s.Shell {
	case "sh":
		args = []string{"sh", "-e", file}
	case "bash":
		args = []string{"bash", "--noprofile", "--norc", "-eo", "pipefail", file}
	default:
		j.t.Fatalf("%s: shell %q", s.Name, s.Shell)
	}
	program := j.lookPath(args[0])
	if program == "" {
		j.annotate("error", "", args[0]+": command not found")
		return 127
	}
	files := map[string]string{}
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"} {
		files[name] = filepath.Join(j.temp, "command-file-"+strings.ToLower(name))
		j.writeFile(files[name], "")
	}
	cmd := exec.Command(program, args[1:]...)
	cmd.Dir = j.workspace
	cmd.Env = j.environ()
	for name, value := range files {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	for name, value := range j.fillAll(s.Env) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	code := j.start(cmd)

	for name, value := range readPairs(j.t, files["GITHUB_OUTPUT"]) {
		outputs[name] = value
	}
	for name, value := range readPairs(j.t, files["GITHUB_ENV"]) {
		j.outcome.environment[name] = value
	}
	if added := readText(j.t, files["GITHUB_PATH"]); added != "" {
		j.outcome.environment["PATH"] += added
	}
	j.outcome.summary += readText(j.t, files["GITHUB_STEP_SUMMARY"])
	return code
}

// start runs a command to its end. When the job is cancelled meanwhile, its first
// process gets SIGINT, SIGTERM 7.5 s later, and 2.5 s later everything is killed.
func (j *job) start(cmd *exec.Cmd) int {
	j.t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	ended := make(chan struct{})
	signalled := make(chan struct{})
	go func() {
		defer close(signalled)
		for _, next := range []struct {
			wait   time.Duration
			signal syscall.Signal
			pid    int
		}{{0, syscall.SIGINT, cmd.Process.Pid}, {7500 * time.Millisecond, syscall.SIGTERM, cmd.Process.Pid}, {2500 * time.Millisecond, syscall.SIGKILL, -cmd.Process.Pid}} {
			begin := j.ctx.Done()
			if next.wait > 0 {
				begin = closedAfter(next.wait)
			}
			select {
			case <-begin:
				_ = syscall.Kill(next.pid, next.signal) // it may just have ended
			case <-ended:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	<-signalled
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		j.t.Errorf("%v: %v", cmd, err)
	}
	j.hear(out.String())
	return cmd.ProcessState.ExitCode()
}

func closedAfter(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

// environ is what a step's processes inherit.
func (j *job) environ() []string {
	github := j.contexts["github"].(map[string]any)
	return slices.Concat([]string{
		"PATH=" + j.path, "HOME=" + j.home, "LANG=C.UTF-8", "CI=true", "GITHUB_ACTIONS=true",
		"RUNNER_OS=" + j.os, "RUNNER_ARCH=" + j.arch, "RUNNER_TEMP=" + j.temp, "NPM_CONFIG_REGISTRY=" + j.registry,
		"GITHUB_ACTION_PATH=" + j.action, "GITHUB_WORKSPACE=" + j.workspace,
		"GITHUB_RUN_ID=" + j.run, "GITHUB_RUN_ATTEMPT=" + j.attempt, "GITHUB_JOB=tick",
		"GITHUB_REPOSITORY=" + stringOf(github["repository"]), "GITHUB_SERVER_URL=" + stringOf(github["server_url"]),
		"GITHUB_API_URL=" + stringOf(github["api_url"]), "GITHUB_EVENT_NAME=" + stringOf(github["event_name"]),
		"GITHUB_EVENT_PATH=" + j.event, "GITHUB_REF_NAME=main", "GITHUB_REF=refs/heads/main",
		"GITHUB_WORKFLOW_REF=" + j.repository + "/" + workflowFile + "@refs/heads/main",
	}, j.env)
}

// github is the context of that name.
func (j *job) github() map[string]any {
	return map[string]any{
		"token": j.token, "repository": j.repository, "server_url": j.server, "api_url": j.api,
		"action_ref": j.ref, "action_repository": j.actionRepository, "event_name": cmp.Or(j.eventName, "schedule"),
		"run_id": j.run, "run_attempt": j.attempt,
	}
}
