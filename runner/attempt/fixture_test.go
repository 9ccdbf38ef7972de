package attempt

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/file"
	"github.com/symphony-runner/symphony/workspace"
)

const (
	forever   = time.Hour // a test that waits for it hangs, and shows where
	issueName = "ABC-1"
)

// patient is a grace period so long that only an agent that exits by itself lets a
// test end in time; impatient suits agents that ignore everything except SIGKILL.
var (
	patient   = workspace.Grace{EOF: forever, Term: forever, Kill: 20 * time.Second}
	impatient = workspace.Grace{EOF: 50 * time.Millisecond, Term: 50 * time.Millisecond, Kill: 20 * time.Second}
)

// fixture holds everything that an attempt needs: an issue in a folder, workspaces, and the
// scripted agent, which does what the issue says. Change job, hooks, grace and
// onUpdate before the first run.
type fixture struct {
	t           testing.TB
	dir         string // holds all other folders
	job         Job
	hooks       workspace.Hooks
	grace       workspace.Grace
	onUpdate    func(Update) // called for each update
	said        string       // the agent's last message in the latest run, which run takes out of the outcome
	logs        string       // the folder of the event logs; empty for none
	whole       bool         // they have everything
	foreign     bool         // their folder may be a trap
	tools       string       // a folder on PATH before all others; empty for none
	environment []string     // of the program, besides PATH and HOME

	updates  []Update // of the last run
	returned bool     // whether the last run has returned
	log      *logBuffer
	runs     int
}

