package attempt

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
)

// infos holds all variants of codexErrorInfo in the schema of Codex 0.169.
var infos = map[string]schedule.Class{
	"contextWindowExceeded":       schedule.ThreadLost,
	"sessionBudgetExceeded":       schedule.Systemic,
	"usageLimitExceeded":          schedule.Systemic,
	"rateLimitExceeded":           schedule.Transient,
	"flexUnavailable":             schedule.Transient,
	"serverOverloaded":            schedule.Transient,
	"modelNotFound":               schedule.Systemic,
	"policyCapacityUnavailable":   schedule.Transient,
	"cyberPolicy":                 schedule.IssueFailed,
	"misalignmentPolicyViolation": schedule.IssueFailed,
	"tooManyDenials":              schedule.IssueFailed,
	"internalServerError":         schedule.Transient,
	"unauthorized":                schedule.Systemic,
	"badRequest":                  schedule.IssueFailed,
	"threadRollbackFailed":        schedule.ThreadLost,
	"sandboxError":                schedule.Systemic,
	"other":                       schedule.IssueFailed,
	"inferenceHookDenied":         schedule.IssueFailed,

	// With the HTTP status, if there was an answer.
	"httpConnectionFailed":           schedule.Transient,
	"responseStreamConnectionFailed": schedule.Transient,
	"responseStreamDisconnected":     schedule.Transient,
	"responseTooManyFailedAttempts":  schedule.Transient,

	"activeTurnNotSteerable": schedule.IssueFailed,
}

func TestEveryErrorOfCodexHasAClass(t *testing.T) {
	t.Parallel()
	for info, want := range infos {
		if got := classOfTurnError(info, 0); got != want {
			t.Errorf("%s is %s, want %s", info, got, want)
		}
		if _, known := classOfInfo[info]; !known {
			t.Errorf("%s has no class of its own", info)
		}
	}
	for info := range classOfInfo {
		if _, exists := infos[info]; !exists {
			t.Errorf("%s does not exist", info)
		}
	}
	for _, info := range []string{"", "inventedTomorrow"} {
		if got := classOfTurnError(info, 0); got != schedule.IssueFailed {
			t.Errorf("%q is %s", info, got)
		}
	}
}

func TestAnHTTPStatusSaysMoreThanTheErrorItCameWith(t *testing.T) {
	t.Parallel()
	statuses := map[int]schedule.Class{
		401: schedule.Systemic,
		400: schedule.IssueFailed, 403: schedule.IssueFailed, 404: schedule.IssueFailed, 422: schedule.IssueFailed,
		429: schedule.Transient, 500: schedule.Transient, 502: schedule.Transient, 503: schedule.Transient, 529: schedule.Transient,
	}
	for _, info := range []string{
		"httpConnectionFailed", "responseStreamConnectionFailed", "responseStreamDisconnected",
		"responseTooManyFailedAttempts", "inventedTomorrow",
	} {
		for status, want := range statuses {
			if got := classOfTurnError(info, status); got != want {
				t.Errorf("%s with %d is %s, want %s", info, status, got, want)
			}
		}
	}
	for _, status := range []int{101, 200, 302} { // they do not mean a failure
		if got := classOfTurnError("responseStreamDisconnected", status); got != schedule.Transient {
			t.Errorf("%d is %s", status, got)
		}
	}
}

func TestAnErrorIsClassifiedByWhatItWraps(t *testing.T) {
	t.Parallel()
	resets := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	limit := &codex.TurnError{Category: codex.ErrTurnFailed, Info: "usageLimitExceeded", ResetsAt: resets}
	for name, test := range map[string]struct {
		err  error
		want schedule.Class
		at   time.Time
	}{
		"a turn":                      {limit, schedule.Systemic, resets},
		"a turn and an end":           {errors.Join(limit, workspace.ErrUnresponsive), schedule.Systemic, resets},
		"a cancelled turn":            {&codex.TurnError{Category: codex.ErrTurnCancelled}, schedule.IssueFailed, time.Time{}},
		"an interrupt by the network": {&codex.TurnError{Category: codex.ErrTurnCancelled, HTTPStatus: 503}, schedule.Transient, time.Time{}},
		"overload":                    {fmt.Errorf("open: %w", &codex.ResponseError{Code: -32001}), schedule.Transient, time.Time{}},
		"a refusal":                   {fmt.Errorf("open: %w", &codex.ResponseError{Code: -32600}), schedule.IssueFailed, time.Time{}},
		"no Codex":                    {fmt.Errorf("%w: %w", codex.ErrPortExit, workspace.ErrNotFound), schedule.Systemic, time.Time{}},
		"an exit":                     {fmt.Errorf("%w: %w", codex.ErrPortExit, &workspace.ExitError{Code: 1}), schedule.IssueFailed, time.Time{}},
		"a hook without its command":  {fmt.Errorf("%w: %w", workspace.ErrHook, &workspace.ExitError{Code: 127}), schedule.IssueFailed, time.Time{}},
		"anything":                    {errors.New("anything"), schedule.IssueFailed, time.Time{}},
	} {
		if got, at := classify(test.err); got != test.want || !at.Equal(test.at) {
			t.Errorf("%s is %s until %v, want %s until %v", name, got, at, test.want, test.at)
		}
	}
}

func TestAFailureOfEverySessionIsSystemic(t *testing.T) {
	t.Parallel()
	for _, err := range []error{codex.ErrPosture, codex.ErrNotLoggedIn, codex.ErrTooOld, codex.ErrNoModel, codex.ErrNoSandbox, codex.ErrNoExec, workspace.ErrNotFound} {
		if class, _ := classify(fmt.Errorf("opening: %w: because", err)); class != schedule.Systemic {
			t.Errorf("%v is %s", err, class)
		}
	}
}
