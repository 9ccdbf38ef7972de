package wiring

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheFirstInterruptionEndsAndTheSecondOneKills(t *testing.T) {
	t.Parallel()
	ctx, i := NewInterrupts(t.Context())
	var called []string
	i.OnEach(func() { called = append(called, "ended") }, func() { called = append(called, "killed") })
	killed := func() bool {
		select {
		case <-i.Killed:
			return true
		default:
			return false
		}
	}
	for n, want := range []struct {
		count         int
		ended, killed bool
	}{{0, false, false}, {1, true, false}, {2, true, true}, {3, true, true}} {
		if n > 0 {
			if count := i.Interrupt(); count != want.count {
				t.Errorf("interruption %d is counted as %d", n, count)
			}
		}
		if ended := ctx.Err() != nil; ended != want.ended || killed() != want.killed {
			t.Errorf("after %d: ended %v, killed %v", n, ended, killed())
		}
	}
	if !slices.Equal(called, []string{"ended", "killed"}) {
		t.Errorf("called %q", called)
	}
}

func TestAKilledRunThatDoesNotEndIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, i := NewInterrupts(t.Context())
		var given []time.Duration
		began := time.Now()
		i.GiveUp = func() { given = append(given, time.Since(began)) }
		i.Interrupt()
		time.Sleep(time.Hour)
		i.Interrupt()
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := []time.Duration{time.Hour + KillTime}; !slices.Equal(given, want) {
			t.Errorf("given up after %v, want %v: after the second interruption alone", given, want)
		}
	})
}

func TestAQuitKillsAtOnceAndThenEndsTheProcess(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 1} {
		ctx, i := NewInterrupts(t.Context())
		quits := 0
		i.Quit = func() { quits++ }
		for range before {
			i.Interrupt()
		}
		i.kill()
		select {
		case <-i.Killed:
		default:
			t.Errorf("after %d interruptions it does not kill", before)
		}
		if ctx.Err() == nil || quits > 0 {
			t.Errorf("after %d interruptions: ended %v, quit %d times", before, ctx.Err() != nil, quits)
		}
		if i.kill(); quits != 1 {
			t.Errorf("after %d interruptions a second one ends the process %d times", before, quits)
		}
	}
}

func TestAHangUpEndsAndNeverKills(t *testing.T) {
	t.Parallel()
	ctx, i := NewInterrupts(t.Context())
	for range 3 {
		i.hangUp()
	}
	select {
	case <-i.Killed:
		t.Error("it kills")
	default:
	}
	if ctx.Err() == nil {
		t.Error("it does not end the run")
	}
	if count := i.Interrupt(); count != 2 {
		t.Errorf("the interruption after it is counted as %d, want 2", count)
	}
}

// TestATerminalThatTakesNothingHoldsUpNoFurtherInterruption has the first two wait for a
// terminal: the third signal finds the handler of the system.
func TestATerminalThatTakesNothingHoldsUpNoFurtherInterruption(t *testing.T) {
	t.Parallel()
	ctx, i := NewInterrupts(t.Context())
	stuck, released := make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	defer wait.Wait()
	defer close(stuck)
	began := make(chan struct{}, 2)
	block := func() { began <- struct{}{}; <-stuck }
	i.OnEach(block, block)
	i.release = func() { close(released) }
	for range 2 {
		wait.Go(func() { i.Interrupt() })
		<-began
	}
	<-released
	<-i.Killed
	<-ctx.Done()
	if count := i.Interrupt(); count != 3 {
		t.Errorf("the third one is counted as %d", count)
	}
}
