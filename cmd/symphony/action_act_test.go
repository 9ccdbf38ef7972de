package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/storetest"
)

// job is one run of a workflow that uses the Action. act performs it, which reads
// workflows and action.yml with code of its own.
type job struct {
	*machine
	run           string
	runAttempt    int // 0 is the first
	inputs        map[string]string
	env           []string    // of the job
	start         []string    // arguments of act: the event and its inputs; nil is a schedule with the event of the machine
	workflow      string      // a user's workflow, with the Action as the step symphony; empty: one with the inputs
	interruptWhen func() bool // when to interrupt the step Run as a cancelled job does, of which act may not print the end; nil is never
}

// outcome is what there is to see of a job afterwards.
type outcome struct {
	status      string            // success or failure
	code        int               // exit status of the first step that failed
	steps       map[string]string // success, failure or skipped, by name
	outputs     map[string]string
	errors      []string // annotations, as "title: message"
	warnings    []string
	notices     []string
	summary     string
	log         string // what the steps printed
	transcript  string // what act printed
	stateBranch bool   // whether there is one now
}

// job returns the next run of the workflow; pairs are inputs and their values.
func (m *machine) job(pairs ...string) *job {
	m.t.Helper()
	inputs := map[string]string{}
	for n := 0; n+1 < len(pairs); n += 2 {
		inputs[pairs[n]] = pairs[n+1]
	}
	m.runs++
	return &job{machine: m, run: fmt.Sprint(100 + m.runs), inputs: inputs}
}

// keepStep keeps for the test what a job leaves: the outputs, and the issues as a
// step that commits them does.
const keepStep = `      - if: always()
        run: |
          printf '%s' "$OUTPUTS" >"$KEEP/outputs.json"
          rm -rf "$KEEP/issues" && cp -R issues "$KEEP/issues"
        env:
          OUTPUTS: ${{ toJSON(steps.symphony.outputs) }}
`

// text returns the workflow file of the job.
func (j *job) text() string {
	if j.workflow != "" {
		return j.workflow + keepStep
	}
	with := ""
	for _, name := range slices.Sorted(maps.Keys(j.inputs)) {
		with += fmt.Sprintf("          %s: %s\n", name, mustJSON(j.t, j.inputs[name]))
	}
	if with != "" {
		with = "        with:\n" + with
	}
	return "on: [schedule, issue_comment, pull_request_review]\nconcurrency: symphony\njobs:\n  tick:\n    runs-on: ubuntu-latest\n    timeout-minutes: 30\n    steps:\n" +
		"      - uses: actions/checkout@v7\n      - id: symphony\n        " + ownUse + "\n" + with + keepStep
}

// perform runs the job to its end.
func (j *job) perform() outcome {
	t := j.t
	t.Helper()
	j.write(workflowFile, j.text())
	j.checkOut()
	kept := filepath.Join(j.home, "kept")
	if err := os.MkdirAll(kept, 0o755); err != nil {
		t.Fatal(err)
	}
	j.tell("in_progress", "")
	printed := j.act(kept)
	o := readOutcome(t, printed)
	j.tell("completed", o.status)
	if text, err := os.ReadFile(filepath.Join(kept, "outputs.json")); err != nil {
		t.Fatalf("no outputs: %v\n%s", err, printed)
	} else if err := json.Unmarshal(text, &o.outputs); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(j.dir, "issues")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(kept, "issues"), filepath.Join(j.dir, "issues")); err != nil {
		t.Fatal(err)
	}
	if j.hub != nil {
		_, o.stateBranch = j.hub.File("symphony-state", "state.json")
	}
	return o
}

