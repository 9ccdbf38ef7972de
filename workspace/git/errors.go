package git

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/symphony-runner/symphony/tracker/untrusted"
)

// The categories of errors, for [errors.Is]. Each package declares its own.
var (
	// ErrNoGit: git is missing, or too old.
	ErrNoGit = errors.New("git_unusable")
	// ErrFolder: a folder is not one in which git may be started.
	ErrFolder = errors.New("invalid_git_folder")
	// ErrStore: the store cannot be used or made.
	ErrStore = errors.New("git_store_unusable")
	// ErrRemote: the URL of the remote cannot be used.
	ErrRemote = errors.New("invalid_remote")
	// ErrUnauthorized: the remote does not accept the token, or wants one.
	ErrUnauthorized = errors.New("remote_unauthorized")
	// ErrForbidden: the remote knows the token, and it may not do this.
	ErrForbidden = errors.New("remote_forbidden")
	// ErrNotFound: there is no repository at the URL, or the token does not see it.
	ErrNotFound = errors.New("remote_not_found")
	// ErrRenamed: the remote redirects to another address.
	ErrRenamed = errors.New("remote_renamed")
	// ErrUnavailable: the remote cannot be reached or answered with an error that
	// passes. Try again later.
	ErrUnavailable = errors.New("remote_unavailable")
	// ErrEmpty: the remote has no commit yet.
	ErrEmpty = errors.New("remote_empty")
	// ErrNoBase: the remote does not have the base branch.
	ErrNoBase = errors.New("base_not_found")
	// ErrTooBig: something is larger than the limit for it.
	ErrTooBig = errors.New("too_big")
	// ErrUnsupported: the repository is of a kind that is not supported.
	ErrUnsupported = errors.New("repository_unsupported")
	// ErrRefused: the agent's work cannot be taken; the error is a [*Refusal].
	ErrRefused = errors.New("work_refused")
	// ErrNothingNew: the agent's work has no commit that the base does not have.
	ErrNothingNew = errors.New("nothing_new")
	// ErrMoved: the branch is not where it was when the work began.
	ErrMoved = errors.New("branch_moved")
	// ErrRejected: the remote does not take the push, and never will take it like this.
	ErrRejected = errors.New("push_rejected")
	// ErrLFS: an object of Git LFS is missing on its server, or is not what its pointer says.
	ErrLFS = errors.New("lfs_object_unusable")
	// ErrTimeout: git did not end within the time for it.
	ErrTimeout = errors.New("git_timeout")
)

// Refusal is the error for work of an agent that cannot be taken. Its reason may quote
// text of the agent, in one sanitized line.
type Refusal struct {
	Reason string
	Err    error // what caused it, if it is an error
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("take the agent's work: %v: %s", ErrRefused, r.Reason)
}

// Is reports whether target is [ErrRefused].
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(format string, args ...any) error { return &Refusal{Reason: fmt.Sprintf(format, args...)} }

// exitError reports that git did not exit with status 0.
type exitError struct {
	verb   string // of the command: "fetch"
	code   int    // -1 if a signal ended it
	signal syscall.Signal
	stderr string // the end of it, as git wrote it, without the token
}

func (e *exitError) Error() string {
	how := fmt.Sprintf("exit status %d", e.code)
	if e.signal != 0 {
		how = fmt.Sprintf("killed by signal %q", e.signal)
	}
	if text := sanitize(e.stderr); text != "" {
		return fmt.Sprintf("git %s: %s: %s", e.verb, how, text)
	}
	return fmt.Sprintf("git %s: %s", e.verb, how)
}

// tokenError reports that a source has no token for a remote. Nothing was sent.
type tokenError struct{ err error }

func (e *tokenError) Error() string { return e.err.Error() }

// Is reports whether target is the category of the error.
func (e *tokenError) Is(target error) bool {
	return target == ErrUnauthorized && !errors.Is(e.err, ErrUnavailable)
}

func (e *tokenError) Unwrap() error { return e.err }

// maxQuoted bounds git's own words in an error, in bytes: the end says what failed.
const maxQuoted = 400

// sanitize returns text of git, a remote or an agent as one harmless line.
func sanitize(text string) string { return untrusted.Output(text, maxQuoted) }
