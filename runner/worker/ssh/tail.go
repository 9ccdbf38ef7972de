package ssh

import (
	"bytes"
	"log/slog"
	"sync"

	"github.com/symphony-runner/symphony/internal/text"
)

// maxTail is the number of bytes that a tail keeps.
const maxTail = 4 << 10

// tail keeps the end of what is written, and logs its lines.
type tail struct {
	log *slog.Logger // nil for none

	mu   sync.Mutex
	kept []byte
	line []byte // the last one, while it has no end
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = lastBytes(t.kept, p)
	for part := range bytes.Lines(p) {
		if t.line = lastBytes(t.line, part); bytes.HasSuffix(part, []byte("\n")) {
			if t.log != nil {
				t.log.Debug("output of ssh", "line", text.OneLine(string(t.line), maxTail))
			}
			t.line = t.line[:0]
		}
	}
	return len(p), nil
}

// lastBytes returns the end of kept and more, in the memory of kept.
func lastBytes(kept, more []byte) []byte {
	kept = append(kept, more[max(0, len(more)-maxTail):]...)
	if over := len(kept) - maxTail; over > 0 {
		return kept[:copy(kept, kept[over:])]
	}
	return kept
}

// String returns the end of what was written.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
