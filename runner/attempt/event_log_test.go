package attempt

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/workspace"
)

func TestTheEventLogKeepsTheWireAndTheEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Send `no JSON at all` verbatim\n- [ ] Send a line of `65536` bytes\n- [ ] Send a line of `65537` bytes\n"+
		"- [ ] Ask for approval of `true`\n- [ ] Move this issue to `Review`\n")
	f.whole = true
	f.run(t.Context())

	info, err := os.Stat(f.logFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v (%v)", info, err)
	}
	if info, err := os.Stat(f.path("logs")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v (%v)", info, err)
	}
	got := map[string]int{}
	for _, k := range f.readEventLog() {
		switch msg := k.Msg.(type) {
		case map[string]any:
			method, _ := msg["method"].(string)
			if _, asks := msg["id"]; method == "" && asks {
				method = "answer"
			}
			got[k.Dir+" "+method]++
		case string:
			got[k.Dir+" text "+msg]++
		}
		if k.Omitted != 0 {
			if k.Omitted < 50 || k.Msg != nil || k.Dir != "<" {
				t.Errorf("%+v", k)
			}
			got["piece"]++
		}
		if k.Event != nil {
			kind, _ := k.Event["Kind"].(string)
			got["event "+kind]++
			if k.Dir != "" || k.Msg != nil || k.Event["Thread"] == "" || k.Event["Summary"] == "" {
				t.Errorf("%+v", k)
			}
		}
	}
	want := map[string]int{
		"> initialize": 1, "> initialized": 1, "> config/read": 1, "> thread/start": 1, "> thread/name/set": 1, "> turn/start": 1, "< answer": 5,
		"< item/commandExecution/requestApproval": 1, "< item/tool/call": 1, "> answer": 2,
		"< text no JSON at all": 1, "piece": 3, // one is the agent's last message, two the long lines
		"< turn/completed":      1,
		"event session_started": 1, "event malformed": 1, "event approval_auto_approved": 1, "event turn_completed": 1,
	}
	for what, n := range want {
		if got[what] != n {
			t.Errorf("%q is kept %d times, want %d", what, got[what], n)
		}
	}
	for _, noise := range []string{"event notification", "event other_message"} {
		if got[noise] != 0 {
			t.Errorf("%q is kept, and the wire says the same", noise)
		}
	}
	if got["< item/agentMessage/delta"] != 0 {
		t.Error("a piece is kept")
	}
	if t.Failed() {
		t.Logf("kept: %v", got)
	}
}

func TestASessionWithoutAnEventLogWritesNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Say `hello`\n")
	f.logs = ""
	if got := f.run(t.Context()); got.Class != schedule.Done {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(f.path("logs")); !os.IsNotExist(err) {
		t.Errorf("there is a log (%v)", err)
	}
	if n := f.logged(slog.LevelWarn); n > 0 {
		t.Errorf("%d warnings:\n%s", n, f.log.bytes.String())
	}
}

func TestAnEventLogThatCannotBeWrittenIsAWarning(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]string{
		"its folder is a file":           "issues/" + issueName + ".md",
		"its folder is below a file":     "issues/" + issueName + ".md/logs",
		"its folder is a link elsewhere": "dangling",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "- [ ] Flood `100`\n- [ ] Create `new.txt` containing `new`\n")
			if err := os.Symlink(f.path("none"), f.path("dangling")); err != nil {
				t.Fatal(err)
			}
			f.logs = f.path(folder)
			const warn = "no event log for this session"
			if got := f.run(t.Context()); got.Class != schedule.Done || got.Idle || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], warn) {
				t.Errorf("%+v", got)
			}
			if n := f.logged(slog.LevelWarn, warn); n != 1 {
				t.Errorf("%d warnings:\n%s", n, f.log.bytes.String())
			}
		})
	}
}

