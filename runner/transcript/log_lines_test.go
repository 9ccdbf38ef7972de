package transcript

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// logText returns entries as the lines of a log.
func logText(entries []Entry, texts bool) string {
	var b strings.Builder
	for _, e := range entries {
		for _, line := range LogLines(e, texts) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func TestASessionReadsWellInALog(t *testing.T) {
	t.Parallel()
	entries := read(t, session(t), nil)
	golden(t, "session-log.txt", logText(entries, true))
	golden(t, "session-log-brief.txt", logText(entries, false))
}

func TestHostileContentIsHarmlessInALog(t *testing.T) {
	t.Parallel()
	entries := read(t, logOf(hostile), nil)
	golden(t, "hostile-log.txt", logText(entries, true))
	for _, texts := range []bool{true, false} {
		checkLogLines(t, entries, texts)
	}
}

// checkLogLines reports lines that are not lines, that are too long, or that could steer
// a terminal.
func checkLogLines(t *testing.T, entries []Entry, texts bool) {
	t.Helper()
	for _, e := range entries {
		lines := LogLines(e, texts)
		if len(lines) > logMessage+2 {
			t.Errorf("%d lines of a %s", len(lines), e.Kind)
		}
		for i, line := range lines {
			if bad := unsafe(line); bad != "" || strings.ContainsAny(line, "\n\t") || i > 0 && !strings.HasPrefix(line, " ") {
				t.Errorf("a line of a %s has %s: %q", e.Kind, bad, line)
			}
			if n := utf8.RuneCountInString(line); n > 2*logLine+100 {
				t.Errorf("a line of a %s has %d characters", e.Kind, n)
			}
		}
	}
}

// itemLog returns a log with an item of a thread.
func itemLog(kind, field, text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"t_ms":1,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":%q,"command":"make",%q:%s}}}}`+"\n", kind, field, quoted)
}

func TestALongOutputIsShownInALogByItsFirstAndLastLines(t *testing.T) {
	t.Parallel()
	var output strings.Builder
	for i := range 100 {
		fmt.Fprintf(&output, "line %d\n\n", i)
	}
	got := logText(read(t, itemLog("commandExecution", "aggregatedOutput", output.String()), nil)[:1], true)
	want := "$ make\n  line 0\n  line 1\n  line 2\n  [… 94 lines are left out …]\n  line 97\n  line 98\n  line 99\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A secret that is cut at the end of a line would not be found, and most of it would be read.
func TestASecretThatALogWouldCutIsHidden(t *testing.T) {
	t.Parallel()
	const secret = "swordfish-swordfish-swordfish"
	hide := func(text string) string { return strings.ReplaceAll(text, secret, "***") }
	for _, at := range []int{logLine - 60, logLine - 25, logLine - 10, briefLine - 20} {
		text := strings.Repeat("x", at) + secret + strings.Repeat("y", 100)
		for kind, field := range map[string]string{"agentMessage": "text", "commandExecution": "aggregatedOutput", "plan": "text", "webSearch": "query"} {
			for _, texts := range []bool{true, false} {
				if got := logText(read(t, itemLog(kind, field, text), hide), texts); strings.Contains(got, "swordf") {
					t.Errorf("a %s shows a part of a secret: %s", kind, got)
				}
			}
		}
	}
}

// Everybody can read the log of a job in a public repository.
func TestALogWithoutTextsShowsNothingThatTheAgentReadOrThought(t *testing.T) {
	t.Parallel()
	const seen = "what the agent read"
	for kind, field := range map[string]string{"commandExecution": "aggregatedOutput", "dynamicToolCall": "arguments", "mcpToolCall": "result"} {
		e := read(t, itemLog(kind, field, seen), nil)
		if got := logText(e, false); strings.Contains(got, seen) || got == "" {
			t.Errorf("a %s is shown as %q", kind, got)
		}
		if got := logText(e, true); !strings.Contains(got, seen) {
			t.Errorf("with texts a %s is shown as %q", kind, got)
		}
	}
	log := `{"t_ms":1,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":"reasoning","summary":["` + seen + `"]}}}}` + "\n" +
		`{"t_ms":1,"dir":">","msg":{"method":"turn/start","params":{"input":[{"text":"` + seen + `"}]}}}` + "\n"
	if got := logText(read(t, log, nil), false); strings.Contains(got, seen) {
		t.Errorf("%s", got)
	}
}
