package attempt

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestTheEventLogKeepsTheWireAndTheEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Send `no JSON at all` verbatim\n- [ ] Send a line of `65536` bytes\n- [ ] Send a line of `65537` bytes\n"+
		"- [ ] Ask for approval of `true`\n- [ ] Move this issue to `Review`\n")
	f.run(t.Context())

	info, err := os.Stat(f.job.EventLog)
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
			if k.Omitted != 65537 || k.Msg != nil || k.Dir != "<" {
				t.Errorf("%+v", k)
			}
			got["omitted"]++
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
		"< text no JSON at all": 1, "omitted": 1, "< item/agentMessage/delta": 2, // one is the agent's last message
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
	if t.Failed() {
		t.Logf("kept: %v", got)
	}
}

func TestASessionWithoutAnEventLogWritesNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Say `hello`\n")
	f.job.EventLog = ""
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
	for name, test := range map[string]struct {
		path string
		warn string
	}{
		"its folder is a file": {"issues/" + issueName + ".md/events.jsonl", "no event log for this session"},
		"it is a folder":       {"home", "no event log for this session"},
		"the disk is full":     {"/dev/full", "event log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "- [ ] Flood `100`\n- [ ] Create `new.txt` containing `new`\n")
			f.job.EventLog = test.path
			if test.path != "/dev/full" {
				f.job.EventLog = f.path(test.path)
			} else if _, err := os.Stat(test.path); err != nil {
				t.Skip("this system has no device that is always full")
			}
			if got := f.run(t.Context()); got.Class != schedule.Done || got.Idle || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], test.warn) {
				t.Errorf("%+v", got)
			}
			if n := f.logged(slog.LevelWarn, test.warn); n != 1 {
				t.Errorf("%d warnings:\n%s", n, f.log.bytes.String())
			}
		})
	}
}

func TestAnEventLogIsAppendedTo(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Say `hello`\n")
	f.run(t.Context())
	once := len(f.requests("turn/start"))
	f.run(t.Context())
	if twice := len(f.requests("turn/start")); once != 1 || twice != 2 {
		t.Errorf("%d turns, then %d", once, twice)
	}
}

func TestAnEventLogEndsAtItsBound(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.job.EventLog = f.path("events.jsonl")
	l := openEventLog(f.job.EventLog, strings.Clone, f.job.Log)
	line := []byte(`{"text":"` + strings.Repeat("x", 1000) + `"}`)
	l.written = maxEventLog - 10*len(line) // as if the log were nearly full
	for range 100 {
		l.wire('<', line)
		l.event(codex.Event{Kind: codex.TurnCompleted})
	}
	if err := l.close(); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("the end does not say that it is early: %v", err)
	}
	info, err := os.Stat(f.job.EventLog)
	if err != nil {
		t.Fatal(err)
	}
	n := len(f.readEventLog()) // fails unless all lines are whole
	if size := int(info.Size()); size < 9*len(line) || size > 12*len(line) || n < 9 {
		t.Errorf("%d bytes in %d lines", size, n)
	}
	if n := f.logged(slog.LevelWarn); n != 1 {
		t.Errorf("%d warnings, want one that says so:\n%s", n, f.log.bytes.String())
	}
}

func TestTheTextOfAnEventLogIsWhatWasSaid(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.job.EventLog = f.path("events.jsonl")
	l := openEventLog(f.job.EventLog, strings.Clone, f.job.Log)
	for _, line := range []string{`{"a": "<&>\u2028é"}`, "\x1b[31mred\x00", `[1,`, `"text"`, "\xff\xfe"} {
		l.wire('<', []byte(line))
	}
	l.close()
	var got []any
	for _, k := range f.readEventLog() {
		got = append(got, k.Msg)
	}
	want := []any{map[string]any{"a": "<&>\u2028é"}, "\x1b[31mred\x00", "[1,", "text", "\ufffd\ufffd"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
