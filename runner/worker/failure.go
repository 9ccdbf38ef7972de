package worker

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"syscall"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/identity"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// failure is an error of the other side: its text, and the errors that it is.
type failure struct {
	Text    string
	Kinds   []string             // texts of the errors in known
	Errno   syscall.Errno        `json:",omitempty"`
	Rule    string               `json:",omitempty"` // of a [git.RejectedError]
	Refusal string               `json:",omitempty"` // reason of a [git.Refusal]
	Nothing *git.NothingNewError `json:",omitempty"`
}

// maxFailure bounds the text of an error of the other side, in runes.
const maxFailure = 4000

// known are the errors that keep their meaning on the way. Their texts differ.
var known = []error{
	context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF, fs.ErrExist, fs.ErrNotExist, fs.ErrPermission,
	attempt.ErrDelivery, attempt.ErrPerson, attempt.ErrRenewed, attempt.ErrSetup,
	git.ErrNoGit, git.ErrFolder, git.ErrStore, git.ErrExhausted, git.ErrRemote, git.ErrUnauthorized, git.ErrForbidden, git.ErrNotFound, git.ErrRenamed,
	git.ErrUnavailable, git.ErrEmpty, git.ErrNoBase, git.ErrTooBig, git.ErrUnsupported, git.ErrRefused, git.ErrNothingNew, git.ErrMoved, git.ErrRejected,
	git.ErrWorkflows, git.ErrLFS, git.ErrTimeout,
	tracker.ErrElsewhere, tracker.ErrTooLarge,
	identity.ErrRefused, identity.ErrUnavailable,
	workspace.ErrNotFound, workspace.ErrRoot, workspace.ErrInUse, workspace.ErrForeign,
	codex.ErrPosture, codex.ErrNotLoggedIn, codex.ErrTooOld, codex.ErrNoModel, codex.ErrSettings, codex.ErrNoSandbox, codex.ErrNoExec, codex.ErrSlowStart,
}

func failureOf(err error) *failure {
	f := &failure{Text: err.Error()}
	for _, one := range known {
		if errors.Is(err, one) {
			f.Kinds = append(f.Kinds, one.Error())
		}
	}
	f.Errno, _ = errors.AsType[syscall.Errno](err)
	if rejected, ok := errors.AsType[*git.RejectedError](err); ok {
		f.Rule = rejected.Rule
	}
	if refused, ok := errors.AsType[*git.Refusal](err); ok {
		f.Refusal = refused.Reason
	}
	f.Nothing, _ = errors.AsType[*git.NothingNewError](err)
	return f
}

// Error returns the text within bounds: nobody knows what the other side has become.
func (f *failure) Error() string { return text.OneLine(f.Text, maxFailure) }

// As sets the typed errors of package git.
func (f *failure) As(target any) bool {
	switch t := target.(type) {
	case **git.RejectedError:
		if f.Rule != "" {
			*t = &git.RejectedError{Rule: f.Rule}
		}
		return f.Rule != ""
	case **git.Refusal:
		if f.Refusal != "" {
			*t = &git.Refusal{Reason: f.Refusal}
		}
		return f.Refusal != ""
	case **git.NothingNewError:
		if f.Nothing != nil {
			*t = f.Nothing
		}
		return f.Nothing != nil
	}
	return false
}

// Unwrap returns the known errors.
func (f *failure) Unwrap() (errs []error) {
	for _, one := range known {
		if slices.Contains(f.Kinds, one.Error()) {
			errs = append(errs, one)
		}
	}
	if f.Errno != 0 {
		errs = append(errs, f.Errno)
	}
	return errs
}