func TestAFullDiskEndsTheEventLogWithAWarning(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no device that is always full")
	}
	f := newFixture(t, "")
	l := f.openLog()
	l.file.Close()
	l.file = full
	l.out.Reset(full)
	for range 3 {
		l.wire('<', []byte(`{"method":"warning"}`))
		l.event(codex.Event{Kind: codex.Warning})
	}
	if got := l.End(schedule.Outcome{}); len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "the event log ends early") {
		t.Errorf("%+v", got)
	}
	if n := f.logged(slog.LevelWarn); n != 1 {
		t.Errorf("%d warnings:\n%s", n, f.log.bytes.String())
	}
}

func TestAnEventLogSaysWhoseItIsAndHowItEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Say `hello`\n- [ ] Fail with `other`\n")
	f.job.Issue.Title = "A title"
	got := f.run(t.Context())
	lines := f.readEventLog()
	first, last := lines[0].Session, lines[len(lines)-1].Outcome
	if first == nil || first.Identifier != issueName || first.Number != 1 || first.Began.IsZero() {
		t.Errorf("it begins with %+v", lines[0])
	}
	want := &transcript.Outcome{Class: string(got.Class), Status: string(got.Status), Why: got.Why, Turns: got.Turns, Input: got.Usage.Input, Output: got.Usage.Output}
	if diff := cmp.Diff(want, last); diff != "" || got.Why == "" {
		t.Errorf("it ends with (-want +got):\n%s", diff)
	}
}

func TestWhoFollowsAnEventLogReadsItsLinesATenthOfASecondLate(t *testing.T) {
	f := newFixture(t, "")
	synctest.Test(t, func(t *testing.T) {
		l := f.openLog()
		for range 2 {
			before := len(f.readEventLog())
			for range 10 {
				l.wire('<', []byte(`{"method":"warning"}`))
			}
			if n := len(f.readEventLog()); n != before {
				t.Errorf("%d lines are written one by one", n-before)
			}
			time.Sleep(flushDelay)
			synctest.Wait()
			if n := len(f.readEventLog()); n != before+10 {
				t.Errorf("%d of 10 lines are in the file", n-before)
			}
		}
		l.End(schedule.Outcome{})
	})
}

func TestADisplayOfTheSameProcessGetsALineAtOnceAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	live := transcript.NewLive(nil)
	l := OpenEventLog(LogOptions{
		Folder: filepath.Join(t.TempDir(), "logs"), Name: transcript.Name("A-1", time.Now(), 1), Live: live, Log: slog.New(slog.DiscardHandler),
		Redact: func(text string) string { return strings.ReplaceAll(text, "secret", "***") },
	})
	l.event(codex.Event{Kind: codex.Warning, Summary: "a secret"})
	entries, _, _ := live.Since(0)
	if len(entries) != 2 || entries[1].Title != "a ***" {
		t.Errorf("%+v", entries)
	}
	l.End(schedule.Outcome{})
}

// The folder may come with a repository of somebody else.
func TestAnEventLogIsNotWrittenBehindALink(t *testing.T) {
	t.Parallel()
	for _, at := range []string{".symphony", ".symphony/sessions"} {
		f := newFixture(t, "- [ ] Say `hello`\n")
		f.foreign, f.logs = true, f.path("repository/.symphony/sessions")
		link := f.path("repository/" + at)
		for _, err := range []error{os.Mkdir(f.path("outside"), 0o700), os.MkdirAll(filepath.Dir(link), 0o700), os.Symlink(f.path("outside"), link)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := f.run(t.Context()); got.Class != schedule.Done || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "is a link") {
			t.Errorf("%s: %+v", at, got)
		}
		if made, err := os.ReadDir(f.path("outside")); err != nil || len(made) > 0 {
			t.Errorf("%s: it made %v (%v)", at, made, err)
		}
	}
}

func TestWhatAReaderLearnsElsewhereIsLoggedOnlyIfItIsWanted(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		f := newFixture(t, "- [ ] Flood `300`\n- [ ] Say `hello`\n")
		f.whole = whole
		f.run(t.Context())
		log := f.readLog()
		pieces, repeated := strings.Count(log, `"dir":"<","omitted_bytes":`) >= 300, strings.Contains(log, "thread/status/changed")
		if pieces != whole || repeated != whole || !strings.Contains(log, `"item/completed"`) {
			t.Errorf("wanted: %t, logged: %t, %t", whole, pieces, repeated)
		}
	}
}

