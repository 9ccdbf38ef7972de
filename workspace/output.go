package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// tailSize bounds the part of a child's output that errors and logs show, in bytes.
const tailSize = 2 << 10

// pipe is the read end of a child's output. After expire, Read returns the buffered rest and
// then io.EOF, even if a process that should be dead holds the other end open.
type pipe struct{ f *os.File }

// Read implements [io.Reader].
func (p pipe) Read(b []byte) (int, error) {
	n, err := p.f.Read(b)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return p.readBuffered(b)
	case errors.Is(err, os.ErrClosed):
		return 0, io.EOF
	}
	return n, err
}

// readBuffered reads the bytes in the pipe without waiting, else it returns io.EOF.
func (p pipe) readBuffered(b []byte) (n int, err error) {
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

// expire makes every Read, including one that is waiting, return immediately.
func (p pipe) expire() { p.f.SetReadDeadline(time.Unix(0, 0)) }

func (p pipe) resume() { p.f.SetReadDeadline(time.Time{}) }

// tail keeps the end of a child's output.
type tail struct{ text.Tail }

func newTail() *tail { return &tail{text.Tail{Limit: tailSize}} }

// String returns the tail as one sanitized line, which begins with "[...]" if the
// output was longer.
func (t *tail) String() string {
	end, cut := t.End()
	line := text.Output(string(end), 3*tailSize) // separators are longer than line feeds
	if cut {
		return "[...] " + line
	}
	return line
}

// lines returns the tail as it was written, without the beginning of a line that is not
// whole. If that line is all there is, it begins at a word: a part of a word can be a part
// of a secret, which nobody would recognise.
func (t *tail) lines() string {
	end, cut := t.End()
	if !cut {
		return string(end)
	}
	_, rest, _ := bytes.Cut(end, []byte("\n"))
	if len(bytes.TrimSpace(rest)) > 0 {
		return "[...]\n" + string(rest)
	}
	if at := bytes.IndexAny(end, " \t"); at >= 0 {
		return "[...]" + string(end[at:])
	}
	return "[...]\n"
}

// collect reads a child's output to its end into the tail, and logs each line, or the
// pieces of a long one, at debug level.
func (t *tail) collect(ctx context.Context, r io.Reader, log *slog.Logger) {
	lines := bufio.NewReaderSize(r, tailSize)
	for {
		line, unfinished, err := lines.ReadLine()
		if err != nil {
			return
		}
		_, _ = t.Write(line)
		if !unfinished {
			_, _ = t.Write([]byte{'\n'})
		}
		if log.Enabled(ctx, slog.LevelDebug) {
			log.DebugContext(ctx, "output", "line", text.Output(string(line), tailSize))
		}
	}
}
