package terminal_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/terminal"
)

// openTerminal returns both sides of a terminal: that of the program and that of the
// window.
func openTerminal(t testing.TB, columns, rows int) (program, window *os.File) {
	t.Helper()
	window, program, err := pty.Open()
	if err != nil {
		t.Skip(err) // no terminals here
	}
	t.Cleanup(func() { program.Close(); window.Close() })
	if err := pty.Setsize(window, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	return program, window
}

// drawing is what a program draws on a terminal.
type drawing struct {
	t     testing.TB
	mu    sync.Mutex
	more  sync.Cond // all has grown, or the terminal is closed
	all   bytes.Buffer
	ended bool
}

// drain reads what is drawn until the terminal is closed.
func drain(t testing.TB, window *os.File) *drawing {
	d := &drawing{t: t}
	d.more.L = &d.mu
	go func() {
		chunk := make([]byte, 1<<16)
		for !d.ended {
			n, err := window.Read(chunk)
			d.mu.Lock()
			d.all.Write(chunk[:n])
			d.ended = err != nil
			d.more.Broadcast()
			d.mu.Unlock()
		}
	}()
	return d
}

// until waits until a text was drawn, and returns all that was drawn so far.
func (d *drawing) until(text string) string {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for !strings.Contains(d.all.String(), text) {
		if d.ended {
			d.t.Fatalf("%q was never drawn: %q", text, d.all.String())
		}
		d.more.Wait()
	}
	return d.all.String()
}

// A second signal closes the display while the end of the run closes it, and the report follows.
func TestEveryCloseReturnsAfterTheLogLines(t *testing.T) {
	t.Parallel()
	program, window := openTerminal(t, 80, 24)
	drawn := drain(t, window)
	d := terminal.Start(terminal.Options{Screen: program})
	fmt.Fprintln(d, "a line")
	var closing sync.WaitGroup
	for range 2 {
		closing.Go(func() {
			d.Close()
			fmt.Fprintln(program, "a report")
		})
	}
	closing.Wait()
	all := drawn.until("a report")
	_, ordinary, _ := strings.Cut(all, "\x1b[?1049l")
	if before, _, _ := strings.Cut(ordinary, "a report"); !strings.Contains(before, "a line") {
		t.Errorf("the ordinary screen gets %q", ordinary)
	}
}

func TestLogLinesAreOnTheOrdinaryScreenOnceTheDisplayIsClosed(t *testing.T) {
	t.Parallel()
	program, window := openTerminal(t, 80, 24)
	drawn := drain(t, window)
	d := terminal.Start(terminal.Options{Screen: program, Environ: []string{"TERM=xterm"}, LogFile: "the.log"})
	for i := range 1010 {
		fmt.Fprintf(d, "line %d\n", i)
	}
	d.Close()
	d.Close() // again does nothing
	fmt.Fprintln(d, "line after")
	program.Close()
	all := drawn.until("line after\r\n")
	_, ordinary, left := strings.Cut(all, "\x1b[?1049l")
	if !left {
		t.Fatalf("the alternate screen was not left: %q", all)
	}
	if !strings.Contains(ordinary, "… 10 earlier lines are in the.log\r\nline 10\r\n") || strings.Count(ordinary, "line 1009\r\n") != 1 || strings.Contains(ordinary, "line 9\r\n") {
		t.Errorf("the ordinary screen gets %q", ordinary)
	}
	if err := d.Err(); err != nil {
		t.Error(err)
	}
}

func TestADisplayWithoutAKeyboardNamesNoKey(t *testing.T) {
	t.Parallel()
	program, window := openTerminal(t, 80, 24)
	drawn := drain(t, window)
	d := terminal.Start(terminal.Options{Screen: program, Keys: strings.NewReader("q"), Environ: []string{"TERM=xterm"}})
	defer d.Close()
	if all := drawn.until("Ctrl-C"); strings.Contains(all, "q or") {
		t.Errorf("it names a key that it does not read: %q", all)
	}
}

// BenchmarkDisplayOfAHundredSessions draws at the real rate and reports the share of a
// core that it takes.
func BenchmarkDisplayOfAHundredSessions(b *testing.B) {
	program, window := openTerminal(b, 200, 50)
	go io.Copy(io.Discard, window)
	var steps [10]progress.Progress
	for step := range steps {
		steps[step] = busy().Progress
		steps[step].Sessions = nil
		for i := range 100 {
			steps[step].Sessions = append(steps[step].Sessions, session(fmt.Sprintf("GH-%d", i), "A title of some length", i, fmt.Sprintf("running step %d", 7*step+i)))
		}
	}
	d := terminal.Start(terminal.Options{Screen: program, Environ: []string{"TERM=xterm-256color"}, Redact: redact.New("a secret of this run").String})
	defer d.Close()
	before, began, step := cpuTime(b), time.Now(), 0
	for b.Loop() {
		d.Show(steps[step%len(steps)])
		step++
		time.Sleep(100 * time.Millisecond)
	}
	b.ReportMetric(100*float64(cpuTime(b)-before)/float64(time.Since(began)), "%core")
}

// cpuTime returns what this process has used.
func cpuTime(t testing.TB) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func TestADisplayThatPanicsGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	program, window := openTerminal(t, 80, 24)
	drawn := drain(t, window)
	d := terminal.Start(terminal.Options{Screen: program, Environ: []string{"TERM=xterm"}, Redact: func(text string) string {
		if text == "github" {
			panic("redact")
		}
		return text
	}})
	drawn.until("\x1b[?1049h")
	fmt.Fprintln(d, "line before")
	d.Show(busy().Progress)
	drawn.until("\x1b[?1049l")
	all := drawn.until("line before\r\n")
	if _, ordinary, _ := strings.Cut(all, "\x1b[?1049l"); !strings.Contains(ordinary, "\x1b[?25h") {
		t.Errorf("the cursor stays hidden: %q", all)
	}
	d.Close()
}
