package text

import (
	"bytes"
	"fmt"
	"io"
)

// LineWriter writes whole lines of an untrusted text as Safe makes them.
type LineWriter struct {
	To   io.Writer
	Safe func(line string) string

	rest []byte
}

// maxPart is the length from which on a line is written in parts, in bytes.
const maxPart = 64 << 10

// Write never fails: a writer goes on when nobody reads its output.
func (l *LineWriter) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole && len(l.rest) < maxPart {
			return len(p), nil
		}
		l.rest = bytes.Clone(rest)
		fmt.Fprintln(l.To, l.Safe(string(line)))
	}
}

// End writes the rest after the last whole line.
func (l *LineWriter) End() {
	if len(l.rest) > 0 {
		fmt.Fprintln(l.To, l.Safe(string(l.rest)))
	}
}
