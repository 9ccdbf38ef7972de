package codex_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
)

// passesBothOutputs has a program that ends when its output was read: see [codex.Exec.Stdout].
func passesBothOutputs(c *testbed, s testSession) {
	var mu sync.Mutex
	var out, errs bytes.Buffer
	const size = 588_895 // of the numbers
	keep := func(into *bytes.Buffer) writerFunc {
		return func(b []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			into.Write(b)
			if out.Len() == size && errs.Len() == size {
				c.write("workspaces/own/both", "")
			}
			return len(b), nil
		}
	}
	got, err := s.Exec(c.t.Context(), codex.Exec{
		Argv:   []string{"sh", "-c", "cat; seq 100000; seq 100000 >&2; until [ -e both ]; do sleep 0.1; done; exit 7"},
		Stdout: keep(&out), Stderr: keep(&errs), Timeout: time.Minute,
	})
	if err != nil || got.ExitCode != 7 || out.String() != errs.String() || !strings.HasSuffix(out.String(), "\n100000\n") {
		c.t.Errorf("%+v, %v: %d and %d bytes", got, err, out.Len(), errs.Len())
	}
}

// givesATerminal types at a shell as a person does. Its commands are in the
// sandbox of all others.
func givesATerminal(c *testbed, s testSession) {
	keys, typed := io.Pipe()
	screen := &screen{changed: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	wg.Go(func() {
		types := func(text, answer string) {
			if _, err := io.WriteString(typed, text); err != nil || !screen.shows(c.t, answer) {
				c.t.Errorf("%q: %v, and the screen shows %q", text, err, screen.text())
			}
		}
		types("tty && stty size\r", "30 100")
		types("cut -d: -f1 -s /proc/net/dev | tr -d ' ' | paste -sd+ | sed 's/^/in:/'\r", "in:lo")
		types("touch /etc/of-the-agent; echo st''atus $?\r", "status 1")
		if _, err := io.WriteString(typed, "exit 5\r"); err != nil {
			c.t.Error(err)
		}
	})
	got, err := s.Exec(c.t.Context(), codex.Exec{
		Argv: []string{"bash", "--norc", "--noprofile", "-i"}, Stdout: screen, Timeout: time.Minute,
		Terminal: &codex.Terminal{Size: codex.Size{Columns: 100, Rows: 30}, Keys: keys},
	})
	keys.CloseWithError(errors.New("the program has ended"))
	wg.Wait()
	if err != nil || got.ExitCode != 5 || strings.Contains(screen.text(), "not a tty") {
		c.t.Errorf("%+v, %v:\n%s", got, err, screen.text())
	}
}

// screen is what a program has written to its terminal.
type screen struct {
	mu      sync.Mutex
	bytes   bytes.Buffer
	changed chan struct{} // has room for one
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return s.bytes.Write(p)
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes.String()
}

// shows waits until the screen shows a text. It returns false if it never does.
func (s *screen) shows(t testing.TB, text string) bool {
	late := time.After(30 * time.Second)
	for !strings.Contains(s.text(), text) {
		select {
		case <-s.changed:
		case <-late:
			return false
		case <-t.Context().Done():
			return false
		}
	}
	return true
}

func endsWithItsKeys(c *testbed, s testSession) {
	_, err := s.Exec(c.t.Context(), codex.Exec{
		Argv: []string{"sleep", uniqueTime()}, Terminal: &codex.Terminal{Size: codex.Size{Columns: 80, Rows: 24}, Keys: strings.NewReader("a")},
	})
	if !errors.Is(err, codex.ErrExecKilled) || !errors.Is(err, io.EOF) {
		c.t.Error(err)
	}
}
