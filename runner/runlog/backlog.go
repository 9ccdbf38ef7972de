package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	// maxBacklog bounds the bytes that wait in a backlog. Later lines are lost.
	maxBacklog = 1 << 20
	// roomyBacklog bounds the bytes that wait before awaitRoom waits.
	roomyBacklog = 64 << 10
)

// errUnread is the error of a backlog that was given up before everything was written.
var errUnread = errors.New("nobody reads it")

// backlog is a log in front of a writer that may be slow, as a pager or a terminal that
// somebody stopped is. A write to it never waits: its lines wait in memory.
type backlog struct {
	w io.Writer

	mu        sync.Mutex
	changed   sync.Cond // signals each change of the fields below
	waiting   []byte
	lost      int   // lines lost after the waiting ones
	busy      bool  // drain is writing to w
	ending    bool  // settle was called: once nothing waits, Write writes to w itself
	abandoned bool  // nobody waits any longer for w
	err       error // first error of w; nothing is written after it
}

// newBacklog returns a backlog in front of w. Settle it.
func newBacklog(w io.Writer) *backlog {
	b := &backlog{w: w}
	b.changed.L = &b.mu
	go b.drain()
	return b
}

// Write writes whole lines, without waiting for w.
func (b *backlog) Write(lines []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil:
		return 0, b.err
	case b.isDrained() && b.ending:
		return b.w.Write(lines)
	case len(b.waiting)+len(lines) > maxBacklog:
		b.lost += bytes.Count(lines, []byte("\n"))
	default:
		b.waiting = append(b.waiting, lines...)
		b.changed.Broadcast()
	}
	return len(lines), nil
}

// drain writes the waiting lines, until the backlog is settled or w fails.
func (b *backlog) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		for len(b.waiting) == 0 && !b.ending {
			b.changed.Wait()
		}
		if len(b.waiting) == 0 {
			return
		}
		lines := b.waiting
		if b.lost > 0 {
			noun := "lines"
			if b.lost == 1 {
				noun = "line"
			}
			lines = fmt.Appendf(lines, "[… %d %s of the log are lost, because nobody read it …]\n", b.lost, noun)
		}
		b.waiting, b.lost, b.busy = nil, 0, true
		b.mu.Unlock()
		_, err := b.w.Write(lines)
		b.mu.Lock()
		b.busy = false
		b.changed.Broadcast()
		if err != nil {
			b.err, b.waiting = err, nil
			return
		}
	}
}

// isDrained reports whether all was written. b.mu must be held.
func (b *backlog) isDrained() bool { return len(b.waiting) == 0 && !b.busy }

// awaitRoom waits until only little waits, or the backlog is given up.
func (b *backlog) awaitRoom() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.waiting) >= roomyBacklog && !b.abandoned {
		b.changed.Wait()
	}
}

func (b *backlog) giveUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.abandoned = true
	b.changed.Broadcast()
}

// settle waits until all was written or the backlog is given up. Later writes go to w directly.
// If lines are lost, it returns the reason as an error.
func (b *backlog) settle() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ending = true
	b.changed.Broadcast()
	for !b.isDrained() && !b.abandoned {
		b.changed.Wait()
	}
	if b.err == nil && !b.isDrained() {
		return errUnread
	}
	return b.err
}
