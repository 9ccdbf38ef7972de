package store

import (
	"errors"
	"fmt"
	"time"
)

// The categories of this package's errors, for errors.Is. None of them changes the
// stored state, with one exception: if GitHub's answer to a save is lost and GitHub
// cannot be asked again, the save may have taken place. Its error then says so. Each
// package declares its own categories: the leaves import nothing of each other.
var (
	// ErrConflict reports that somebody else has saved since the Load. Load and plan
	// again.
	ErrConflict = errors.New("state_conflict")
	// ErrUnreadable reports a state that is damaged, cut off, not ours, or cannot be
	// opened.
	ErrUnreadable = errors.New("state_unreadable")
	// ErrNewer reports a state that a newer version of this program wrote.
	ErrNewer = errors.New("state_newer")
	// ErrLocked reports that another run has the state open; see [LockedError].
	ErrLocked = errors.New("state_locked")
	// ErrInvalid reports that the state to save is too large or contradicts itself.
	ErrInvalid = errors.New("state_invalid")
	// ErrRefused reports a setting or a permission that a person must change: GitHub
	// refuses the request, or the request cannot be made.
	ErrRefused = errors.New("state_refused")
	// ErrUnavailable reports that GitHub cannot be reached, has a fault, or limits the
	// rate.
	ErrUnavailable = errors.New("state_unavailable")
)

// LockedError is an [ErrLocked] that names the process that has the state open. The
// holder writes the lock file a moment after it has locked it, so the fields other
// than Path may be zero. They are for people; no decision depends on them.
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

// unreadable returns an [ErrUnreadable] with what is wrong and what to do.
func unreadable(format string, args ...any) error {
	return fmt.Errorf("%w: %w: nothing was changed: restore it from a backup, or move it away to begin with no claims",
		ErrUnreadable, fmt.Errorf(format, args...))
}
