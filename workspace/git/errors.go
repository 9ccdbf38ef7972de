package git

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/symphony-runner/symphony/internal/text"
)

// The categories of errors, for [errors.Is]. Each package declares its own.
var (
	// ErrNoGit: git is missing, or too old.
	ErrNoGit = errors.New("git_unusable")
	// ErrFolder: a folder is not one in which git may be started.
	ErrFolder = errors.New("invalid_git_folder")
	// ErrStore: the store cannot be used or made.
	ErrStore = errors.New("git_store_unusable")
	// ErrExhausted: this machine has no room, or no processes or files left for git.
	ErrExhausted = errors.New("git_machine_exhausted")
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
	// ErrRefused: the agent's work cannot be taken; the error is a [*Refusal]. The program
	// refuses work, the remote rejects a push.
	ErrRefused = errors.New("work_refused")
	// ErrNothingNew: the agent's work has no commit that the base does not have.
	ErrNothingNew = errors.New("nothing_new")
	// ErrMoved: the branch is not where it was when the work began.
	ErrMoved = errors.New("branch_moved")
	// ErrRejected: the remote does not take the push, and never will take it like this.
	ErrRejected = errors.New("push_rejected")
	// ErrWorkflows: the remote does not take these workflow files from the token. It is an
	// ErrRejected.
	ErrWorkflows = fmt.Errorf("%w: workflow files", ErrRejected)
	// ErrLFS: an object of Git LFS is missing on its server, or does not match its pointer.
	ErrLFS = errors.New("lfs_object_unusable")
	// ErrTimeout: git did not end within the time for it.
	ErrTimeout = errors.New("git_timeout")
)

// Refusal is the error for work of an agent that cannot be taken. Its reason may quote
// text of the agent, in one sanitized line.
type Refusal struct {
	Reason string
	Err    error // cause; nil if no error caused it
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("take the agent's work: %v: %s", ErrRefused, r.Reason)
}

// Is reports whether target is [ErrRefused].
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(format string, args ...any) error { return &Refusal{Reason: fmt.Sprintf(format, args...)} }

// NothingNewError is the [ErrNothingNew] of a harvest.
type NothingNewError struct{ Untaken Untaken }

func (e *NothingNewError) Error() string {
	text := "take the agent's work: " + ErrNothingNew.Error()
	if list := e.Untaken.String(); list != "" {
		text += ": all that changed is what git cannot take: " + list
	}
	return text
}

// Is reports whether target is [ErrNothingNew].
func (e *NothingNewError) Is(target error) bool { return target == ErrNothingNew }

// RejectedError is the [ErrRejected] of a push.
type RejectedError struct {
	// Rule identifies the reason if other branches may be refused for it, too: it is the same
	// text for all pushes that are refused in the same way. It is empty for a reason in the
	// pushed content, such as a secret.
	Rule string
	err  error
}

// Rejected returns the error for a push that a server refused by other means than git's, with
// these words.
func Rejected(words string, err error) *RejectedError {
	return &RejectedError{ruleOf(words), fmt.Errorf("%w: %w", ErrRejected, err)}
}

func (e *RejectedError) Error() string { return e.err.Error() }

// Unwrap returns the error with its category.
func (e *RejectedError) Unwrap() error { return e.err }

// exitError reports that git did not exit with status 0.
type exitError struct {
	verb   string // git's subcommand, such as "fetch"
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

// exhausted holds the words of git, and of the system in it, for a resource that a machine
// lacks. "Cannot allocate memory" is none of them: within a limit of memory it is about the
// work.
var exhausted = []string{
	"No space left on device", "Disk quota exceeded", "Read-only file system", "Too many open files", "Resource temporarily unavailable",
	"cannot fork", "cannot create async process", "unable to create thread", "Input/output error",
}

// SaysExhausted reports whether a text has git's words for an exhausted machine, in the C
// locale.
func SaysExhausted(text string) bool {
	return slices.ContainsFunc(exhausted, func(words string) bool { return strings.Contains(text, words) })
}

// Is reports whether target is [ErrExhausted], and git itself says so: the words of the
// remote are about another machine. The agent may have chosen some of git's words, so who
// asks has to test the machine.
func (e *exitError) Is(target error) bool {
	if target != ErrExhausted {
		return false
	}
	for line := range strings.Lines(e.stderr) {
		if !strings.HasPrefix(line, "remote: ") && SaysExhausted(line) {
			return true
		}
	}
	return false
}

// tokenError reports that a source has no token for a remote. Nothing was sent.
type tokenError struct{ err error }

func (e *tokenError) Error() string { return e.err.Error() }

// Is reports whether target is the category of the error.
func (e *tokenError) Is(target error) bool {
	return target == ErrUnauthorized && !errors.Is(e.err, ErrUnavailable)
}

func (e *tokenError) Unwrap() error { return e.err }

// maxQuoted bounds git's own words in an error, in bytes. Their end is kept, which has the cause.
const maxQuoted = 400

// sanitize returns text of git, a remote or an agent as one harmless line.
func sanitize(s string) string { return text.Output(s, maxQuoted) }
