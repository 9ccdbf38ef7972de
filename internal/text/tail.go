package text

import (
	"bytes"
	"slices"
	"sync"
)

// Tail keeps the end of what is written to it. It may be used concurrently.
type Tail struct {
	Limit int // bytes that are kept

	mu   sync.Mutex
	kept []byte
	cut  bool
}

// Write implements [io.Writer]. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.Limit; over > 0 {
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
	return len(p), nil
}

// End returns the bytes that are kept, and reports whether others came before them.
func (t *Tail) End() (kept []byte, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.kept), t.cut
}

// FromWord returns the end from its first word that is whole: a part of one can be a part of a
// secret, which nobody would recognise.
func (t *Tail) FromWord() string {
	kept, cut := t.End()
	if !cut {
		return string(kept)
	}
	at := bytes.IndexAny(kept, " \t\r\n")
	if at < 0 {
		at = len(kept)
	}
	return "[...]" + string(kept[at:])
}
