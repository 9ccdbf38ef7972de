package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/redact"
	"github.com/symphony-runner/symphony/runner/report"
)

// redraw is the time between two changes of a live display.
const redraw = 200 * time.Millisecond

// console is standard error. On a terminal its last lines show what the
// sessions are doing; log lines go above them. Elsewhere it is a plain writer.
type console struct {
	live     bool
	out      io.Writer
	redactor *redact.Redactor

	mu    sync.Mutex
	err   error // of the first log line that could not be written
	state progress.Progress
	drawn int // lines on the screen that are ours to erase
	stop  chan struct{}
	done  chan struct{}
}

// console returns the console of standard error. It is live if that is wanted and
// possible: on a terminal that can move its cursor.
func (a *app) console(live bool) *console {
	term, _ := a.getenv("TERM")
	return newConsole(a.stderr, live && term != "dumb", a.redactor)
}

// newConsole returns a console on w, which is live if that is wanted and w is a
// terminal.
func newConsole(w io.Writer, wanted bool, r *redact.Redactor) *console {
	c := &console{out: w, redactor: r, stop: make(chan struct{}), done: make(chan struct{})}
	f, ok := w.(*os.File)
	c.live = wanted && ok && term.IsTerminal(int(f.Fd()))
	if !c.live {
		close(c.done)
		return c
	}
	go c.tick()
	return c
}

// tick redraws until close.
func (c *console) tick() {
	defer close(c.done)
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.mu.Lock()
			c.drawLocked()
			c.mu.Unlock()
		case <-c.stop:
			return
		}
	}
}

// show replaces what the display shows, from the next redraw.
func (c *console) show(p progress.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = p
}

// Write writes log lines above the display.
func (c *console) Write(text []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	live := c.live
	if live {
		c.eraseLocked()
	}
	n, err := c.out.Write(text)
	if live {
		c.drawLocked()
	}
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// failure returns why log lines were lost; nil when none was.
func (c *console) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// close removes the display; what is written later passes unchanged.
func (c *console) close() {
	c.mu.Lock()
	live := c.live
	c.live = false
	if live {
		c.eraseLocked()
		close(c.stop)
	}
	c.mu.Unlock()
	<-c.done
}

func (c *console) eraseLocked() {
	if c.drawn > 0 {
		fmt.Fprintf(c.out, "\x1b[%dA\x1b[J", c.drawn)
		c.drawn = 0
	}
}

// drawLocked replaces the display in one write, so that it does not flicker.
func (c *console) drawLocked() {
	if !c.live {
		return
	}
	var screen bytes.Buffer
	if c.drawn > 0 {
		fmt.Fprintf(&screen, "\x1b[%dA\x1b[J", c.drawn)
	}
	lines := liveLines(redacted(c.state, c.redactor), time.Now(), width(c.out))
	for _, line := range lines {
		screen.WriteString(line + "\n")
	}
	c.drawn = len(lines)
	c.out.Write(screen.Bytes())
}

// wideDisplay is the width in columns from which the display shows turns and tokens
// beside what a session is doing.
const wideDisplay = 60

// liveLines returns the display: a line for each session, and one for the rest.
func liveLines(p progress.Progress, now time.Time, columns int) []string {
	if len(p.Sessions)+len(p.Waiting)+len(p.Parked) == 0 {
		return nil
	}
	var lines []string
	for _, s := range p.Sessions {
		head := fmt.Sprintf("%-10s %6s  ", s.Claim.Identifier, report.Duration(now.Sub(s.Started)))
		if columns >= wideDisplay {
			head += fmt.Sprintf("turn %-2d %9s tok  ", s.Claim.Turns, report.Number(s.Claim.Live.Total()))
		}
		what := s.Doing
		if what == "" {
			what = "preparing"
		}
		lines = append(lines, report.Fit(head+what, columns-1))
	}
	rest := []string{fmt.Sprintf("%d running", len(p.Sessions))}
	if n := len(p.Waiting); n > 0 {
		rest = append(rest, fmt.Sprintf("%d waiting", n))
	}
	if n := len(p.Parked); n > 0 {
		rest = append(rest, fmt.Sprintf("%d parked", n))
	}
	rest = append(rest, report.Number(p.Spent.Usage.Total())+" tokens")
	return append(lines, report.Fit("— "+strings.Join(rest, " · "), columns-1))
}
