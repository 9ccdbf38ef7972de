package store

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/symphony-runner/symphony/internal/bounds"
	"github.com/symphony-runner/symphony/internal/transport"
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
	Path string // path of the state
	Holder
}

// maxShownCommand bounds the command in the text of a [LockedError], in characters: the
// advice comes after it.
const maxShownCommand = 60

func (e *LockedError) Error() string {
	holder := "another run"
	if e.PID > 0 {
		holder = fmt.Sprintf("process %d on %s since %s (%s)", e.PID, e.Host, e.Started.Format(time.RFC3339), bounds.Line(e.Command, maxShownCommand))
	}
	return fmt.Sprintf("open state %s: %v: %s has it open: wait until it ends, or stop it", e.Path, ErrLocked, holder)
}

func (e *LockedError) Unwrap() error { return ErrLocked }

// requestError is the failure of a request to GitHub, in the category of the store.
type requestError struct {
	op       string
	category error
	failure  *transport.Error // its remedy may be replaced by a better one
}

func (e *requestError) Error() string {
	return fmt.Sprintf("%s: %v: %v", e.op, e.category, e.failure)
}

func (e *requestError) Unwrap() []error { return []error{e.category, e.failure} }

// failed returns the error of a request, nil for nil; op names the operation. GitHub refuses a
// fault that a person must mend with a status below 500.
func failed(op string, err error) error {
	e, ok := errors.AsType[*transport.Error](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("%s: %w: %w", op, ErrRefused, err)
	case e.Kind == transport.NotSent || e.Kind == transport.Refused && !e.InDoubt():
		return &requestError{op, ErrRefused, e}
	}
	return &requestError{op, ErrUnavailable, e}
}

// refusal returns GitHub's refusal of a request, nil for another error.
func refusal(err error) *transport.Error {
	if e, ok := errors.AsType[*transport.Error](err); ok && e.Kind == transport.Refused && !e.InDoubt() {
		return e
	}
	return nil
}

// notRead returns an [ErrUnreadable] for a file that may be whole. It must not send people
// to move it away: the claims in it would be forgotten.
func notRead(err error) error {
	return fmt.Errorf("%w: %w: nothing was changed: %s", ErrUnreadable, err, remedy(err, "name a regular file that this user may read, or correct its permissions"))
}

// remedy returns the advice for the failure of a call of the operating system: usual, unless
// the machine is the cause.
func remedy(err error, usual string) string {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "end what holds files open, or raise the limit (ulimit -n)"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "make room on the disk"
	case errors.Is(err, syscall.EROFS):
		return "mount the disk so that it can be written, or keep the state elsewhere"
	case errors.Is(err, syscall.EIO):
		return "check the disk"
	}
	return usual
}

// unreadable returns an [ErrUnreadable] with the defect of a state and the advice. The advice
// begins with the runs that use the state, because a backup lacks their latest claims.
func unreadable(format string, args ...any) error {
	return fmt.Errorf("%w: %w: nothing was changed: end the runs that use it, then restore it from a backup, or move it away to begin with no claims",
		ErrUnreadable, fmt.Errorf(format, args...))
}

// vanished returns an [ErrUnreadable] for a state that a run has read and that is gone. A run
// that began again with no claims would work on issues on which its own sessions still work.
func vanished(what string) error {
	return fmt.Errorf("%w: %s is gone: it was removed or renamed under this run, which starts nothing without it: put it back, or end this run and begin another one with no claims", ErrUnreadable, what)
}

// follows returns an [ErrUnreadable] unless a generation is later than the last one of a run:
// any other state was put in its place.
func follows(generation, last int64) error {
	if generation > last {
		return nil
	}
	return fmt.Errorf("%w: it has generation %d after %d: an older state was put back under this run, which starts nothing with it: put the latest back, or end this run and begin another one with the older",
		ErrUnreadable, generation, last)
}
