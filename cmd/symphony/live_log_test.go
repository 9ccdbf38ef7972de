package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex/codextest"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
)

// liveTest is a session whose event log a test writes, and the log that shows it.
type liveTest struct {
	t     *testing.T
	live  *liveLog
	start runner.SessionStart
	end   func(runner.SessionLog)
	log   *os.File // the event log
}

// shownLog is a log that a test reads while it is written.
type shownLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *shownLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// take returns what was written since it was called last.
func (l *shownLog) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// newLiveTest returns a session on an issue that has not begun. The log is w, or inside
// Actions that of the job. It is called in a bubble.
func newLiveTest(t *testing.T, a *app, w io.Writer, identifier string) *liveTest {
	t.Helper()
	if a.actions.InActions() {
		w = a.stdout
	}
	folder := filepath.Join(t.TempDir(), "logs")
	name := transcript.Name("A-1", time.Now(), 3)
	s := &liveTest{t: t, live: (&tickCommand{app: a, logs: folder}).newLiveLog(&console{out: w}, "/project/WORKFLOW.md")}
	s.start = runner.SessionStart{
		Claim: schedule.Claim{ID: "1", Identifier: identifier, Title: "Say hello", Attempt: 1, Sessions: 3}, Branch: "symphony/A-1", File: filepath.Join(folder, name),
	}
	return s
}

// begin begins the session, and makes its event log.
func (s *liveTest) begin() *liveTest {
	s.t.Helper()
	s.end = s.live.begin(s.start)
	synctest.Wait() // there is no event log yet
	folder, key := filepath.Split(filepath.Dir(s.start.File))
	log, err := transcript.Create(folder, filepath.Join(key, filepath.Base(s.start.File)))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { log.Close() })
	s.log = log
	return s
}

// write writes lines of the event log, and lets them be shown.
func (s *liveTest) write(lines ...string) {
	s.t.Helper()
	if _, err := s.log.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		s.t.Fatal(err)
	}
	s.pass(followEvery)
}

// pass lets time pass.
func (s *liveTest) pass(d time.Duration) {
	time.Sleep(d) // of the bubble
	synctest.Wait()
}

// close ends the session and the run.
func (s *liveTest) close() {
	s.end(runner.SessionLog{
		Claim: s.start.Claim, Took: 90 * time.Second, File: s.start.File,
		Outcome: schedule.Outcome{Class: schedule.Done, Turns: 1, Usage: schedule.Usage{Input: 1200, Output: 34}, Warnings: []string{"the hook\nfailed"}},
	})
	s.live.close()
}

// itemLine returns a line of an event log in which an item begins or ends.
func itemLine(event, item string) string {
	return fmt.Sprintf(`{"t_ms":1000,"dir":"<","msg":{"method":"item/%s","params":{"item":{"id":"1",%s}}}}`, event, item)
}

func messageLine(text string) string {
	quoted, _ := json.Marshal(text)
	return itemLine("completed", `"type":"agentMessage","text":`+string(quoted))
}

func TestALogShowsWhatASessionDoesWhileItDoesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out shownLog
		s := newLiveTest(t, fleetApp(nil), &out, "A-1").begin()
		shows := func(want ...string) {
			t.Helper()
			if diff := cmp.Diff(strings.Join(want, "\n"), strings.TrimSuffix(out.take(), "\n")); diff != "" {
				t.Fatalf("-want +got:\n%s", diff)
			}
		}
		shows("A-1 | session 3 begins: Say hello (attempt 2, branch symphony/A-1)")
		s.write(messageLine("I look around.\n\nThen I build."))
		shows("A-1 | message: I look around.", "A-1 |   Then I build.")
		s.write(`{"t_ms":1000,"dir":"<","msg":{"method":"item/commandExecution/outputDelta","params":{"delta":"half"}}}`)
		s.write(itemLine("started", `"type":"commandExecution","command":"make"`))
		shows("")
		s.pass(10 * quietTime)
		shows("A-1 | … running `make`")
		s.write(itemLine("completed", `"type":"commandExecution","command":"make","aggregatedOutput":"built\n","exitCode":0,"durationMs":2000`))
		shows("A-1 | $ make  (exit status 0, 2s)", "A-1 |   built")
		if _, err := s.log.WriteString(messageLine("Done.") + "\n" + `{"t_ms":9,"outcome":{"class":"done"}}` + "\n"); err != nil {
			t.Fatal(err)
		}
		s.close()
		shows("A-1 | message: Done.", "A-1 | session ended: completed · turns: 1 · tokens: 1.2k · 1m30s", "A-1 |   the hook failed")
	})
}

