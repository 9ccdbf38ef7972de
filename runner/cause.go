package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// testEvery is the least time between two tests for a pause in one run. The first comes
// at once.
const testEvery = 30 * time.Second

// causeTests runs the tests of causes one at a time, for the loop and for its sessions.
type causeTests struct {
	run  func(context.Context, workflow.Workflow, schedule.Cause) error
	busy chan struct{}                  // holds one value while a test runs; guards last
	last map[schedule.Cause]testedCause // the latest test of each cause
}

// testedCause is the result of a test.
type testedCause struct {
	began time.Time
	err   error
}

func newCauseTests(run func(context.Context, workflow.Workflow, schedule.Cause) error) *causeTests {
	return &causeTests{run: run, busy: make(chan struct{}, 1), last: map[schedule.Cause]testedCause{}}
}

// of returns the function that tests causes with a workflow; nil if nothing can be tested.
func (t *causeTests) of(wf workflow.Workflow) func(context.Context, schedule.Cause) error {
	if t.run == nil {
		return nil
	}
	return func(ctx context.Context, cause schedule.Cause) error { return t.test(ctx, wf, cause) }
}

// test runs the test of a cause. Callers that wait for each other share the result of a test
// that began after they asked: it shows what they would find.
func (t *causeTests) test(ctx context.Context, wf workflow.Workflow, cause schedule.Cause) error {
	asked := time.Now()
	select {
	case t.busy <- struct{}{}:
		defer func() { <-t.busy }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if last, done := t.last[cause]; done && !last.began.Before(asked) {
		return last.err
	}
	began := time.Now()
	err := t.run(ctx, wf, cause)
	if ctx.Err() == nil {
		t.last[cause] = testedCause{began, err}
	}
	return err
}

// testPause begins to test the cause of the pause, if there is one that a test can end. The
// loop goes on: to start Codex takes a second, and a machine in need longer.
func (l *loop) testPause(ctx context.Context, now time.Time) {
	test := l.causes.of(l.wf)
	cause, began, ok := l.state.ToTest(now)
	if !ok || test == nil || l.isShard() || l.tick.DryRun || l.testing != nil || now.Before(l.nextTest) {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l.testing = cancel
	l.wg.Go(func() {
		err := test(ctx, cause)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		l.send(pauseTested{cause, began, err})
	})
}

// pauseTested is the message that the test of a pause has ended.
type pauseTested struct {
	cause schedule.Cause
	began time.Time // of the pause
	err   error
}

func (m pauseTested) applyTo(l *loop) {
	l.testing(nil)
	now := time.Now()
	l.testing, l.nextTest = nil, now.Add(testEvery)
	if m.err != nil {
		l.Log.Info("the cause of the pause lasts", "cause", m.cause, "error", m.err)
		return
	}
	why := l.state.Pause.Why
	if !l.state.TestPassed(m.began, now) {
		return
	}
	l.unsaved.add(schedule.PausePassed{Began: m.began, At: now})
	l.Log.Info("the pause is over: a test of its cause passes", "cause", m.cause, "reason", why)
	l.resolve(progress.Agent)
	l.replan = true
	l.progress()
}

// reopenWorkspaces makes the folder of the workspaces again if somebody removed it while
// this run uses it. Until that works nothing starts.
func (l *loop) reopenWorkspaces(ctx context.Context) {
	if l.conn.Workspaces == nil {
		return
	}
	gone := l.conn.Workspaces.Check()
	if gone == nil {
		l.noRoot = schedule.Why{}
		return
	}
	err := l.connect(ctx, l.wf)
	if err == nil {
		l.noRoot = schedule.Why{}
		l.resolve(progress.Workspaces)
		l.Log.Warn("the folder of the workspaces was made again", "reason", gone)
		return
	}
	err = fmt.Errorf("%w: it cannot be made again: %w", gone, err)
	l.noRoot = schedule.Why{Reason: schedule.OnHold, Detail: err.Error()}
	l.problem(progress.Workspaces, err.Error())
	l.Log.Error("workspaces not usable: nothing starts until they are", "error", err)
}
