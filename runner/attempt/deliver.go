package attempt

import (
	"context"
	"errors"

	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace/git"
)

// finish publishes the work of the session that is not published yet, when its turns have ended
// well. While the check of the work fails, or the second look finds severe problems, the agent gets
// further turns. It reports whether the work needs nothing more: a stop or a turn that fails comes
// between.
func (a *attempt) finish(ctx context.Context) (settled bool, err error) {
	for round := 0; ; {
		a.enter(schedule.StatusFinishing)
		if err := a.sandbox.session.CleanTerminals(ctx); err != nil {
			return false, err
		}
		a.sandboxedAfterRun(ctx)
		if !a.Repository.delivers() {
			return ctx.Err() == nil, nil
		}
		proof := mustPass
		if round >= a.Repository.VerifyRounds {
			proof = mayFail
		}
		err := a.publication.publish(ctx, proof)
		if errors.Is(err, git.ErrNothingNew) {
			_, err = a.publication.settle(ctx, nil)
		} else {
			a.publication.unsettled = err != nil && a.publication.latest.Published
		}
		back, isBack := isSentBack(err)
		if !isBack {
			return ctx.Err() == nil, err
		}
		a.logger().InfoContext(ctx, "the work goes back to the agent", "error", err)
		if _, isVerify := errors.AsType[*verifyError](err); isVerify {
			round++
			back += "\n\nFix the work so that the check succeeds."
		}
		a.hooked = false
		err = a.runTurn(ctx, back)
		if err != nil || len(a.questions) > 0 {
			return false, err
		}
		a.reread(ctx) // the turn may have changed the issue
	}
}

// settleAlone publishes work that an earlier session has left half published, without an agent.
// It reports whether that is all that is to be done; otherwise nothing is published, and the
// agent works as in every session.
func (a *attempt) settleAlone(ctx context.Context) (done bool, err error) {
	a.enter(schedule.StatusFinishing)
	var passed []receipt.Check
	for _, command := range a.Repository.Verify { // the last session ended well, so they passed
		passed = append(passed, receipt.Check{Command: command})
	}
	got, err := a.publication.settle(ctx, passed)
	if err != nil {
		a.publication.unsettled = !errors.Is(err, ErrPerson)
		return true, err
	}
	a.changed = a.publication.delivered && !got.Unchanged
	if a.publication.delivered {
		a.reread(ctx)
	}
	return a.publication.delivered, nil
}

// abandon saves the work of a session that did not end well, as far as possible: it runs
// after_run, unless that ran, and publishes the work as unproven, unless the issue is no longer
// ours or there is no time. The end of the session is its outcome, so failures here are
// warnings. It reports whether nothing is left to publish.
func (a *attempt) abandon(ctx context.Context) (taken bool) {
	a.enter(schedule.StatusFinishing)
	rest, cancel := a.restOf(ctx)
	defer cancel()
	if err := a.sandbox.session.CleanTerminals(rest); err != nil {
		a.warn("the work was not taken from the workspace", err)
		return false
	}
	if !a.hooked {
		a.sandboxedAfterRun(rest)
	}
	if !a.Repository.delivers() || ctx.Err() != nil && !isWanted(context.Cause(ctx)) {
		return false
	}
	err := a.publication.publish(rest, untested)
	if err != nil && !errors.Is(err, git.ErrNothingNew) {
		a.warn("the work of the session was not published", err)
		return false
	}
	return true
}

// isWanted reports whether the work of a session that was stopped for a cause is still
// wanted from it, and whether there is time to publish it.
func isWanted(cause error) bool {
	var stop schedule.StopError
	if !errors.As(cause, &stop) {
		return false
	}
	switch schedule.Reason(stop) {
	case schedule.DeadlineReached, schedule.Stalled, schedule.IssueBudget, schedule.TickBudget, schedule.DayBudget, schedule.Unpriced:
		return true
	}
	return false
}

// sandboxedAfterRun runs after_run, whose failure changes no outcome, unless it runs
// outside the sandbox.
func (a *attempt) sandboxedAfterRun(ctx context.Context) {
	a.hooked = true
	if a.Repository.TrustedHooks {
		return
	}
	if err := a.sandbox.hook(ctx, a.sandbox.here, "after_run", a.Repository.Hooks.AfterRun); err != nil {
		a.warnings = append(a.warnings, a.brief(err.Error()))
	}
}
