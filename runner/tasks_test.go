package runner

import (
	"context"
	"errors"
	"testing"
)

func TestATaskIsWaitedForUntilTheLoopHasCalledItsEnd(t *testing.T) {
	t.Parallel()
	l := newLoop(&Runner{})
	if l.waitsForMessages() {
		t.Error("a loop without a task waits")
	}
	ended, waited := false, false
	l.begin(func() func() {
		return func() {
			ended, waited = true, l.waitsForMessages()
		}
	})
	m := <-l.inbox
	if !l.waitsForMessages() || ended {
		t.Error("a task has ended before the loop knew it")
	}
	m()
	if !ended || waited || l.waitsForMessages() {
		t.Errorf("ended: %v, waited for at its end: %v, and after it: %v", ended, waited, l.waitsForMessages())
	}
}

func TestAStopEndsTheTasksThatCanBeStopped(t *testing.T) {
	t.Parallel()
	l := newLoop(&Runner{})
	stop := errors.New("stopped")
	finish := make(chan struct{})
	l.begin(func() func() {
		<-finish
		return func() {}
	})
	var cause error
	l.beginStoppable(t.Context(), func(ctx context.Context) func() {
		<-ctx.Done()
		return func() { cause = context.Cause(ctx) }
	})
	l.tasks.stop(stop)
	(<-l.inbox)() // the other one still works
	if !errors.Is(cause, stop) || !l.waitsForMessages() {
		t.Errorf("the task was stopped by %v, and the other one is waited for: %v", cause, l.waitsForMessages())
	}
	close(finish)
	(<-l.inbox)()
	if l.waitsForMessages() {
		t.Error("a loop without a task waits")
	}
}
