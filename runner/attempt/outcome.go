package attempt

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/codex/endpoint"
	"github.com/symphony-runner/symphony/runner/identity"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

func (a *attempt) outcome(ctx context.Context, err error) schedule.Outcome {
	o := schedule.Outcome{
		Class: schedule.Done, Thread: a.thread, Turns: a.turns,
		Usage: a.usage, Idle: !a.changed,
	}
	stopped := ctx.Err() != nil
	questions := a.questions
	asked, waits := errors.AsType[*codex.InputRequired](err)
	if waits {
		questions = slices.Concat(questions, asked.Questions)
	}
	switch {
	case waits || len(questions) > 0 && (err == nil || stopped): // a stop does not answer them
		o.Class, o.Why = schedule.NeedsInput, a.brief("the agent asks: "+strings.Join(questions, " / "))
		o.Question = a.reasons(strings.Join(questions, "\n\n"))
	case stopped:
		o.Class, o.Why = schedule.Stopped, context.Cause(ctx).Error()
	case err != nil:
		a.judge(ctx, &o, err)
	}
	o.Status = status(ctx, o.Class, err)
	if o.Class != schedule.Done && !stopped && a.turns > 0 {
		a.reread(context.WithoutCancel(ctx))
	}
	o.Issue, o.Gone = a.issue.Latest()
	o.Warnings = append(a.warnings, a.publication.failures...)
	if inside := a.publication.leftInside(); inside != "" {
		o.Warnings = append(o.Warnings, strings.TrimSpace(inside))
	}
	if left := a.publication.leftOut(); left != "" {
		o.Warnings = append(o.Warnings, a.brief(left))
	}
	if warning := a.blocked.between("commands of the agent were refused hosts that codex.network does not name: ", "; name those that the work needs"); warning != "" {
		o.Warnings = append(o.Warnings, a.brief(warning))
	}
	if a.Repository != nil {
		o.Blocked = a.brief(a.blocked.text())
	}
	o.Delivered, o.Refused = a.publication.delivered, a.reasons(a.publication.refused)
	if !a.conversation.replied {
		o.Said = a.Redact(a.said)
	}
	switch o.Class {
	case schedule.Transient, schedule.Stopped, schedule.Systemic: // it says nothing of the work
		o.Unsettled = a.publication.unsettled
	}
	o.LeftOut = a.brief(a.publication.untaken.String())
	if a.issue.hasMoved() {
		o.Idle = false
	}
	return o
}

// status returns the end of the attempt (SPEC §7.2).
func status(ctx context.Context, class schedule.Class, err error) schedule.AttemptStatus {
	switch class {
	case schedule.Done:
		return schedule.StatusSucceeded
	case schedule.Stopped:
		var cause schedule.StopError
		_ = errors.As(context.Cause(ctx), &cause) // any other cause is an interruption
		return schedule.Reason(cause).Status()
	}
	if isAny(err, codex.ErrTurnTimeout, codex.ErrResponseTimeout, workspace.ErrHookTimeout) {
		return schedule.StatusTimedOut
	}
	return schedule.StatusFailed
}

// classOfInfo holds the class of each codexErrorInfo. An unknown one, such as one that a later
// Codex invents, is classified by its HTTP status or as Failed.
var classOfInfo = map[string]schedule.Class{
	"unauthorized":          schedule.Systemic,
	"usageLimitExceeded":    schedule.Systemic,
	"sessionBudgetExceeded": schedule.Systemic,
	"modelNotFound":         schedule.Systemic,
	"sandboxError":          schedule.Systemic,

	"rateLimitExceeded":              schedule.Transient,
	"serverOverloaded":               schedule.Transient,
	"internalServerError":            schedule.Transient,
	"flexUnavailable":                schedule.Transient,
	"policyCapacityUnavailable":      schedule.Transient,
	"httpConnectionFailed":           schedule.Transient,
	"responseStreamConnectionFailed": schedule.Transient,
	"responseStreamDisconnected":     schedule.Transient,
	"responseTooManyFailedAttempts":  schedule.Transient,

	"contextWindowExceeded": schedule.ThreadLost,
	"threadRollbackFailed":  schedule.ThreadLost,

	"badRequest":                  schedule.IssueFailed,
	"cyberPolicy":                 schedule.IssueFailed,
	"misalignmentPolicyViolation": schedule.IssueFailed,
	"tooManyDenials":              schedule.IssueFailed,
	"inferenceHookDenied":         schedule.IssueFailed,
	"activeTurnNotSteerable":      schedule.IssueFailed,
	"other":                       schedule.IssueFailed,
}

