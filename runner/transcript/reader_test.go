package transcript

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// session returns the log of a session that has an entry of every kind.
func session(t testing.TB) string {
	t.Helper()
	log, err := os.ReadFile("testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return string(log)
}

func TestASessionReadsWellAtAnyWidth(t *testing.T) {
	t.Parallel()
	entries := read(t, session(t), nil)
	golden(t, "session.txt", content(entries, Style{Width: 100}))
	golden(t, "session-40.txt", content(entries, Style{Width: 40}))
	golden(t, "session-color.txt", content(entries, Style{Width: 100, Color: true}))
	golden(t, "session.html", page(t, entries))
	for _, width := range []int{40, 100} {
		for line := range strings.Lines(content(entries, Style{Width: width})) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns, at most %d fit: %q", n, width, line)
			}
		}
	}
}

func TestASessionNamesItsWorkerHost(t *testing.T) {
	t.Parallel()
	text := content(read(t, `{"t_ms":0,"session":{"issue_id":"1","identifier":"A-1","attempt":0,"number":1,"worker_host":"build1"}}`+"\n"+`{"t_ms":9,"outcome":{"class":"host","why":"ssh: lost"}}`+"\n", nil), Style{Width: 100})
	if !strings.Contains(text, "session 1, on build1") || !strings.Contains(text, "the worker host of the session failed") {
		t.Errorf("%s", text)
	}
}

func TestEveryKindOfEntryIsInTheSession(t *testing.T) {
	t.Parallel()
	seen := map[Kind]bool{}
	for _, e := range read(t, session(t), nil) {
		seen[e.Kind] = true
		if want := time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.UTC).Add(e.Since); !e.At.Equal(want) {
			t.Errorf("%s %q is of %v, want %v", e.Kind, e.Title, e.At, want)
		}
	}
	for _, k := range []Kind{
		KindSession, KindPrompt, KindThought, KindMessage, KindCommand, KindFiles, KindTool, KindTurn, KindHook, KindNotice, KindOutcome,
	} {
		if !seen[k] {
			t.Errorf("no %s", k)
		}
	}
}

