package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// impatient is a grace for agents that ignore everything but SIGKILL.
var impatient = Grace{EOF: 50 * time.Millisecond, Term: 50 * time.Millisecond, Kill: 10 * time.Second}

// patient is a grace so long that a test passes only if the agent ends by itself.
var patient = Grace{EOF: time.Hour, Term: time.Hour, Kill: 10 * time.Second}

func TestAnAgentIsAConnectionThatEndsWithItsInput(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	r.Grace = patient
	p, lines := start(t, r, `pwd; while read -r line; do echo "got $line"; done; echo bye >&2`)
	ws := r.workspace(issue)
	fmt.Fprintln(p, "one")
	for _, want := range []string{ws.Path, "got one"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("read %q, want %q", lines.Text(), want)
		}
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Err(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff("bye", p.Stderr()); diff != "" {
		t.Error(diff)
	}
	gone(t, p.PID())
	if n, err := p.Read(make([]byte, 10)); n != 0 || err != io.EOF {
		t.Errorf("read %d, %v after the end", n, err)
	}
	if _, err := p.Write([]byte("x")); err == nil {
		t.Error("wrote after the end")
	}
}

func TestEverythingThatAnAgentWroteIsReadBeforeTheEnd(t *testing.T) {
	t.Parallel()
	p, _ := start(t, open(t, Hooks{}), `head -c 60000 /dev/zero; exit 9`)
	<-p.Done()
	got, err := io.ReadAll(p)
	if len(got) != 60000 || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	var exit *ExitError
	if err := p.Err(); !errors.As(err, &exit) || exit.Code != 9 || errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestACommandThatIsNotFoundIsReportedAsSuch(t *testing.T) {
	t.Parallel()
	posture := strings.Repeat(" -c 'a=true'", 500) // nobody reads it in an error
	p, _ := start(t, open(t, Hooks{}), "no-such-codex app-server"+posture)
	err := p.Err()
	const says = "codex_not_found: no-such-codex is not found where `bash -lc 'echo $PATH'` looks: npm install --global @openai/codex, or give codex.command an absolute path: exit status 127; "
	if !errors.Is(err, ErrNotFound) || !strings.HasPrefix(err.Error(), says) || strings.Contains(err.Error(), "a=true") {
		t.Error(err)
	}
}

// TestAProgramThatAnotherOneNeedsIsNotTakenForCodex runs a command that is there and ends
// with 127 because of another program.
func TestAProgramThatAnotherOneNeedsIsNotTakenForCodex(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"bash: line 3: codex: command not found":              "codex is not found",
		"sh: 1: node: not found":                              "node is not found",
		"/usr/bin/env: 'node': No such file or directory":     "codex cannot be run",
		"bash: line 3: /opt/codex: No such file or directory": "codex cannot be run",
		"": "codex cannot be run",
	} {
		for _, command := range []string{"codex app-server -c 'a=true'", " exec codex app-server"} {
			if got := missingProgram(command, output); got != want {
				t.Errorf("%s: %q: %q, want %q", command, output, got, want)
			}
		}
	}
}

func TestAnAgentKilledFromOutsideNamesTheSignal(t *testing.T) {
	t.Parallel()
	p, _ := start(t, open(t, Hooks{}), "kill -SEGV $$")
	var exit *ExitError
	if err := p.Err(); !errors.As(err, &exit) || exit.Signal != syscall.SIGSEGV || exit.Code != -1 {
		t.Error(err)
	}
}

func TestTheAgentSeesItsOwnEnvironment(t *testing.T) {
	t.Parallel()
	r := openWith(t, Config{Root: filepath.Join(t.TempDir(), "root")}, []string{"CODEX_HOME=/old", "NAMED=n", "OTHER=o"}, slog.New(slog.DiscardHandler))
	_, lines := start(t, r, `echo "$CODEX_HOME/$NAMED/$OTHER/$SYMPHONY_WORKSPACE"; [ -n "$SYMPHONY_SESSION" ] && echo marked`, "NAMED", "CODEX_HOME=/new")
	var got []string
	for lines.Scan() {
		got = append(got, lines.Text())
	}
	if diff := cmp.Diff([]string{"/new/n//" + r.workspace(issue).Path, "marked"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestStopKillsAnAgentThatIgnoresEverything(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	r.Grace = impatient
	p, lines := start(t, r, `trap '' TERM HUP INT; sleep 600 & echo $!; while :; do wait; done`)
	child := readPID(t, lines)
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	gone(t, p.PID(), child)
	var exit *ExitError
	if err := p.Err(); !errors.As(err, &exit) || exit.Signal != syscall.SIGKILL {
		t.Error(err)
	}
}

func TestStopKillsAStoppedAgent(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	r.Grace = impatient
	p, lines := start(t, r, `trap '' TERM; echo $$; kill -STOP $$; while :; do kill -STOP $$; done`)
	if err := (readPID(t, lines) - p.PID()); err != 0 {
		t.Error("the shell is not the leader")
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	gone(t, p.PID())
}

func TestAnAgentMayEndAtSIGTERM(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	r.Grace = Grace{EOF: time.Millisecond, Term: time.Hour, Kill: time.Hour}
	p, lines := start(t, r, `trap 'exit 5' TERM; echo $$; while :; do sleep 600 & wait; done`)
	readPID(t, lines)
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	var exit *ExitError
	if err := p.Err(); !errors.As(err, &exit) || exit.Code != 5 {
		t.Error(err)
	}
}

func TestStopLetsAnAgentFinishItsOutput(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	r.Grace = patient
	// It reads the end of its input only after more than a pipe holds has been read.
	p, lines := start(t, r, `echo $$; head -c 1000000 /dev/zero; read -r x; exit 0`)
	readPID(t, lines)
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	var exit *ExitError
	if err := p.Err(); err != nil {
		t.Errorf("%v (%v)", err, exit)
	}
}

func TestCloseEndsAReadThatWaits(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	r.Grace = impatient
	p, lines := start(t, r, `trap '' TERM; echo $$; while :; do sleep 600; done`)
	readPID(t, lines)
	var reading sync.WaitGroup
	reading.Go(func() {
		if n, err := p.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("read %d, %v", n, err)
		}
	})
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	reading.Wait() // before the agent is stopped
}

func TestStopMayBeCalledByManyAtOnce(t *testing.T) {
	t.Parallel()
	p, lines := start(t, open(t, Hooks{}), `echo $$; cat >/dev/null`)
	pid := readPID(t, lines)
	var stops sync.WaitGroup
	for range 8 {
		stops.Go(func() {
			if err := p.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			gone(t, pid)
		})
		stops.Go(func() { io.ReadAll(p) })
	}
	stops.Wait()
}

func TestStderrIsLoggedLineByLine(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	r := openWith(t, Config{Root: filepath.Join(t.TempDir(), "root")}, nil, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	p, _ := start(t, r, `printf 'one\ntwo\r\nthree' >&2`)
	<-p.Done()
	for _, line := range []string{"one", "two", "three"} {
		if !strings.Contains(log.String(), "level=DEBUG msg=output issue_id=id-1 issue_identifier=ABC-1 line="+line+"\n") {
			t.Errorf("no line %q in:\n%s", line, log.String())
		}
	}
	if diff := cmp.Diff("one | two | three", p.Stderr()); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkStart(b *testing.B) {
	r := open(b, Hooks{})
	ws := prepare(b, r)
	for b.Loop() {
		p, err := r.Start(b.Context(), ws, "exit", nil)
		if err != nil {
			b.Fatal(err)
		}
		<-p.Done()
		p.Stop(b.Context())
	}
}

func BenchmarkStart100AtOnce(b *testing.B) {
	r := open(b, Hooks{})
	ws := prepare(b, r)
	for b.Loop() {
		var running []*Process
		for range 100 {
			p, err := r.Start(b.Context(), ws, "read -r x", nil)
			if err != nil {
				b.Fatal(err)
			}
			running = append(running, p)
		}
		for _, p := range running {
			p.Stop(b.Context())
		}
	}
}

func BenchmarkThroughput(b *testing.B) {
	r := open(b, Hooks{})
	p, _ := start(b, r, "cat /dev/zero")
	out := bufio.NewReaderSize(p, 64<<10)
	chunk := make([]byte, 32<<10)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		if _, err := io.ReadFull(out, chunk); err != nil {
			b.Fatal(err)
		}
	}
}

func TestTheTailIsTheMarkedEndOfTheOutput(t *testing.T) {
	out := newTail()
	_, _ = out.Write([]byte("first\n"))
	_, _ = out.Write([]byte(strings.Repeat("é", tailSize)))
	got := out.String()
	if !strings.HasPrefix(got, "[...] é") || len(got) != len("[...] ")+tailSize {
		t.Errorf("%d bytes, begins %.20q", len(got), got)
	}
}

func TestTheTailBeginsAtALineOrAtAWord(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", tailSize/5)
	for name, test := range map[string]struct{ output, want string }{
		"short":                    {"one\ntwo\n", "one\ntwo\n"},
		"lines":                    {long + "\nthe cause\n", "[...]\nthe cause\n"},
		"one long line":            {"a-secret" + long[:tailSize-4] + "END", "[...]" + long[4:tailSize-4] + "END"},
		"one long line, ended":     {"a-secret " + long[:tailSize-8] + "END\n", "[...] " + long[:tailSize-8] + "END\n"},
		"blank lines after it":     {"a-secret " + long[:tailSize-9] + "END\n\n", "[...] " + long[:tailSize-9] + "END\n\n"},
		"one long word":            {"a-secret" + strings.Repeat("x", tailSize) + "\n", "[...]\n"},
		"one long word, not ended": {"a-secret" + strings.Repeat("x", tailSize), "[...]\n"},
	} {
		out := newTail()
		_, _ = out.Write([]byte(test.output))
		if got := out.lines(); got != test.want {
			t.Errorf("%s: %d bytes %.40q, want %d %.40q", name, len(got), got, len(test.want), test.want)
		}
	}
}
