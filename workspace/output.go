package workspace

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

// tailSize is how much of a child's output errors and logs show, in bytes.
const tailSize = 2 << 10

// pipe is the read end of a child's output. Once released it gives what is
// still buffered and then io.EOF, even if a process that should be dead holds
// the other end open.
type pipe struct{ f *os.File }

func (p pipe) Read(b []byte) (int, error) {
	n, err := p.f.Read(b)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return p.rest(b)
	case errors.Is(err, os.ErrClosed):
		return 0, io.EOF
	}
	return n, err
}

// rest reads what is there without waiting.
func (p pipe) rest(b []byte) (n int, err error) {
	raw, err := p.f.SyscallConn()
	if err != nil {
		return 0, io.EOF // closed
	}
	raw.Control(func(fd uintptr) { n, err = syscall.Read(int(fd), b) })
	if err != nil || n <= 0 {
		return 0, io.EOF
	}
	return n, nil
}

// release makes every read, also one that waits already, return at once.
func (p pipe) release() { p.f.SetReadDeadline(time.Unix(0, 0)) }

// hold undoes release.
func (p pipe) hold() { p.f.SetReadDeadline(time.Time{}) }

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
	cut bool
}

func (t *tail) write(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
		t.cut = true
	}
}

// String is the tail as one harmless line, marked when something is missing.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := harmless(t.buf)
	if t.cut {
		return "[...] " + line
	}
	return line
}

// harmless makes one line of valid UTF-8 without control or format characters,
// so that no output can forge a log line, an escape sequence or a direction of
// writing.
func harmless(b []byte) string {
	s := strings.ReplaceAll(strings.TrimSpace(string(b)), "\n", " | ")
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\t':
			return ' '
		case c == '\r':
			return -1
		case c != ' ' && !unicode.IsPrint(c):
			return utf8.RuneError
		}
		return c
	}, s)
}

// collect reads a child's output to its end into the tail and shows each line,
// or the pieces of a long one, to the log.
func (t *tail) collect(ctx context.Context, r io.Reader, log *slog.Logger) {
	lines := bufio.NewReaderSize(r, tailSize)
	for {
		line, unfinished, err := lines.ReadLine()
		if err != nil {
			return
		}
		t.write(line)
		if !unfinished {
			t.write([]byte{'\n'})
		}
		if log.Enabled(ctx, slog.LevelDebug) {
			log.DebugContext(ctx, "output", "line", harmless(line))
		}
	}
}
