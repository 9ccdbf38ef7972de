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
	"sessionBudgetExceeded":       schedule.Everyones,
	"usageLimitExceeded":          schedule.Everyones,
	"rateLimitExceeded":           schedule.Passing,
	"flexUnavailable":             schedule.Passing,
	"serverOverloaded":            schedule.Passing,
	"modelNotFound":               schedule.Everyones,
	"policyCapacityUnavailable":   schedule.Passing,
	"cyberPolicy":                 schedule.Failed,
	"misalignmentPolicyViolation": schedule.Failed,
	"tooManyDenials":              schedule.Failed,
	"internalServerError":         schedule.Passing,
	"unauthorized":                schedule.Everyones,
	"badRequest":                  schedule.Failed,
	"threadRollbackFailed":        schedule.ThreadLost,
	"sandboxError":                schedule.Everyones,
	"other":                       schedule.Failed,
	"inferenceHookDenied":         schedule.Failed,

	// With the HTTP status, if there was an answer.
	"httpConnectionFailed":           schedule.Passing,
	"responseStreamConnectionFailed": schedule.Passing,
	"responseStreamDisconnected":     schedule.Passing,
	"responseTooManyFailedAttempts":  schedule.Passing,

	"activeTurnNotSteerable": schedule.Failed,
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
		if got := classOfTurnError(info, 0); got != schedule.Failed {
			t.Errorf("%q is %s", info, got)
		}
	}
}

func TestAnHTTPStatusSaysMoreThanTheErrorItCameWith(t *testing.T) {
	t.Parallel()
	statuses := map[int]schedule.Class{
		401: schedule.Everyones,
		400: schedule.Failed, 403: schedule.Failed, 404: schedule.Failed, 422: schedule.Failed,
		429: schedule.Passing, 500: schedule.Passing, 502: schedule.Passing, 503: schedule.Passing, 529: schedule.Passing,
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
		if got := classOfTurnError("responseStreamDisconnected", status); got != schedule.Passing {
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
		"a turn":                      {limit, schedule.Everyones, resets},
		"a turn and an end":           {errors.Join(limit, workspace.ErrUnresponsive), schedule.Everyones, resets},
		"a cancelled turn":            {&codex.TurnError{Category: codex.ErrTurnCancelled}, schedule.Failed, time.Time{}},
		"an interrupt by the network": {&codex.TurnError{Category: codex.ErrTurnCancelled, HTTPStatus: 503}, schedule.Passing, time.Time{}},
		"input":                       {&codex.InputRequired{Questions: []string{"?"}}, schedule.Persons, time.Time{}},
		"overload":                    {fmt.Errorf("open: %w", &codex.ResponseError{Code: -32001}), schedule.Passing, time.Time{}},
		"a refusal":                   {fmt.Errorf("open: %w", &codex.ResponseError{Code: -32600}), schedule.Failed, time.Time{}},
		"no Codex":                    {fmt.Errorf("%w: %w", codex.ErrPortExit, workspace.ErrNotFound), schedule.Everyones, time.Time{}},
		"an exit":                     {fmt.Errorf("%w: %w", codex.ErrPortExit, &workspace.ExitError{Code: 1}), schedule.Failed, time.Time{}},
		"a hook without its command":  {fmt.Errorf("%w: %w", workspace.ErrHook, &workspace.ExitError{Code: 127}), schedule.Failed, time.Time{}},
		"anything":                    {errors.New("anything"), schedule.Failed, time.Time{}},
	} {
		if got, at := classify(test.err); got != test.want || !at.Equal(test.at) {
			t.Errorf("%s is %s until %v, want %s until %v", name, got, at, test.want, test.at)
		}
	}
}

func TestWhatKeepsEverySessionFromWorkingIsEveryones(t *testing.T) {
	t.Parallel()
	for _, err := range []error{codex.ErrPosture, codex.ErrNotLoggedIn, codex.ErrTooOld, codex.ErrNoModel, codex.ErrNoSandbox, workspace.ErrNotFound} {
		if class, _ := classify(fmt.Errorf("opening: %w: because", err)); class != schedule.Everyones {
			t.Errorf("%v is %s", err, class)
		}
	}
}