func TestASessionWithoutAnEventLogIsShownByItsBeginningAndItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out shownLog
		s := newLiveTest(t, fleetApp(nil), &out, "A-1")
		s.start.Branch, s.start.Workspace = "", "/workspaces/A-1"
		s.end = s.live.begin(s.start)
		s.pass(time.Minute)
		s.close()
		if got := out.take(); strings.Count(got, "\n") != 3 || !strings.Contains(got, "begins: Say hello (attempt 2, workspace /workspaces/A-1)\n") || !strings.Contains(got, "| session ended: completed") {
			t.Errorf("%s", got)
		}
	})
}

func TestAFloodDoesNotFillTheLog(t *testing.T) {
	for name, flood := range map[string]struct {
		times int
		lines string
	}{
		"messages":      {10_000, messageLine("x")},
		"long messages": {100, messageLine(strings.Repeat(strings.Repeat("é", 300)+"\n", 40))},
		"notices":       {600, `{"t_ms":1,"event":{"Kind":"malformed","Summary":"one"}}` + "\n" + `{"t_ms":1,"event":{"Kind":"malformed","Summary":"two"}}`},
		"commands":      {200, itemLine("completed", `"type":"commandExecution","command":"c","aggregatedOutput":"1\n2\n3\n4\n5\n6\n7\n8"`)},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out shownLog
			s := newLiveTest(t, fleetApp(nil), &out, "A-1").begin()
			s.write(strings.Repeat(flood.lines+"\n", flood.times))
			s.close()
			got := out.take()
			if lines := strings.Count(got, "\n"); lines > 1005 || lines < 100 || len(got) > 129<<10 {
				t.Errorf("%s: %d lines, %d bytes", name, lines, len(got))
			}
			if !strings.Contains(got, " too much to show here: the rest is in symphony log --logs ") || !strings.Contains(got, "| session ended: completed") || strings.Contains(got, strings.Repeat("é", 201)) {
				t.Errorf("%s: the end is %s", name, got[max(0, len(got)-500):])
			}
		})
	}
}

func TestTheLogSaysWhereTheRestOfASessionIs(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		want    string
	}{
		"outside Actions": {nil, "symphony log --logs /scratch/logs A-1 /project/WORKFLOW.md"},
		"an artifact":     {[]string{"GITHUB_ACTIONS=true", "SYMPHONY_ARTIFACT=symphony-shard-7"}, "logs/A-1/1.html of the artifact symphony-shard-7"},
		"no artifact":     {[]string{"GITHUB_ACTIONS=true"}, "its event log, which this job does not upload"},
	} {
		live := (&tickCommand{app: fleetApp(nil, c.environ...), logs: "/scratch/logs"}).newLiveLog(&console{out: io.Discard}, "/project/WORKFLOW.md")
		if got := live.restOf(runner.SessionStart{Claim: schedule.Claim{Identifier: "A-1"}, File: "/scratch/logs/A-1/1.jsonl"}); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The reader of the log may stop reading, as a terminal does on Control-S.
func TestASessionDoesNotWaitForTheReaderOfItsLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, w := io.Pipe() // a write waits for its reader
		s := newLiveTest(t, fleetApp(nil), w, "A-1").begin()
		s.write(messageLine("hello"), messageLine("good bye"))
		began := time.Now()
		s.close()
		if took := time.Since(began); took != liveEndTime {
			t.Errorf("the end of the run waited %v", took)
		}
		w.Close()
		read.Close()
	})
}