// A file that grows is read in parts that end anywhere.
func TestALogReadsTheSameInParts(t *testing.T) {
	t.Parallel()
	log := session(t) + `{"t_ms":1,"not whole`
	want := read(t, log, nil)
	rapid.Check(t, func(t *rapid.T) {
		r := &Reader{}
		var got []Entry
		for rest := log; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			got = append(got, r.Feed([]byte(rest[:n]))...)
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, append(got, r.End()...)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestWhatTheAgentDoesIsKnownUntilItEnds(t *testing.T) {
	t.Parallel()
	r := &Reader{}
	var doing []string
	for line := range strings.Lines(session(t)) {
		r.Feed([]byte(line))
		if n := len(doing); n == 0 || doing[n-1] != r.Doing() {
			doing = append(doing, r.Doing())
		}
	}
	if diff := cmp.Diff([]string{"", "running `go test ./...`", "", "searched the web for sessions", ""}, doing); diff != "" {
		t.Error(diff)
	}
	if r.Session().Identifier != "GH-7" || r.Outcome() == nil || r.Outcome().Class != "issue" {
		t.Errorf("%+v %+v", r.Session(), r.Outcome())
	}
}

func TestPiecesOfATextAreNotShown(t *testing.T) {
	t.Parallel()
	log := `{"t_ms":1,"dir":"<","msg":{"method":"item/agentMessage/delta","params":{"delta":"hel"}}}
{"t_ms":2,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":"agentMessage","text":"\"method\":\"elta\""}}}}
{"t_ms":9,"outcome":{"class":"done"}}
`
	if diff := cmp.Diff([]string{"message: message", "outcome: the session ended well"}, titles(t, log)); diff != "" {
		t.Error(diff)
	}
}

// titles returns what a log shows, in one line for each entry.
func titles(t testing.TB, log string) (all []string) {
	t.Helper()
	for _, e := range read(t, log, nil) {
		all = append(all, fmt.Sprintf("%s: %s", e.Kind, e.Title))
	}
	return all
}

func TestADamagedLogShowsWhatIsWhole(t *testing.T) {
	t.Parallel()
	message := `{"t_ms":5,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":"agentMessage","text":"hello"}}}}` + "\n"
	ended := `{"t_ms":9,"outcome":{"class":"done"}}` + "\n"
	const noEnd = "outcome: the log ends before the session does"
	for name, test := range map[string]struct {
		log  string
		want []string
	}{
		"nothing":                {"", []string{noEnd}},
		"lines of no JSON":       {"\x00\x01\n[1,\n" + message + "null\n\n7\n" + ended, []string{"notice: a line of the log cannot be read (2 bytes)", "message: message", "notice: a line of the log cannot be read (1 byte)", "outcome: the session ended well"}},
		"a line of 10 MB":        {strings.Repeat("x", 10<<20) + "\n" + message + ended, []string{"notice: a line of the log cannot be read (10,485,760 bytes)", "message: message", "outcome: the session ended well"}},
		"a last line of 10 MB":   {message + strings.Repeat("x", 10<<20), []string{"message: message", "notice: the log ends inside a line, after 10,485,760 bytes", noEnd}},
		"a last line cut short":  {message + `{"t_ms":6,"dir":"<","ms`, []string{"message: message", "notice: the log ends inside a line, after 23 bytes", noEnd}},
		"no last line end":       {message + strings.TrimSpace(ended), []string{"message: message", "notice: the log ends inside a line, after 37 bytes", noEnd}},
		"other types":            {`{"t_ms":1,"dir":"<","msg":{"method":7,"params":[]}}` + "\n" + `{"t_ms":1,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":"commandExecution","command":["ls"],"exitCode":"x"}}}}` + "\n" + ended, []string{"command: ", "outcome: the session ended well"}},
		"a time of the far past": {`{"t_ms":-9223372036854775808,"outcome":{"class":"done"}}` + "\n", []string{"outcome: the session ended well"}},
	} {
		if diff := cmp.Diff(test.want, titles(t, test.log)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestASessionThatWasKilledShowsWhatItDid(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(session(t), "\n")
	got := read(t, strings.Join(lines[:7], ""), nil)
	last := got[len(got)-2:]
	if last[0].Title != "go test ./..." || !last[0].Failed || last[0].Text != "(it was not finished)" || last[1].Kind != KindOutcome || !last[1].Failed {
		t.Errorf("%+v", last)
	}
}

func TestALogThatIsContinuedHasTwoSessions(t *testing.T) {
	t.Parallel()
	got := titles(t, session(t)+session(t))
	if n := len(got) / 2; n == 0 || cmp.Diff(got[:n], got[n:]) != "" {
		t.Errorf("%q", got)
	}
}

// Codex 0.169 repeats what the thread used before once the turn is asked for, and before
// it says that the turn has started.
func TestATurnOfAResumedThreadHasItsOwnTokensAlone(t *testing.T) {
	t.Parallel()
	usage := func(turn string, total int) string {
		return fmt.Sprintf(`{"t_ms":3,"dir":"<","msg":{"method":"thread/tokenUsage/updated","params":{"threadId":"t","turnId":%q,"tokenUsage":{"total":{"inputTokens":%d,"outputTokens":7},"last":{"inputTokens":100,"outputTokens":7}}}}}`, turn, total)
	}
	log := strings.Join([]string{
		`{"t_ms":1,"dir":"<","msg":{"id":3,"result":{"cwd":"/w","thread":{"id":"t"}}}}`,
		`{"t_ms":2,"dir":">","msg":{"method":"turn/start","params":{"threadId":"t","input":[{"text":"go on"}]}}}`,
		usage("earlier", 100),
		`{"t_ms":4,"dir":"<","msg":{"method":"turn/started","params":{"threadId":"t","turn":{"id":"now"}}}}`,
		usage("now", 200),
		`{"t_ms":5,"dir":"<","msg":{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"now","status":"completed"}}}}`,
	}, "\n") + "\n"
	entries := (&Reader{}).Feed([]byte(log))
	if got := entries[len(entries)-1].Text; got != "100 tokens (100 in, 0 out)" {
		t.Errorf("the turn says %q", got)
	}
}

func TestAFileThatWasMovedIsShownWithBothNames(t *testing.T) {
	t.Parallel()
	log := `{"t_ms":1,"dir":"<","msg":{"id":3,"result":{"cwd":"/work/A-1","thread":{"id":"t"}}}}
{"t_ms":2,"dir":"<","msg":{"method":"item/completed","params":{"threadId":"t","item":{"type":"fileChange","id":"f","status":"completed","changes":[` +
		`{"path":"/work/A-1/notes.txt","kind":{"type":"update","move_path":"/work/A-1/docs/notes.txt"},"diff":"@@ -1 +1 @@\n-one\n+two\n\n\nMoved to: /work/A-1/docs/notes.txt"}]}}}}
`
	e := (&Reader{}).Feed([]byte(log))[0]
	if e.Title != "changed notes.txt → docs/notes.txt" {
		t.Errorf("the title is %q", e.Title)
	}
	if want := "--- a/notes.txt\n+++ b/docs/notes.txt\n@@ -1 +1 @@\n-one\n+two"; e.Text != want {
		t.Errorf("the diff is\n%s\nwant\n%s", e.Text, want)
	}
}

// hostile is what an agent can say, and a stranger can write into an issue.
const hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J\x1b]0;owned\x07\x1b[31mred\x1b[0m\u202etxt.exe\u2066\u200b\x00\x07\x9b31m" +
	"\r\n::error::forged\n</pre></article></main>\u2028[link](javascript:alert(1)) ![x](http://evil.example/x.png) & \"quoted\" 'single'\rover\xff"

// logOf returns a log with a text wherever one can be.
func logOf(everywhere string) string {
	text, _ := json.Marshal(everywhere)
	h := string(text)
	lines := []string{
		`{"t_ms":0,"session":{"began":"2026-03-01T12:00:00Z","issue_id":H,"identifier":H,"title":H,"url":H,"state":H,"run":H}}`,
		`{"t_ms":1,"dir":">","msg":{"method":"turn/start","params":{"threadId":H,"cwd":H,"input":[{"type":"text","text":H}]}}}`,
		`{"t_ms":2,"event":{"Kind":"warning","Summary":H}}`, `{"t_ms":2,"event":{"Kind":"malformed","Summary":H}}`,
		`{"t_ms":3,"hook":{"name":H,"exit":1,"error":H,"output":H}}`,
		`{"t_ms":4,"dir":"<","msg":{"method":"error","params":{"error":{"message":H,"additionalDetails":H}}}}`,
	}
	for _, item := range []string{
		`"type":"agentMessage","text":H`, `"type":"reasoning","summary":[H]`, `"type":"plan","text":H`, `"type":H`, `"type":"webSearch","query":H`, `"type":"imageView","path":H`,
		`"type":"commandExecution","command":H,"aggregatedOutput":H,"status":H,"exitCode":1`,
		`"type":"fileChange","changes":[{"path":H,"kind":H,"diff":H},{"path":H,"kind":{"type":"update","move_path":H},"diff":H}]`,
		`"type":"dynamicToolCall","tool":H,"arguments":{"a":H},"contentItems":[{"type":"inputText","text":H}]`,
		`"type":"mcpToolCall","server":H,"tool":H,"arguments":H,"result":{H:H},"error":H`,
	} {
		lines = append(lines, `{"t_ms":5,"dir":"<","msg":{"method":"item/completed","params":{"item":{"id":H,`+item+`}}}}`)
	}
	lines = append(lines,
		`{"t_ms":6,"dir":"<","msg":{"method":"turn/completed","params":{"turn":{"status":H,"error":{"message":H}}}}}`,
		`{"t_ms":7,"outcome":{"class":H,"status":H,"why":H,"question":H,"refused":H,"warnings":[H]}}`)
	return strings.ReplaceAll(strings.Join(lines, "\n"), "H", h) + "\n"
}

// unsafe returns the first character of a text that could steer a terminal or the
// direction of writing.
func unsafe(text string) string {
	for _, c := range text {
		if c != '\n' && c != '\t' && !unicode.IsGraphic(c) || c == '\u2028' || c == '\u2029' {
			return fmt.Sprintf("%q", c)
		}
	}
	return ""
}

var (
	tag      = regexp.MustCompile(`</?([a-zA-Z!][a-zA-Z0-9]*)`)
	external = regexp.MustCompile(`(?i)<[^>]*\s(src|href|style|on[a-z]+|srcset|action)\s*=|url\(|@import`)
)

func TestHostileContentIsHarmlessEverywhere(t *testing.T) {
	t.Parallel()
	entries := read(t, logOf(hostile), nil)
	if len(entries) < 15 {
		t.Fatalf("%d entries", len(entries))
	}
	for _, s := range []Style{{}, {Width: 30}, {Width: 100}} {
		got := content(entries, s)
		if bad := unsafe(got); bad != "" {
			t.Errorf("width %d: the text has %s", s.Width, bad)
		}
	}
	golden(t, "hostile.txt", content(entries, Style{Width: 100}))

	html := page(t, entries)
	if bad := unsafe(html); bad != "" {
		t.Errorf("the page has %s", bad)
	}
	known := strings.Fields("!doctype html head meta title style body header p main article h1 h2 time code small pre details summary div span")
	for _, match := range tag.FindAllStringSubmatch(html, -1) {
		if name := strings.ToLower(match[1]); !strings.Contains(" "+strings.Join(known, " ")+" ", " "+name+" ") {
			t.Errorf("the page has the tag %q", name)
		}
	}
	if found := external.FindString(html); found != "" {
		t.Errorf("the page has %q", found)
	}
	if !strings.Contains(html, `http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;sha256-`) {
		t.Error("the page has no content security policy")
	}
	for _, e := range entries {
		if fragment := string(HTML(e)); !strings.HasPrefix(fragment, "<article ") || strings.Count(fragment, "<article") != 1 || !strings.HasSuffix(strings.TrimSpace(fragment), "</article>") {
			t.Errorf("no article: %.200s", fragment)
		}
	}
}

// What a control character divides is one word for those who read it.
func TestSecretsAreHiddenAfterATextIsMadeHarmless(t *testing.T) {
	t.Parallel()
	const secret = "swordfish-123"
	hide := func(text string) string { return strings.ReplaceAll(text, secret, "***") }
	entries := read(t, logOf("swo\u200brd\x1b[31mfish-\x00123 "+hostile), hide)
	for medium, got := range map[string]string{"text": content(entries, Style{Width: 100}), "page": page(t, entries)} {
		if strings.Contains(got, secret) || !strings.Contains(got, "***") {
			t.Errorf("the %s shows a secret, or hides none:\n%s", medium, got)
		}
	}
}

func TestALongTextLosesItsMiddle(t *testing.T) {
	t.Parallel()
	output := "first\n" + strings.Repeat("é", maxText) + "\nlast"
	quoted, _ := json.Marshal(output)
	log := `{"t_ms":1,"dir":"<","omitted_bytes":9,"msg":{"method":"item/completed","params":{"item":{"type":"commandExecution","command":"x","aggregatedOutput":` + string(quoted) + `}}}}` + "\n"
	e := read(t, log, nil)[0]
	if len(e.Text) > maxText+100 || !utf8.ValidString(e.Text) || !strings.HasPrefix(e.Text, "first\n") || !strings.HasSuffix(e.Text, "\nlast") || e.Omitted < len(output)-maxText {
		t.Errorf("%d bytes, %d omitted: %.50q", len(e.Text), e.Omitted, e.Text)
	}
	shown := Text(e, Style{Width: 80})
	if n := strings.Count(shown, "\n"); n > 1000 || !strings.Contains(shown, "bytes are left out") {
		t.Errorf("%d lines", n)
	}
	e.Text = strings.Repeat("line\n", 50) + "[… 7 bytes are left out …]\n" + strings.Repeat("line\n", 50) // the note is among the lines that go
	e.Omitted = 7
	for medium, got := range map[string]string{"text": Text(e, Style{}), "log": strings.Join(LogLines(e, true), "\n")} {
		if !strings.Contains(got, " lines and another 7 bytes are left out …]") {
			t.Errorf("the %s does not say what is left out:\n%s", medium, got)
		}
	}
	e.Text += strings.Repeat("x", longText)
	if got := string(HTML(e)); !strings.Contains(got, "<summary>output, 102 lines without 7 bytes of the middle</summary>") {
		t.Errorf("the page does not say what is left out:\n%s", got)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(session(f)))
	f.Add([]byte(logOf(hostile)))
	f.Fuzz(func(t *testing.T, log []byte) {
		r := &Reader{}
		entries := append(r.Feed(log), r.End()...)
		shown := content(entries, Style{Width: 60})
		if bad := unsafe(shown); bad != "" {
			t.Errorf("the text has %s", bad)
		}
		if bad := unsafe(page(t, entries)); bad != "" {
			t.Errorf("the page has %s", bad)
		}
		checkLogLines(t, entries, true)
		checkLogLines(t, entries, false)
	})
}