// newFixture returns a fixture whose issue is the script. Its hooks and its agent
// leave a trace when they are started.
func newFixture(t testing.TB, script string) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir(), grace: patient, onUpdate: func(Update) {}, log: &logBuffer{}}
	f.logs = f.path("logs")
	for _, name := range []string{"issues", "home"} {
		if err := os.Mkdir(filepath.Join(f.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f.hooks = workspace.Hooks{
		AfterCreate: f.trace("after_create"), BeforeRun: f.trace("before_run"), AfterRun: f.trace("after_run"),
		Timeout: forever,
	}
	log := slog.New(slog.NewJSONHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	adapter, err := (&file.Config{Path: f.path("issues")}).Open(tracker.Options{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.job = Job{
		MaxTurns: 1, Tracker: adapter, Version: "1", Log: log,
		Codex: codex.Config{
			Command:     "echo $$ > " + quote(f.path("agent.pid")) + "\n" + f.trace("agent") + "\n" + f.agent(),
			ReadTimeout: time.Minute, TurnTimeout: forever,
		},
		Policy: schedule.Policy{ActiveStates: []string{"Todo", "In Progress"}, TerminalStates: []string{"Done"}},
	}
	f.setScript(script)
	return f
}

// setScript makes the script the text of the issue.
func (f *fixture) setScript(script string) {
	f.t.Helper()
	if err := os.WriteFile(f.issueFile(), []byte("---\ntitle: A title\nstate: Todo\n---\n"+script), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.job.Issue = *f.readIssue()
}

// agent returns the command that becomes the scripted agent. A program built with
// the race detector sleeps for a second before it exits, unless GORACE says
// otherwise.
func (f *fixture) agent() string {
	return "export GORACE=atexit_sleep_ms=0; exec " + quote(os.Args[0]) + " agent " + quote(f.path("home"))
}

// trace returns a command that leaves a trace.
func (f *fixture) trace(name string) string {
	return "echo " + name + " >> " + quote(f.path("order"))
}

// traces returns what was started, in order.
func (f *fixture) traces() []string {
	f.t.Helper()
	return strings.Fields(f.readText(f.path("order")))
}

func (f *fixture) path(names ...string) string {
	return filepath.Join(append([]string{f.dir}, names...)...)
}

func (f *fixture) issueFile() string { return f.path("issues", issueName+".md") }

// inWorkspace returns a path in the workspace of the issue.
func (f *fixture) inWorkspace(name string) string { return f.path("root", issueName, name) }

// readIssue returns the issue as it is now; nil when it is gone.
func (f *fixture) readIssue() *tracker.Issue {
	f.t.Helper()
	issues, err := f.job.Tracker.IssuesByID(f.t.Context(), []tracker.ID{issueName})
	if err != nil {
		f.t.Fatal(err)
	}
	if len(issues) == 0 {
		return nil
	}
	return &issues[0]
}

// openWorkspaces opens the workspaces of the job.
func (f *fixture) openWorkspaces() {
	f.t.Helper()
	if f.job.Workspaces == nil {
		root, err := workspace.Open(workspace.Config{Root: f.path("root"), Hooks: f.hooks},
			workspace.Env{Parent: append([]string{"PATH=" + strings.TrimPrefix(f.tools+":"+os.Getenv("PATH"), ":"), "HOME=" + f.path("home")}, f.environment...)}, f.job.Log)
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() { root.Close() })
		root.Grace = f.grace
		f.job.Workspaces = root
	}
}

// run makes the attempt. Its updates are appended without a lock, so that the race
// detector sees whether they come one at a time.
func (f *fixture) run(ctx context.Context) schedule.Outcome {
	f.t.Helper()
	f.openWorkspaces()
	f.updates, f.returned = nil, false
	f.job.EventLog = f.openLog()
	outcome := Run(ctx, f.job, func(u Update) {
		if f.returned {
			f.t.Errorf("an update after the end: %+v", u)
		}
		f.updates = append(f.updates, u)
		f.onUpdate(u)
	})
	f.returned = true
	outcome = f.job.EventLog.End(outcome)
	f.said, outcome.Said = outcome.Said, ""
	if pid, started := f.readPID("agent.pid"); started {
		f.assertDead(pid)
	}
	if outcome.Class == schedule.Done && outcome.Why != "" || strings.ContainsAny(outcome.Why, "\n\r\t") {
		f.t.Errorf("%s because of %q", outcome.Class, outcome.Why)
	}
	return outcome
}

// stopWhen stops the attempt for a cause as soon as the agent has said word. It
// returns the context for run.
func (f *fixture) stopWhen(word string, cause schedule.Reason) context.Context {
	ctx, cancel := context.WithCancelCause(f.t.Context())
	f.onUpdate = func(u Update) {
		if u.Summary == word {
			cancel(schedule.StopError(cause))
		}
	}
	return ctx
}

// readPID reads the process id in a file, and reports whether the file exists.
func (f *fixture) readPID(name string) (pid int, started bool) {
	f.t.Helper()
	text, err := os.ReadFile(f.path(name))
	if err != nil {
		return 0, false
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		f.t.Fatalf("%s is no process id: %q", name, text)
	}
	return pid, true
}

// assertDead fails the test if a process exists, also as a zombie.
func (f *fixture) assertDead(pid int) {
	f.t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		f.t.Errorf("process %d is still there (%v)", pid, err)
	}
}

// readText returns the content of a file; empty when there is none.
func (f *fixture) readText(path string) string {
	f.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.t.Fatal(err)
	}
	return string(text)
}

// fifo makes a named pipe: opening it at one end waits for the other.
func (f *fixture) fifo(name string) string {
	f.t.Helper()
	path := f.path(name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

// eventLogLine is a line of the event log as other programs read it.
type eventLogLine struct {
	Millis  *int64         `json:"t_ms"`
	Dir     string         `json:"dir"`
	Msg     any            `json:"msg"`
	Omitted int            `json:"omitted_bytes"`
	Event   map[string]any `json:"event"`

	Session *transcript.Session `json:"session"`
	Hook    *transcript.Hook    `json:"hook"`
	Outcome *transcript.Outcome `json:"outcome"`
}

// wire returns the lines of messages.
func (f *fixture) wire() []eventLogLine {
	return slices.DeleteFunc(f.readEventLog(), func(l eventLogLine) bool { return l.Dir == "" })
}

// hooksLogged returns the hooks in the event logs.
func (f *fixture) hooksLogged() (all []transcript.Hook) {
	for _, l := range f.readEventLog() {
		if l.Hook != nil {
			l.Hook.Millis = 0
			all = append(all, *l.Hook)
		}
	}
	return all
}

// openLog opens the event log of the next run.
func (f *fixture) openLog() *EventLog {
	if f.logs == "" {
		return nil
	}
	f.runs++
	began := time.Now()
	return OpenEventLog(LogOptions{
		Folder: f.logs, Name: transcript.Name(issueName, began, f.runs), Whole: f.whole, Foreign: f.foreign, Redact: f.job.Redact, Log: f.job.Log,
		Session: transcript.Session{Began: began, IssueID: string(f.job.Issue.ID), Identifier: f.job.Issue.Identifier, Number: f.runs},
	})
}

// logFile returns the path of the only event log.
func (f *fixture) logFile() string {
	f.t.Helper()
	files, err := transcript.List(os.DirFS(f.logs))
	if err != nil || len(files) != 1 {
		f.t.Fatalf("%v (%v)", files, err)
	}
	return filepath.Join(f.logs, files[0].Path)
}

// readLog returns the text of the event logs.
func (f *fixture) readLog() string {
	f.t.Helper()
	files, err := transcript.List(os.DirFS(f.logs))
	if err != nil {
		f.t.Fatal(err)
	}
	text := ""
	for _, file := range files {
		text += f.readText(filepath.Join(f.logs, file.Path))
	}
	return text
}

// readEventLog returns the lines of the event logs.
func (f *fixture) readEventLog() []eventLogLine {
	f.t.Helper()
	var all []eventLogLine
	lines := bufio.NewScanner(strings.NewReader(f.readLog()))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var k eventLogLine
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&k); err != nil || decoder.More() || k.Millis == nil || *k.Millis < 0 {
			f.t.Fatalf("no line of an event log: %v: %s", err, lines.Text())
		}
		all = append(all, k)
	}
	if lines.Err() != nil {
		f.t.Fatal(lines.Err())
	}
	return all
}

// agentRequest is a request to start a turn or a thread.
type agentRequest struct{ Thread, Text string }

// requests returns the requests of a method in the event log.
func (f *fixture) requests(method string) []agentRequest {
	f.t.Helper()
	var all []agentRequest
	for _, k := range f.readEventLog() {
		m, _ := k.Msg.(map[string]any)
		if k.Dir != ">" || m["method"] != method {
			continue
		}
		params, _ := m["params"].(map[string]any)
		a := agentRequest{}
		a.Thread, _ = params["threadId"].(string)
		if input, _ := params["input"].([]any); len(input) == 1 {
			a.Text, _ = input[0].(map[string]any)["text"].(string)
		}
		all = append(all, a)
	}
	return all
}

// logBuffer collects what a logger writes.
type logBuffer struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (j *logBuffer) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.bytes.Write(b)
}

// logged counts the lines of the log that have a level and contain all words.
func (f *fixture) logged(level slog.Level, words ...string) int {
	f.log.mu.Lock()
	defer f.log.mu.Unlock()
	n := 0
lines:
	for line := range strings.Lines(f.log.bytes.String()) {
		for _, word := range append(words, `"level":"`+level.String()+`"`) {
			if !strings.Contains(line, word) {
				continue lines
			}
		}
		n++
	}
	return n
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// scriptedUsage returns tokens of the scripted agent's model.
func scriptedUsage(input, output int64) schedule.Usage {
	u := schedule.TariffUsage{Tariff: schedule.Tariff{Model: "scripted"}, Input: input, Output: output}
	return schedule.Usage{Input: input, Output: output, Tariffs: schedule.Tariffs{u}}
}
