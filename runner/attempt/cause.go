package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/codex/endpoint"
	"github.com/symphony-runner/symphony/runner/identity"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// judge sets the meaning of the failure of the attempt: for the issue, and for all others.
//
// Some failures look alike whether the issue is the cause of them or not: Codex that ends
// before the first turn, and a disk that is full. So Job.Test tries the same without an issue.
// If that fails too, the failure is systemic and has the error of the test; otherwise it is the
// issue's. So the output of an issue's agent can never stop the other issues.
func (a *attempt) judge(ctx context.Context, o *schedule.Outcome, err error) {
	o.Class, o.RetryAt = classify(err)
	o.Fault, o.Moved = a.fault(err), errors.Is(err, git.ErrMoved)
	o.Why = a.brief(err.Error())
	if a.turns > 0 && errors.Is(err, workspace.ErrNotFound) {
		o.Class = schedule.IssueFailed // the agent has worked, so its command exists
	}
	rootGone := a.Workspaces != nil && a.Workspaces.Check() != nil
	if (rootGone || isMachine(err)) && a.isSystemic(ctx, o, schedule.CauseMachine) {
		return
	}
	certain := isAny(err, machineErrors...)
	switch {
	case o.Class == schedule.NeedsInput:
	case errors.Is(err, ErrSetup) && !rootGone:
		o.Cause, o.Fault = schedule.CauseSetup, ""
	case rootGone, certain && (a.turns == 0 || errors.Is(err, syscall.EMFILE)):
		o.Class, o.Fault = schedule.Transient, "" // it is over, and says nothing of the issue
	case certain && o.Class == schedule.Systemic:
		o.Class = schedule.IssueFailed // the missing resource is there since the agent ended
	case o.Class == schedule.Systemic && a.turns == 0 && isAny(err, startErrors...):
		o.Cause = schedule.CauseStart
	case o.Class == schedule.Systemic && isAny(err, sharedDeliveryErrors...):
		o.Cause = schedule.CauseDelivery
	case o.Class == schedule.IssueFailed && errors.Is(err, git.ErrRejected):
		o.Cause = schedule.CauseDelivery // if others are refused, too
	case o.Class == schedule.IssueFailed && a.turns == 0 && isStart(err):
		if !a.isSystemic(ctx, o, schedule.CauseStart) && a.resumed {
			o.Class, o.Fault = schedule.ThreadLost, "" // the turn may fail because of the thread
		}
	}
}

// isSystemic tests a cause, and reports whether the test fails. Then the outcome is that
// nothing works until the cause is removed.
func (a *attempt) isSystemic(ctx context.Context, o *schedule.Outcome, cause schedule.Cause) bool {
	if a.Test == nil {
		return false
	}
	err := a.Test(ctx, cause)
	if err == nil || ctx.Err() != nil {
		return false
	}
	o.Class, o.Fault, o.Cause, o.Why = schedule.Systemic, "", cause, a.brief(err.Error())
	return true
}

// startErrors are the errors that keep every session from its first turn.
var startErrors = []error{
	endpoint.ErrUnreachable, endpoint.ErrRefused, endpoint.ErrTransport, workspace.ErrNotFound, codex.ErrPosture, codex.ErrNotLoggedIn, codex.ErrTooOld, codex.ErrNoModel, codex.ErrSettings, codex.ErrNoSandbox, codex.ErrNoExec, identity.ErrRefused,
}

// isStart reports whether Codex did not start, refused a request or ended. Before the first
// turn that may happen to every issue.
func isStart(err error) bool {
	if isAny(err, codex.ErrInputTooLarge, codex.ErrNotResumed) {
		return false
	}
	return isAny(err, codex.ErrSlowStart, codex.ErrResponse, codex.ErrPortExit, codex.ErrExecStart)
}

// startFailure returns the kind of a failure before the first turn: the same text for all
// issues that fail in the same way.
func startFailure(err error) string {
	if refused, ok := errors.AsType[*codex.ResponseError](err); ok {
		return fmt.Sprintf("codex: %s: %d", refused.Method, refused.Code)
	}
	if exit, ok := errors.AsType[*workspace.ExitError](err); ok {
		return fmt.Sprintf("codex: it ended with status %d", exit.Code)
	}
	for _, kind := range []error{codex.ErrPortExit, codex.ErrExecStart} {
		if errors.Is(err, kind) {
			return "codex: " + kind.Error()
		}
	}
	return "codex: " + codex.ErrResponse.Error()
}

// machineErrors are the errors by which the system refuses this process, or git, a thing that
// all issues share.
var machineErrors = []error{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.EIO,
	git.ErrExhausted,
}

// machineWords are the words for these errors in the C locale, from programs that run for an
// issue, except git. The agent can write such words too, so they only begin a test of the
// machine.
var machineWords = []string{
	"Cannot allocate memory", "no space left on device", "too many open files",
	// Codex says these numbers beside words of its own: ENOSPC, EDQUOT, EROFS, EMFILE, ENFILE,
	// EAGAIN, ENOMEM.
	"(os error 28)", "(os error 122)", "(os error 30)", "(os error 24)", "(os error 23)", "(os error 11)", "(os error 12)",
}

// isMachine reports whether a failure may be a fault of the machine: of its disk, its open
// files, its processes, or the folder of the workspaces.
func isMachine(err error) bool {
	if isAny(err, machineErrors...) || isAny(err, workspace.ErrRoot, git.ErrStore, git.ErrFolder) {
		return true
	}
	text := err.Error()
	return git.SaysExhausted(text) || slices.ContainsFunc(machineWords, func(words string) bool { return strings.Contains(text, words) })
}
