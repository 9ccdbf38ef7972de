package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/transcript"
)

// liveTest is a session whose event log a test writes, and the log that shows it.
type liveTest struct {
	t     *testing.T
	live  *Sessions
	start Session
	end   func(result string, details []string)
	log   *transcript.Live
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

// newLiveTest returns a session on an issue that has not begun. It is called in a bubble.
func newLiveTest(t *testing.T, w io.Writer) *liveTest {
	t.Helper()
	s := &liveTest{log: transcript.NewLive(nil), t: t, live: NewSessions(w, Options{Texts: true, Redact: redact.New().String})}
	s.start = Session{Identifier: "A-1", Title: "Say hello", Number: 3, Attempt: 2, Branch: "symphony/A-1", Live: s.log, Rest: "symphony log A-1"}
	return s
}

// begin begins the session.
func (s *liveTest) begin() *liveTest {
	s.end = s.live.Begin(s.start)
	synctest.Wait()
	return s
}

// write writes lines of the event log, and lets them be shown.
func (s *liveTest) write(lines ...string) {
	for line := range strings.Lines(strings.Join(lines, "\n")) {
		s.log.Line([]byte(line))
	}
	synctest.Wait()
}

// pass lets time pass.
func (s *liveTest) pass(d time.Duration) {
	time.Sleep(d) // of the bubble
	synctest.Wait()
}

// close ends the session and the run.
func (s *liveTest) close() {
	s.end("completed · turns: 1", []string{"the hook\nfailed"})
	if err := s.live.Close(); err != nil {
		s.t.Log(err)
	}
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
		s := newLiveTest(t, &out).begin()
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
		s.log.Line([]byte(messageLine("Done.")))
		s.log.Line([]byte(`{"t_ms":9,"outcome":{"class":"done"}}`))
		s.close()
		shows("A-1 | message: Done.", "A-1 | session ended: completed · turns: 1", "A-1 |   the hook failed")
	})
}

func TestASessionWithoutAnEventLogIsShownByItsBeginningAndItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out shownLog
		s := newLiveTest(t, &out)
		s.start.Branch, s.start.Workspace, s.start.Host, s.start.Live = "", "/workspaces/A-1", "build1", nil
		s.end = s.live.Begin(s.start)
		s.pass(time.Minute)
		s.close()
		if got := out.take(); strings.Count(got, "\n") != 3 || !strings.Contains(got, "begins: Say hello (attempt 2, workspace /workspaces/A-1 on build1)\n") || !strings.Contains(got, "| session ended: completed") {
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
			s := newLiveTest(t, &out).begin()
			s.write(strings.Repeat(flood.lines+"\n", flood.times))
			s.close()
			got := out.take()
			if lines := strings.Count(got, "\n"); lines > 1005 || lines < 100 || len(got) > 129<<10 {
				t.Errorf("%s: %d lines, %d bytes", name, lines, len(got))
			}
			if !strings.Contains(got, " too much to show here: the rest is in symphony log A-1") || !strings.Contains(got, "| session ended: completed") || strings.Contains(got, strings.Repeat("é", 201)) {
				t.Errorf("%s: the end is %s", name, got[max(0, len(got)-500):])
			}
		})
	}
}

// The reader of the log may stop reading, as a terminal does on Control-S.
func TestASessionDoesNotWaitForTheReaderOfItsLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, w := io.Pipe() // a write waits for its reader
		s := newLiveTest(t, w).begin()
		s.write(messageLine("hello"), messageLine("good bye"))
		began := time.Now()
		s.close()
		if took := time.Since(began); took != endTime {
			t.Errorf("the end of the run waited %v", took)
		}
		w.Close()
		read.Close()
	})
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
		s := newLiveTest(t, w).begin()
		s.write(messageLine("hello"))
		s.close()
		if w.writes != 1 {
			t.Errorf("%d writes", w.writes)
		}
	})
}
