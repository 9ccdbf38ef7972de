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

	cancel context.CancelCauseFunc // ends the test in progress; nil for none
	next   time.Time               // the earliest next test
}

// begin begins to test the cause of the pause, if there is one that a test can end. The
// loop goes on: to start Codex takes a second, and a machine in need longer.
func (p *pauseTest) begin(ctx context.Context, wf workflow.Workflow, now time.Time) {
	test := p.causes.of(wf)
	if p.conn.Hosts != nil {
		test = testOfAny(p.conn.Hosts, wf.Settings.Worker.Hosts)
	}
	cause, began, ok := p.state.Pause.ToTest(now)
	if !ok || test == nil || p.cancel != nil || now.Before(p.next) {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p.cancel = cancel
	p.wg.Go(func() {
		err := test(ctx, cause)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		p.send(pauseTested{cause, began, err})
	})
}

// pauseTested is the message that the test of a pause has ended.
type pauseTested struct {
	cause schedule.Cause
	began time.Time // begin of the pause
	err   error
}

func (m pauseTested) applyTo(l *loop) {
	l.pauseTest.end(m, time.Now())
	l.progress()
}

// end ends the pause if the test passed.
func (p *pauseTest) end(m pauseTested, now time.Time) {
	p.cancel(nil)
	p.cancel, p.next = nil, now.Add(testEvery)
	if m.err != nil {
		p.log.Info("the cause of the pause lasts", "cause", m.cause, "error", m.err)
		return
	}
	why := p.state.Pause.Why
	if !p.state.TestPassed(m.began, now) {
		return
	}
	p.unsaved.add(schedule.PausePassed{Began: m.began, At: now})
	p.log.Info("the pause is over: a test of its cause passes", "cause", m.cause, "reason", why)
	p.resolve(progress.Agent)
	p.replan = true
}
