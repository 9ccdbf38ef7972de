package runlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
)

// followEvery is the time between two reads of a log that is being written.
const followEvery = 200 * time.Millisecond

// Follower shows one event log, to its end or while it grows.
type Follower struct {
	Log    *io.LimitedReader // its rest is not shown
	Redact func(string) string
	Follow bool                                                 // wait for the end of the session
	Show   func(lines []byte, entries []transcript.Entry) error // shows whole lines, and the entries that they complete
	Doing  func(string)                                         // replaces the text below the last entry; nil for nothing

	reader  transcript.Reader
	partial []byte // a line whose end has not come
	doing   string // text below the last entry
}

// Run shows the log. It fails with [schedule.ErrInterrupted] if ctx ends before a session that it
// follows.
func (f *Follower) Run(ctx context.Context) error {
	f.reader.Redact = f.Redact
	part := make([]byte, 64<<10)
	for f.Log.N > 0 {
		running := f.Follow && f.IsRunning() // asked before the read, which then has all that the session wrote
		n, err := f.Log.Read(part)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the log of the session: %w", err)
		}
		if err := f.take(part[:n]); err != nil {
			return err
		}
		if n > 0 || err == nil {
			continue
		}
		if !running || f.reader.Outcome() != nil {
			break
		}
		f.showDoing(f.reader.Doing())
		select {
		case <-time.After(followEvery):
		case <-ctx.Done():
			f.showDoing("")
			return schedule.ErrInterrupted
		}
	}
	f.showDoing("")
	entries := f.reader.End
	if f.reader.Outcome() == nil && f.IsRunning() { // then it is not followed
		entries = f.reader.Now
	}
	return f.Show([]byte(f.Redact(string(f.partial))), entries())
}

// IsRunning reports whether the session of the log runs.
func (f *Follower) IsRunning() bool {
	file, ok := f.Log.R.(*os.File)
	return ok && transcript.IsBeingWritten(file)
}

// take shows a part of the log. It keeps a line whose end has not come for the next part.
func (f *Follower) take(part []byte) error {
	lines, rest := []byte(nil), part
	if end := bytes.LastIndexByte(part, '\n') + 1; end > 0 {
		lines, rest = append(f.partial, part[:end]...), part[end:]
		f.partial = nil
	}
	f.partial = append(f.partial, rest...)
	entries := f.reader.Feed(part)
	if len(lines) == 0 {
		return nil
	}
	f.showDoing("")
	return f.Show([]byte(f.Redact(string(lines))), entries)
}

func (f *Follower) showDoing(doing string) {
	if f.Doing != nil && f.Follow && doing != f.doing {
		f.doing = doing
		f.Doing(doing)
	}
}