// act runs the workflow in the checkout with act, to its end, and returns what act
// printed.
func (j *job) act(kept string) []byte {
	t := j.t
	t.Helper()
	act := os.Getenv("SYMPHONY_TEST_ACT")
	if act == "" {
		t.Skip("no act: go install github.com/nektos/act@v0.2.89, and set SYMPHONY_TEST_ACT to its absolute path")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no node, which the stand-ins for GitHub's actions are written for")
	}
	cmd := exec.CommandContext(t.Context(), act, j.arguments(kept)...)
	cmd.Dir = j.dir
	var out shellSession
	path := j.path
	if j.interruptWhen == nil {
		var shells string
		shells, out.resume = j.waitingShells()
		path = shells + ":" + path
	}
	cmd.Env = []string{"PATH=" + path, "HOME=" + j.home, "XDG_CONFIG_HOME=" + j.home, "XDG_CACHE_HOME=" + filepath.Join(j.home, "xdg-cache"), "TMPDIR=" + t.TempDir()}
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	interrupted := make(chan error, 1)
	go func() { interrupted <- j.interrupt(cmd.Process.Pid) }()
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err := <-interrupted; err != nil {
		t.Error(err)
	}
	return out.text.Bytes()
}

// arguments returns the command line of act.
func (j *job) arguments(kept string) []string {
	j.t.Helper()
	shims, err := filepath.Abs(filepath.Join("testdata", "action", "act"))
	if err != nil {
		j.t.Fatal(err)
	}
	j.writeFile(filepath.Join(j.home, "act", "actrc"), "") // without it, act asks which image to take
	start := j.start
	if start == nil {
		start = []string{"schedule", "--eventpath", j.event}
	}
	// One job at a time: with more, act 0.2.89 can end with "concurrent map writes", since its
	// jobs share the table of local repositories.
	args := slices.Concat(start, []string{"--json", "--concurrent-jobs", "1", "-P", "ubuntu-latest=-self-hosted", "-P", "ubuntu-24.04=-self-hosted",
		"--cache-server-path", filepath.Join(j.home, "cache-server"), "--cache-server-addr", "127.0.0.1", "--artifact-server-addr", "127.0.0.1",
		"--action-cache-path", filepath.Join(j.home, "actions"), "--local-repository", "symphony-runner/symphony@v1=" + j.action,
		"-s", "GITHUB_TOKEN=" + j.token})
	// The workflow may call another one; there is one version of all actions.
	if pin := checkoutPin().FindString(j.workflow + readText(j.t, fleetFile)); pin != "" {
		args = append(args, "--local-repository", pin+"="+filepath.Join(shims, "checkout"))
	}
	for name, folder := range map[string]string{"actions/cache": ".", "actions/setup-go": ".", "actions/upload-artifact": "upload", "actions/download-artifact": "download"} {
		args = append(args, "--local-repository", pinned(j.t, name)+"="+filepath.Join(shims, folder))
	}
	for _, entry := range slices.Concat([]string{
		"GITHUB_API_URL=" + j.api, "GITHUB_SERVER_URL=" + j.server, "GITHUB_RUN_ID=" + j.run, fmt.Sprintf("GITHUB_RUN_ATTEMPT=%d", max(j.runAttempt, 1)),
		"GITHUB_WORKFLOW_REF=" + j.repository + "/" + workflowFile + "@refs/heads/main",
		"NPM_CONFIG_REGISTRY=" + j.registry, "ACT_STORE=" + j.store(), "KEEP=" + kept, "CHECKOUT=" + j.dir,
	}, j.jobEnv, j.env) {
		args = append(args, "--env", entry)
	}
	return args
}

// checkOut makes the project a repository, if it is none.
func (m *machine) checkOut() {
	m.t.Helper()
	if m.action == repositoryRoot(m.t) {
		m.ownCopy()
	}
	if _, err := os.Stat(filepath.Join(m.dir, ".git")); err == nil {
		return
	}
	runGit(m.t, m.dir, "init", "--quiet", "--initial-branch=main")
	runGit(m.t, m.dir, "add", ".")
	runGit(m.t, m.dir, "commit", "--quiet", "--message", "All")
	runGit(m.t, m.dir, "remote", "add", "origin", "https://github.com/"+m.repository)
}

// tell sets the state of this run at GitHub.
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

