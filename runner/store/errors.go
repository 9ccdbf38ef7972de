package store

import (
	"errors"
	"fmt"
	"time"
)

// The categories of this package's errors; find them with errors.Is. After any
// of them the stored state is what it was; only when GitHub could not be reached
// to ask, a save that failed may have been done, and its error says so.
var (
	// ErrConflict: somebody saved in between. Load and plan again.
	ErrConflict = errors.New("state_conflict")
	// ErrUnreadable: damaged, cut off, not ours, or not to be opened.
	ErrUnreadable = errors.New("state_unreadable")
	// ErrNewer: a newer version of this program wrote it.
	ErrNewer = errors.New("state_newer")
	// ErrLocked: another run has the state open; see [LockedError].
	ErrLocked = errors.New("state_locked")
	// ErrInvalid: the state to save is too large or contradicts itself.
	ErrInvalid = errors.New("state_invalid")
	// ErrRefused: GitHub will not do it as things are, or cannot be asked so.
	ErrRefused = errors.New("state_refused")
	// ErrUnavailable: GitHub cannot be reached, has a fault, or limits the rate.
	ErrUnavailable = errors.New("state_unavailable")
)

// LockedError is an [ErrLocked] with who has the state open. The lock file is
// written by its holder a moment after it was locked, so this is for people: it
// may be empty, and nothing is decided by it.
type LockedError struct {
	Path    string // of the state
	PID     int
	Host    string
	Since   time.Time
	Command string
}

func (e *LockedError) Error() string {
	holder := "another run"
	if e.PID > 0 {
		holder = fmt.Sprintf("process %d on %s since %s (%s)", e.PID, e.Host, e.Since.Format(time.RFC3339), e.Command)
	}
	return fmt.Sprintf("open state %s: %v: %s has it open: wait until it ends, or stop it", e.Path, ErrLocked, holder)
}

func (e *LockedError) Unwrap() error { return ErrLocked }

// unreadable is an [ErrUnreadable] with what is wrong and what to do.
func unreadable(format string, args ...any) error {
	return fmt.Errorf("%w: %w: nothing was changed: restore it from a backup, or move it away to begin with no claims",
		ErrUnreadable, fmt.Errorf(format, args...))
}
