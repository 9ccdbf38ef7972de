package main

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/runlog"
	"github.com/symphony-runner/symphony/runner/terminal"
)

// console is standard error: a live display on a terminal, otherwise a plain writer.
type console struct {
	display *terminal.Display // nil: a plain writer
	out     io.Writer
	file    *runlog.File // the whole log while there is a display; nil for none
	redact  func(string) string

	mu  sync.Mutex
	err error // error of the first log line that could not be written
}

// console returns the console of standard error. It is live if that is wanted and
// possible; then the whole log is kept in a file beside the state.
func (a *app) console(live bool, workflowPath string) *console {
	c := &console{out: a.Stderr, redact: a.redactor.String}
	screen, ok := a.Stderr.(*os.File)
	if !live || !ok || !wantsDisplay(a.Process) || !terminal.Possible(screen) {
		return c
	}
	var file *runlog.File
	err := wiring.MakeDataFolder(workflowPath)
	if err == nil {
		file, err = runlog.OpenFile(wiring.DataFolder(workflowPath))
	}
	if err != nil {
		a.warn("the log is not kept in a file: " + err.Error())
	}
	c.file = file
	c.display = terminal.Start(terminal.Options{
		Screen: screen, Keys: a.Stdin, Environ: a.Environ, Redact: a.redactor.String, Interrupt: func() { go a.Interrupts.Interrupt() }, LogFile: file.Path(),
		Dumps: wantsDumps(a.Value),
	})
	a.Interrupts.OnEach(c.display.End, c.close)
	return c
}

// wantsDisplay reports whether the environment allows a live display: not on a terminal
// that cannot move its cursor, and not in CI. Without colors it is shown in black and white.
func wantsDisplay(p wiring.Process) bool {
	kind, ci := p.Value("TERM"), p.Value("CI")
	return kind != "" && kind != "dumb" && (ci == "" || ci == "false") && !p.Actions.InActions()
}

func (c *console) isLive() bool { return c.display != nil }

// handler returns a handler that logs to the console.
func (c *console) handler() slog.Handler {
	switch {
	case c.display == nil:
		return slog.NewTextHandler(c, nil)
	case c.file == nil:
		return terminal.NewLogHandler(c, c.redact)
	}
	return slog.NewMultiHandler(terminal.NewLogHandler(c, c.redact), slog.NewTextHandler(c.file, nil))
}

// Write writes log lines.
func (c *console) Write(text []byte) (int, error) {
	if c.display != nil {
		return c.display.Write(text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.out.Write(text)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// showSessions makes the console show sessions too. From then on nobody who writes a log line
// has to wait.
func (c *console) showSessions(o runlog.Options) *runlog.Sessions {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := runlog.NewSessions(c.out, o)
	c.out = s
	return s
}

// fail notes the error by which log lines were lost; nil if none was lost.
func (c *console) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// failure returns the first error by which log lines were lost; nil if none was lost.
func (c *console) failure() error {
	if c.display != nil {
		return errors.Join(c.display.Err(), c.file.Failure())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// close removes the display; later output passes unchanged.
func (c *console) close() {
	if c.display != nil {
		c.display.Close()
	}
}

// wantsDumps reports whether a developer asks for the goroutines when Ctrl-\ ends the program.
// Go always prints them at a fatal error, such as no memory: nothing keeps it from that.
func wantsDumps(getenv func(string) string) bool { return getenv("GOTRACEBACK") != "" }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