// interrupt sends SIGINT to the first process of the step Run, and to no other, as
// GitHub's runner does when a job is cancelled.
func (j *job) interrupt(act int) error {
	if j.interruptWhen == nil {
		return nil
	}
	if !poll(j.interruptWhen) {
		return errors.New("waited in vain to interrupt the run")
	}
	list, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,args=").Output()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || !strings.HasPrefix(fields[2], j.home) || !strings.Contains(line, " --report ") {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		if err != nil {
			return err
		}
		if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
			return err
		}
		if fields[1] != strconv.Itoa(act) {
			return errors.New("symphony is not the first process of the step Run: GitHub's runner would not signal it")
		}
		return nil
	}
	return errors.New("the step Run has no process")
}

var (
	stepEnd  = regexp.MustCompile(`(Success|Failure) - Main (.*?)( \[[^]]*\])?$`)
	exitCode = regexp.MustCompile(`^exit status (\d+)$`)
)

// readOutcome reads what act printed, a JSON document on each line.
func readOutcome(t testing.TB, printed []byte) outcome {
	t.Helper()
	o := outcome{status: "success", steps: map[string]string{}, transcript: string(printed)}
	for _, s := range readManifest(t).Runs.Steps {
		o.steps[s.Name] = "skipped"
	}
	lines := bufio.NewScanner(bytes.NewReader(printed))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Msg, Command, Arg, StepResult string
			Raw                           bool `json:"raw_output"`
			StepID                        []string
			Content                       string
			KVPairs                       map[string]string
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue // what act prints before the job begins
		}
		text := strings.TrimPrefix(line.KVPairs["title"]+": "+line.Arg, ": ")
		switch {
		case line.Command == "error":
			o.errors = append(o.errors, text)
		case line.Command == "warning":
			o.warnings = append(o.warnings, text)
		case line.Command == "notice":
			o.notices = append(o.notices, text)
		case line.Command == "summary":
			_, summary, _ := strings.Cut(line.Msg, "Summary - ")
			o.summary += summary
		case line.Raw:
			o.log += line.Msg
		}
		if parts := exitCode.FindStringSubmatch(line.Msg); parts != nil && o.code == 0 {
			o.code, _ = strconv.Atoi(parts[1])
		}
		if parts := stepEnd.FindStringSubmatch(line.Msg); parts != nil && line.StepResult != "" {
			if len(line.StepID) == 2 {
				o.steps[parts[2]] = strings.ToLower(parts[1])
			} else if parts[1] == "Failure" {
				o.status = "failure"
			}
		}
	}
	return o
}

// want compares the status and outputs, given as pairs of a name and a value.
func (o outcome) want(t testing.TB, status string, outputs ...string) {
	t.Helper()
	good := o.status == status
	for n := 0; n+1 < len(outputs); n += 2 {
		if got := o.outputs[outputs[n]]; got != outputs[n+1] {
			t.Errorf("output %s is %q, want %q", outputs[n], got, outputs[n+1])
			good = false
		}
	}
	if !good {
		t.Fatalf("the job ended with %s, want %s; steps %v, outputs %v, errors %q, warnings %q\n%s",
			o.status, status, o.steps, o.outputs, o.errors, o.warnings, cmp.Or(o.log, o.transcript))
	}
}

// store returns the folder with the caches and artifacts of all jobs.
func (m *machine) store() string { return filepath.Join(m.home, "store") }

// stored returns the names of the caches and artifacts that match a pattern.
func (m *machine) stored(pattern string) []string {
	m.t.Helper()
	names, err := filepath.Glob(filepath.Join(m.store(), pattern))
	if err != nil {
		m.t.Fatal(err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	return names
}

// pinned returns the repository of an action at the commit that our actions name.
func pinned(t testing.TB, name string) string {
	t.Helper()
	for _, s := range slices.Concat(readManifest(t).Runs.Steps, readManifestOf(t, fleetAction).Runs.Steps) {
		if action, commit, _ := strings.Cut(s.Uses, "@"); action == name || strings.HasPrefix(action, name+"/") {
			return name + "@" + commit
		}
	}
	t.Fatalf("no action uses %s", name)
	return ""
}

// checkoutPin matches the actions/checkout of a user's workflow.
var checkoutPin = lazy.Regexp(`actions/checkout@[0-9a-f]{40}`)