// A log is redacted line by line, so a secret that arrives in pieces would be in it.
func TestASecretThatArrivesInPiecesIsNotInTheLog(t *testing.T) {
	t.Parallel()
	const secret = "swordfish-123"
	f := newFixture(t, "")
	f.whole = true
	f.job.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "***") }
	l := f.openLog()
	for _, method := range []string{"item/agentMessage/delta", "item/commandExecution/outputDelta", "item/reasoning/textDelta", "command/exec/outputDelta"} {
		for _, piece := range []string{"sword", "fish-", "123"} {
			l.wire('<', fmt.Appendf(nil, `{"method":%q,"params":{"delta":%q}}`, method, piece))
		}
	}
	l.wire('<', []byte(`{"method":"item/completed","params":{"item":{"type":"agentMessage","text":"swordfish-123"}}}`))
	l.End(schedule.Outcome{Class: schedule.Done})
	log := f.readLog()
	for _, piece := range []string{"sword", "fish-", "123\""} {
		if strings.Contains(log, piece) {
			t.Errorf("a piece of the secret is in the log:\n%s", log)
		}
	}
	if strings.Count(log, "omitted_bytes") != 12 || !strings.Contains(log, `"text":"***"`) {
		t.Error(log)
	}
}

func TestFailedHooksLeaveTheirOutput(t *testing.T) {
	t.Parallel()
	status := func(n int) *int { return &n }
	failing := "echo one; echo two >&2; exit 3"
	for name, hooks := range map[string]workspace.Hooks{
		"after_create": {AfterCreate: failing}, "before_run": {BeforeRun: failing}, "after_run": {AfterRun: failing},
	} {
		f := newFixture(t, "- [ ] Say `hello`\n")
		hooks.Timeout = forever
		f.hooks = hooks
		f.run(t.Context())
		got := f.hooksLogged()
		if len(got) != 1 || !strings.HasPrefix(got[0].Error, "hook "+name+": hook_failed: exit status 3") {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		got[0].Error = ""
		if diff := cmp.Diff(transcript.Hook{Name: name, Exit: status(3), Output: "one\ntwo\n"}, got[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnEventLogEndsAtItsBound(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		f := newFixture(t, "")
		f.whole = whole
		l := f.openLog()
		line := []byte(`{"text":"` + strings.Repeat("x", 1000) + `"}`)
		l.written = l.limit + l.limit/2 - 10*len(line) // as if the log were nearly full
		for range 100 {
			l.wire('<', line)
			l.event(codex.Event{Kind: codex.TurnCompleted})
		}
		l.hook("after_run", "", nil, 0, "it failed")
		if got := l.End(schedule.Outcome{Class: schedule.Done}); len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "limit") {
			t.Errorf("the end does not say that it is early: %+v", got)
		}
		lines := f.readEventLog() // fails unless all lines are whole
		size := len(f.readLog())
		if size < 9*len(line) || size > 13*len(line) || len(lines) < 9 {
			t.Errorf("%d bytes in %d lines", size, len(lines))
		}
		if end := lines[len(lines)-2:]; end[0].Hook == nil || end[1].Outcome == nil {
			t.Errorf("it does not end with the hook and the outcome: %+v", end)
		}
		if n := f.logged(slog.LevelWarn, "ends early"); n != 1 {
			t.Errorf("%d warnings, want one that says so:\n%s", n, f.log.bytes.String())
		}
	}
}

// TestAnEventLogKeepsWhatWasRunAfterItsLimit is about an agent that has filled the log: what
// it runs and says then must still be found.
func TestAnEventLogKeepsWhatWasRunAfterItsLimit(t *testing.T) {
	t.Parallel()
	const secret = "swordfish-123"
	for _, whole := range []bool{true, false} {
		f := newFixture(t, "")
		f.whole = whole
		f.job.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "***") }
		l := f.openLog()
		l.written = l.limit + 1
		const commands = 100
		before := len(f.readLog())
		for i := range commands {
			output := "first" + strings.Repeat(secret, 100_000/len(secret)) + "last"
			l.wire('<', []byte(`{"method":"item/commandExecution/outputDelta","params":{"delta":"`+strings.Repeat("x", 1000)+`"}}`))
			l.wire('<', fmt.Appendf(nil, `{"method":"item/completed","params":{"item":{"type":"commandExecution","id":"%d","command":"%s; run %d","aggregatedOutput":"%s","exitCode":3}}}`,
				i, strings.Repeat("c", 500), i, output))
			l.wire('<', fmt.Appendf(nil, `{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m%d","text":"said %d"}}}`, i, i))
		}
		if got := l.End(schedule.Outcome{Class: schedule.Done}); len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "the event log is not complete: after its limit of") {
			t.Errorf("the end does not say what is not there: %+v", got)
		}
		text := string(f.readLog())
		for i := range commands {
			run := fmt.Sprintf(`"command":"%s; run %d"`, strings.Repeat("c", 500), i)
			if !strings.Contains(text, run) || !strings.Contains(text, fmt.Sprintf(`"text":"said %d"`, i)) {
				t.Fatalf("whole %v: the command or the message %d is not in the log", whole, i)
			}
		}
		if strings.Contains(text, "outputDelta") || strings.Contains(text, "swordfish") || len(text)-before > commands*(maxBriefLine+500) {
			t.Errorf("whole %v: pieces, parts of a secret or long outputs are in the log of %d bytes", whole, len(text))
		}
		if lines := f.readEventLog(); len(lines) != 1+2*commands+1 || lines[1].Omitted < 90_000 {
			t.Errorf("whole %v: %d lines, %d bytes omitted", whole, len(lines), lines[1].Omitted)
		}
		if n := f.logged(slog.LevelWarn); n != 1 {
			t.Errorf("%d warnings, want one:\n%s", n, f.log.bytes.String())
		}
	}
}

func TestALongMessageKeepsItsEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	const secret = "swordfish-123"
	f.job.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "***") }
	l := f.openLog()
	middle := strings.Repeat("x", maxEventLine/4-len("first")-5) // the text is cut inside of the secret
	for _, output := range []string{
		"first" + middle[:maxEventLine/8-len("first")-5] + secret + strings.Repeat("é", 1<<20) + "last", strings.Repeat("x", maxShortened),
	} {
		message, _ := json.Marshal(map[string]any{"method": "item/completed", "params": map[string]any{
			"changes": make([]int, 50_000), "item": map[string]any{"exitCode": 7, "aggregatedOutput": output},
		}})
		l.wire('<', message)
	}
	l.End(schedule.Outcome{})
	log := f.readLog()
	if strings.Contains(log, secret[:5]) || len(log) > 2*maxEventLine {
		t.Errorf("%d bytes, or a part of a secret: %.100s", len(log), log)
	}
	got := f.wire()
	item := got[0].Msg.(map[string]any)["params"].(map[string]any)["item"].(map[string]any)
	text := item["aggregatedOutput"].(string)
	if item["exitCode"] != 7.0 || !strings.HasPrefix(text, "firstx") || !strings.HasSuffix(text, "élast") || got[0].Omitted < 1<<20 {
		t.Errorf("%v: %.30s … %d omitted", item["exitCode"], text, got[0].Omitted)
	}
	if got[1].Msg != nil || got[1].Omitted < maxShortened {
		t.Errorf("%+v", got[1])
	}
}

func TestTheTextOfAnEventLogIsWhatWasSaid(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	l := f.openLog()
	for _, line := range []string{`{"a": "<&>\u2028é"}`, "\x1b[31mred\x00", `[1,`, `"text"`, "\xff\xfe"} {
		l.wire('<', []byte(line))
	}
	l.End(schedule.Outcome{})
	var got []any
	for _, k := range f.wire() {
		got = append(got, k.Msg)
	}
	want := []any{map[string]any{"a": "<&>\u2028é"}, "\x1b[31mred\x00", "[1,", "text", "\ufffd\ufffd"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