// A pager or a stopped terminal does not read on, and the kernel keeps 64 KiB for it.
func TestAShardWorksWhileNobodyReadsItsLog(t *testing.T) {
	t.Parallel()
	unread, log, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	defer log.Close()
	pipe, err := log.SyscallConn()
	if err == nil {
		err = pipe.Write(func(fd uintptr) (full bool) {
			for err == nil {
				_, err = syscall.Write(int(fd), make([]byte, 4<<10))
			}
			return true
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	p := newProject(t, scripted(t, filepath.Join(t.TempDir(), "agent")), map[string]string{
		"A-1": "---\ntitle: A title\nstate: Todo\n---\n- [ ] Create `new.txt` containing `new`\n- [ ] Move this issue to `Review`\n",
	})
	p.ok("plan", "--exchange", "exchange", "--shards", "1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var report strings.Builder
	cmd := p.command(ctx, "work", "--exchange", "exchange", "--shard", "1")
	cmd.Stdout, cmd.Stderr = &report, log
	if err := cmd.Run(); err != nil || !strings.Contains(report.String(), "1 completed") || !strings.Contains(report.String(), "some of its lines are lost: nobody reads it") {
		t.Errorf("the shard: %v\n%s", err, &report)
	}
	if text := p.read("workspaces/A-1/new.txt"); text != "new\n" {
		t.Errorf("the agent wrote %q", text)
	}
}

func TestALogThatIsReadLateHasWhatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, w := io.Pipe()
		b := newBacklog(w)
		line := strings.Repeat("x", 1023) + "\n"
		for i := range 2001 { // of which one is being written, and 1,024 wait
			if i == 1 {
				synctest.Wait()
			}
			if n, err := io.WriteString(b, line); n != len(line) || err != nil {
				t.Fatal(n, err)
			}
		}
		var got strings.Builder
		go func() {
			if err := b.settle(); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(b, "after the end\n")
			w.Close()
		}()
		if _, err := io.Copy(&got, read); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(got.String(), line); lines != 1025 || !strings.HasSuffix(got.String(), "\n[… 976 lines of the log are lost, because nobody read it …]\nafter the end\n") {
			t.Errorf("%d lines, then %s", lines, strings.ReplaceAll(got.String(), line, ""))
		}
	})
}

// brokenWriter is a log that cannot be written.
type brokenWriter struct{ writes int }

func (w *brokenWriter) Write([]byte) (int, error) {
	w.writes++
	return 0, errors.New("nobody reads this")
}

func TestALogThatCannotBeWrittenEndsNoSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &brokenWriter{}
		s := newLiveTest(t, fleetApp(nil), w, "A-1").begin()
		s.write(messageLine("hello"))
		s.close()
		if w.writes != 1 {
			t.Errorf("%d writes", w.writes)
		}
	})
}

// runnerCommand matches a line that the runner takes for a command: see package action.
var runnerCommand = regexp.MustCompile(`^\s*::|##\[`)

func TestNothingInASessionIsAWorkflowCommandOrASecret(t *testing.T) {
	const secret = "swordfish-swordfish"
	hostile := "::add-mask::a\n::error::b\r\n ::stop-commands::c\r##[add-matcher]d\u2028::set-output name=x::y\x1b[2J\x1b]0;owned\x07 sword\u200bfish-sword\x1b[1mfish ##[group]e"
	for identifier, texts := range map[string]string{"A-1": "true", "::error::A-1": "true", "##[error]A-1": "false", "A\n::error::B": "true", "#": "true"} {
		synctest.Test(t, func(t *testing.T) {
			out := &shownLog{}
			a := &app{process: process{stdout: out, environ: []string{"GITHUB_ACTIONS=true", "TOKEN=" + secret, "SYMPHONY_LOG_TEXTS=" + texts}}}
			a.detectActions()
			a.redactor = a.environmentSecrets()
			out.take() // the masks
			s := newLiveTest(t, a, nil, identifier)
			s.start.Claim.Title, s.start.Branch = hostile, hostile
			s.begin()
			quoted, _ := json.Marshal(hostile)
			h := string(quoted)
			s.write(messageLine(hostile), itemLine("completed", `"type":"commandExecution","command":`+h+`,"aggregatedOutput":`+h),
				itemLine("completed", `"type":"fileChange","changes":[{"path":`+h+`,"kind":"add","diff":`+h+`}]`),
				itemLine("completed", `"type":"mcpToolCall","server":`+h+`,"tool":`+h+`,"arguments":`+h+`,"result":`+h),
				`{"t_ms":3,"hook":{"name":`+h+`,"exit":1,"error":`+h+`,"output":`+h+`}}`, `{"t_ms":2,"event":{"Kind":"warning","Summary":`+h+`}}`,
				itemLine("started", `"type":"commandExecution","command":`+h))
			s.pass(quietTime)
			s.end(runner.SessionLog{Claim: s.start.Claim, Outcome: schedule.Outcome{Class: schedule.IssueFailed, Why: hostile, Warnings: []string{hostile}}})
			s.live.close()
			got := out.take()
			lines := regexp.MustCompile(`[\n\r\x{2028}\x{2029}\x{85}]`).Split(strings.TrimSuffix(got, "\n"), -1)
			if len(lines) < 10 {
				t.Errorf("%d lines:\n%s", len(lines), got)
			}
			for _, line := range lines {
				if runnerCommand.MatchString(line) || strings.ContainsAny(line, "\x1b\a") || !strings.Contains(line, " | ") {
					t.Errorf("%q: the log has %q", identifier, line)
				}
			}
			if strings.Contains(got, secret) || strings.Contains(got, "fish-sword") || !strings.Contains(got, "***") {
				t.Errorf("%q: the log shows a secret, or hides none:\n%s", identifier, got)
			}
		})
	}
}

