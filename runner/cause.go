package runner

import (
	"context"
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
// that began after they asked: their own would have the same result.
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

// pauseTest ends a pause whose cause is over.
type pauseTest struct {
	*core
	causes *causeTests

	testing bool      // a test is in progress
	next    time.Time // the earliest next test
}

// begin begins to test the cause of the pause, if there is one that a test can end. The
// loop goes on: to start Codex takes a second, and a machine in need longer.
func (p *pauseTest) begin(ctx context.Context, wf workflow.Workflow, now time.Time) {
	test := p.causes.of(wf)
	if p.conn.Hosts != nil {
		test = testOfAny(p.conn.Hosts, wf.Settings.Worker.Hosts)
	}
	cause, began, ok := p.state.Pause.ToTest(now)
	if !ok || test == nil || p.testing || now.Before(p.next) {
		return
	}
	p.testing = true
	p.beginStoppable(ctx, func(ctx context.Context) func() {
		err := test(ctx, cause)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return func() { p.end(cause, began, err, time.Now()) }
	})
}

// end ends the pause that began at a time if the test of its cause passed.
func (p *pauseTest) end(cause schedule.Cause, began time.Time, err error, now time.Time) {
	p.testing, p.next = false, now.Add(testEvery)
	if err != nil {
		p.log.Info("the cause of the pause lasts", "cause", cause, "error", err)
		return
	}
	why := p.state.Pause.Why
	if !p.state.TestPassed(began, now) {
		return
	}
	p.unsaved.add(schedule.PausePassed{Began: began, At: now})
	p.log.Info("the pause is over: a test of its cause passes", "cause", cause, "reason", why)
	p.resolve(progress.Agent)
	p.replan = true
}
