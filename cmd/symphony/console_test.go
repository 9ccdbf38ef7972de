package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/redact"
	"github.com/symphony-runner/symphony/runner/schedule"
)

var busy = progress.Progress{
	Sessions: []progress.Session{
		{Claim: schedule.Claim{Identifier: "A-1", Turns: 2, Live: schedule.Usage{Input: 12000, Output: 345}}, Started: time.Unix(0, 0), Doing: "running `npm test`"},
		{Claim: schedule.Claim{Identifier: "A-2"}, Started: time.Unix(60, 0)},
	},
	Waiting: []schedule.Claim{{}},
	Spent:   schedule.Spent{Usage: schedule.Usage{Input: 20000}},
}

func TestTheDisplayFitsTheTerminal(t *testing.T) {
	want := []string{
		"A-1         1m05s  turn 2      12.3k tok  running `npm test`",
		"A-2            5s  turn 0          0 tok  preparing",
		"— 2 running · 1 waiting · 20k tokens",
	}
	if diff := cmp.Diff(want, liveLines(busy, time.Unix(65, 0), 80)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	narrow := []string{"A-1         1m05s  running `npm test`", "A-2            5s  preparing", "— 2 running · 1 waiting · 20k tokens"}
	if diff := cmp.Diff(narrow, liveLines(busy, time.Unix(65, 0), 40)); diff != "" {
		t.Errorf("40 columns (-want +got):\n%s", diff)
	}
	for _, line := range liveLines(busy, time.Unix(65, 0), 30) {
		if n := len([]rune(line)); n > 29 {
			t.Errorf("%d columns of 30: %q", n, line)
		}
	}
	if lines := liveLines(progress.Progress{}, time.Unix(0, 0), 80); len(lines) != 0 {
		t.Errorf("nothing runs, and it shows %q", lines)
	}
}

func TestLogLinesGoAboveTheDisplay(t *testing.T) {
	var out bytes.Buffer
	c := &console{live: true, out: &out, redactor: redact.New(), state: busy, stop: make(chan struct{}), done: make(chan struct{})}
	close(c.done)
	c.mu.Lock()
	c.drawLocked()
	c.mu.Unlock()
	if _, err := c.Write([]byte("a log line\n")); err != nil {
		t.Fatal(err)
	}
	c.close()
	if screen := play(out.String()); screen != "a log line\n" {
		t.Errorf("the screen shows at the end:\n%s", screen)
	}
	if _, err := c.Write([]byte("later\n")); err != nil {
		t.Fatal(err)
	}
	if screen := play(out.String()); screen != "a log line\nlater\n" {
		t.Errorf("the screen shows later:\n%s", screen)
	}
}

// play returns what a terminal shows of what was written to it.
func play(written string) string {
	var screen []string
	for i, part := range strings.Split(written, "\x1b[") {
		if i > 0 {
			move, rest, _ := strings.Cut(part, "A")
			if !strings.HasPrefix(part, "J") {
				up := int(move[0] - '0')
				screen = screen[:len(screen)-up]
				part = rest
			} else {
				part = part[1:]
			}
		}
		screen = append(screen, strings.SplitAfter(part, "\n")...)
		for len(screen) > 0 && screen[len(screen)-1] == "" {
			screen = screen[:len(screen)-1]
		}
	}
	return strings.Join(screen, "")
}

func TestAStreamThatIsNoTerminalGetsNoDisplay(t *testing.T) {
	var out bytes.Buffer
	c := newConsole(&out, true, redact.New())
	c.show(busy)
	if _, err := c.Write([]byte("a log line\n")); err != nil {
		t.Fatal(err)
	}
	c.close()
	if out.String() != "a log line\n" {
		t.Errorf("it got %q", &out)
	}
}

// A pager that is closed, or a full disk, must not end a tick with sessions in it.
func TestATickGoesOnWhenItsLogCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (*os.File, error){
		"a pipe that nobody reads": func() (*os.File, error) {
			r, w, err := os.Pipe()
			if err == nil {
				err = r.Close()
			}
			return w, err
		},
		"a disk that is full": func() (*os.File, error) { return os.OpenFile("/dev/full", os.O_WRONLY, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, err := open()
			if err != nil {
				t.Skip(err) // no such device here
			}
			defer log.Close()
			p := newProject(t, scripted(t, filepath.Join(t.TempDir(), "agent")), map[string]string{
				"A-1": "---\ntitle: A title\nstate: Todo\n---\n- [ ] Create `new.txt` containing `new`\n- [ ] Move this issue to `Review`\n",
			})
			var report bytes.Buffer
			cmd := p.command(t.Context(), "--once")
			cmd.Stdout, cmd.Stderr = &report, log
			if err := cmd.Run(); err != nil {
				t.Errorf("the tick: %v\n%s", err, &report)
			}
			if text := p.read("workspaces/A-1/new.txt"); text != "new\n" {
				t.Errorf("the agent wrote %q", text)
			}
			if !strings.Contains(report.String(), "the log cannot be written") {
				t.Errorf("the report does not say so:\n%s", &report)
			}
		})
	}
}