func TestOnlyAShardShowsItsSessionsInTheLogWhileTheyRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		live, inActions bool
		format          string
		follows, prints bool
	}{
		"a shard":                           {true, false, "text", true, false},
		"a shard in Actions":                {true, true, "text", true, false},
		"a shard whose log is JSON":         {true, false, "json", false, false},
		"a shard in Actions, log of JSON":   {true, true, "json", false, true},
		"a tick":                            {false, false, "text", false, false},
		"a tick in Actions, with its group": {false, true, "text", false, true},
	} {
		a := fleetApp(nil, fmt.Sprint("GITHUB_ACTIONS=", c.inActions))
		a.logFormat = c.format
		r := &runner.Runner{}
		out := &shownLog{}
		end := (&tickCommand{app: a, part: part{live: c.live}}).showSessions(r, &console{out: out}, "WORKFLOW.md")
		if r.OnSession != nil {
			r.OnSession(runner.SessionStart{Claim: schedule.Claim{Identifier: "A-1"}})
		}
		end()
		follows := out.take() != ""
		if prints := r.OnSession != nil && !follows; follows != c.follows || prints != c.prints {
			t.Errorf("%s: follows %v, prints %v", name, follows, prints)
		}
	}
}

func TestTheLogOfAShardShowsWhatTheRealCodexDoes(t *testing.T) {
	t.Parallel()
	p, _ := realProject(t, "", map[string]string{"A-1": todo("Patch"), "A-2": todo("Command")},
		lane("A-1",
			codextest.Reply{Items: []codextest.Item{codextest.Custom{Name: "apply_patch", Input: patch}}},
			handOver(), say("Patched.\n\n- `patched.txt` is new")),
		lane("A-2",
			call("exec_command", map[string]string{"cmd": "seq 20; printf '::error::forged\\n'; exit 3"}),
			handOver(), say("Counted.")),
	)
	p.replace("codex:", "polling: {interval_ms: 86400000}\ncodex:") // a poll would end the sessions that have handed over
	p.ok("plan", "--exchange", "exchange", "--shards", "1", "--shard-slots", "2")
	log := p.ok("work", "--exchange", "exchange", "--shard", "1").stderr
	for _, want := range []string{
		`A-1 \| session 1 begins: Patch \(attempt 1, workspace .*/workspaces/A-1\)\n`,
		`A-1 \| changed patched\.txt`,
		`A-1 \| called issue_update .* with \{"state":"Review"\}\n`,
		"A-1 \\| message: Patched\\.\nA-1 \\|   - `patched\\.txt` is new\n",
		`A-2 \| \$ .*seq 20.* \(exit status 3.*\)\nA-2 \|   1\nA-2 \|   2\nA-2 \|   3\nA-2 \|   \[… 15 lines are left out …\]\nA-2 \|   19\nA-2 \|   20\nA-2 \|   ::error::forged\n`,
		`A-1 \| turn 1 completed .*, [0-9,]+ tokens \([0-9,]+ in, [0-9,]+ out\)\n`,
		`A-2 \| session ended: completed · turns: 1 · tokens: `,
	} {
		if found := regexp.MustCompile(want).FindAllString(log, -1); len(found) != 1 {
			t.Errorf("the log has %q %d times", want, len(found))
		}
	}
	if t.Failed() {
		t.Log(log)
	}
}