// sharedDeliveryErrors are the errors of a delivery that every issue shares. No agent can
// cause them.
var sharedDeliveryErrors = []error{
	ErrDelivery, git.ErrNoGit, git.ErrFolder, git.ErrStore, git.ErrRemote, git.ErrUnauthorized, git.ErrForbidden,
	git.ErrNotFound, git.ErrRenamed, git.ErrUnavailable, git.ErrEmpty, git.ErrNoBase, git.ErrUnsupported,
}

// codeOverloaded is the error code of a server that is too busy for a request. The
// session has already retried when it returns it.
const codeOverloaded = -32001

// classify returns the class of a failed attempt, and the time from
// which the model's API said that a retry makes sense; zero when it gave none.
func classify(err error) (schedule.Class, time.Time) {
	var turn *codex.TurnError
	var response *codex.ResponseError
	switch {
	case errors.Is(err, ErrPerson):
		return schedule.NeedsInput, time.Time{}
	case isAny(err, identity.ErrUnavailable, endpoint.ErrLost):
		return schedule.Transient, time.Time{}
	case isAny(err, startErrors...), errors.Is(err, ErrSetup):
		return schedule.Systemic, time.Time{}
	case errors.Is(err, git.ErrRefused):
		return schedule.IssueFailed, time.Time{}
	case isAny(err, sharedDeliveryErrors...):
		return schedule.Systemic, time.Time{}
	case isAny(err, workspace.ErrInUse, workspace.ErrForeign): // it passes when the other process, or the other project's issue, is done
		return schedule.Transient, time.Time{}
	case isAny(err, git.ErrTimeout, errOutputLost):
		return schedule.Transient, time.Time{}
	case errors.Is(err, codex.ErrNotResumed):
		return schedule.ThreadLost, time.Time{}
	case errors.As(err, &turn):
		return classOfTurnError(turn.Info, turn.HTTPStatus), turn.ResetsAt
	case errors.As(err, &response) && response.Code == codeOverloaded:
		return schedule.Transient, time.Time{}
	}
	return schedule.IssueFailed, time.Time{}
}

// fault returns the kind of a failure that WORKFLOW.md or the machine may be the cause of; see
// [schedule.Outcome]. A prompt that passes its check and fails to render depends on
// the issue, so no other issue shares that failure.
func (a *attempt) fault(err error) string {
	if hook, ok := errors.AsType[*workspace.HookError](err); ok && isAny(err, workspace.ErrHook, workspace.ErrHookTimeout) {
		return hook.Kind()
	}
	if errors.Is(err, codex.ErrSlowStart) {
		return codex.ErrSlowStart.Error()
	}
	if a.turns == 0 && isStart(err) {
		return startFailure(err)
	}
	if rejected, ok := errors.AsType[*git.RejectedError](err); ok && rejected.Rule != "" {
		return schedule.PushFault + rejected.Rule
	}
	if isAny(err, prompt.ErrRender, prompt.ErrParse) {
		return "the prompt of " + a.Issue.Identifier
	}
	return ""
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// classOfTurnError returns the class of a turn that failed with a codexErrorInfo and an
// HTTP status; 0 means no status. A status that means a failure decides.
func classOfTurnError(info string, status int) schedule.Class {
	switch {
	case status == 401:
		return schedule.Systemic
	case status == 408 || status == 429 || status >= 500:
		return schedule.Transient
	case status >= 400:
		return schedule.IssueFailed
	}
	if class, known := classOfInfo[info]; known {
		return class
	}
	return schedule.IssueFailed
}
