package attempt

import (
	"errors"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
)

// classOfInfo says what each codexErrorInfo means. What is not in it, also what does
// not exist yet, is judged by its HTTP status, and else held against the issue.
var classOfInfo = map[string]schedule.Class{
	"unauthorized":          schedule.Everyones,
	"usageLimitExceeded":    schedule.Everyones,
	"sessionBudgetExceeded": schedule.Everyones,
	"modelNotFound":         schedule.Everyones,
	"sandboxError":          schedule.Everyones,

	"rateLimitExceeded":              schedule.Passing,
	"serverOverloaded":               schedule.Passing,
	"internalServerError":            schedule.Passing,
	"flexUnavailable":                schedule.Passing,
	"policyCapacityUnavailable":      schedule.Passing,
	"httpConnectionFailed":           schedule.Passing,
	"responseStreamConnectionFailed": schedule.Passing,
	"responseStreamDisconnected":     schedule.Passing,
	"responseTooManyFailedAttempts":  schedule.Passing,

	"contextWindowExceeded": schedule.ThreadLost,
	"threadRollbackFailed":  schedule.ThreadLost,

	"badRequest":                  schedule.Failed,
	"cyberPolicy":                 schedule.Failed,
	"misalignmentPolicyViolation": schedule.Failed,
	"tooManyDenials":              schedule.Failed,
	"inferenceHookDenied":         schedule.Failed,
	"activeTurnNotSteerable":      schedule.Failed,
	"other":                       schedule.Failed,
}

// codeOverloaded is the code of a server that is too busy for a request, after the
// session has tried a few times.
const codeOverloaded = -32001

// classify says what a failed attempt means for its issue, and when the other
// side said that trying again makes sense; zero when it did not.
func classify(err error) (schedule.Class, time.Time) {
	var turn *codex.TurnError
	var response *codex.ResponseError
	switch {
	case isAny(err, workspace.ErrNotFound, codex.ErrPosture, codex.ErrNotLoggedIn, codex.ErrTooOld, codex.ErrNoModel, codex.ErrNoSandbox):
		return schedule.Everyones, time.Time{}
	case errors.Is(err, codex.ErrInputRequired):
		return schedule.Persons, time.Time{}
	case errors.As(err, &turn):
		return classOfTurnError(turn.Info, turn.HTTPStatus), turn.ResetsAt
	case errors.As(err, &response) && response.Code == codeOverloaded:
		return schedule.Passing, time.Time{}
	}
	return schedule.Failed, time.Time{}
}

// fault returns the kind of a failure that WORKFLOW.md may answer for; see
// [schedule.Outcome]. What fails in a render and not in the check of the prompt
// depends on the issue, so it is no other issue's failure.
func (a *attempt) fault(err error) string {
	if hook, ok := errors.AsType[*workspace.HookError](err); ok && isAny(err, workspace.ErrHook, workspace.ErrHookTimeout) {
		return hook.Kind()
	}
	if isAny(err, prompt.ErrRender, prompt.ErrParse) {
		return "the prompt of " + a.Issue.Identifier
	}
	return ""
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

func classOfTurnError(info string, status int) schedule.Class {
	switch {
	case status == 401:
		return schedule.Everyones
	case status == 408 || status == 429 || status >= 500:
		return schedule.Passing
	case status >= 400:
		return schedule.Failed
	}
	if class, known := classOfInfo[info]; known {
		return class
	}
	return schedule.Failed
}
