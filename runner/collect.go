package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// Collect ends the tick of a fleet. It settles the results of the shards of a plan, adopts the
// claims of the shards without a result, and saves the state once. Inside Actions it adopts the
// claims of all shards of Self's workflow run, because the plan may be lost. Collect may be
// repeated: with the same results it changes nothing.
//
// It returns the state that it saved, and a report with a row for each issue that it settled
// or adopted. Results that were settled before have none, because nothing was worked on again.
// It fails with the errors of [Runner.Run].
func (r *Runner) Collect(ctx context.Context, plan fleet.Plan, results []fleet.Result) (*schedule.State, report.Tick, error) {
	l := newLoop(r)
	l.tick.Collects = true
	if at := plan.Owner.Started; at > 0 {
		l.tick.Started = time.UnixMilli(at)
	}
	err := l.openFleet(ctx)
	if err == nil {
		var news []telling
		err = l.keeper.saveOver(ctx, "save what the shards left", func() error {
			l.collector.collect(ctx, plan, results)
			news = l.notifier.mark(time.Now(), nil, true, nil)
			return ctx.Err()
		})
		if err == nil && l.notifier.flush(news) {
			err = l.keeper.saveOver(ctx, "note who was not told", ctx.Err)
		}
	}
	if err == nil {
		l.readForReport(ctx)
	}
	l.finish(time.Now())
	return l.state, l.tick, err
}

// openFleet reads the workflow and the state, and takes over no claims.
func (l *loop) openFleet(ctx context.Context) error {
	if err := l.settings.first(ctx); err != nil {
		return err
	}
	return l.keeper.load(ctx)
}

// readForReport reads the issues with a claim and the candidates, so that the report can say
// why issues wait.
func (l *loop) readForReport(ctx context.Context) {
	err := l.issues.readByID(ctx, slices.Sorted(maps.Keys(l.state.Claims)))
	if err == nil {
		var candidates []tracker.Issue
		if candidates, err = l.issues.listByState(ctx, l.policy().ActiveStates); err == nil {
			l.issues.list(candidates, time.Now())
		}
	}
	if err != nil { // the results are saved, so this fails only a part of the report
		l.warnError("read for the report why other issues wait", err)
	}
}
