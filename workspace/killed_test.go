package workspace

import (
	"errors"
	"syscall"
	"testing"
)

func TestAKillEndsEveryProcessAtOnceAndNothingStartsAfterIt(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	r.Grace = patient
	killed := make(chan struct{})
	r.Killed = killed
	p, lines := start(t, r, `trap '' TERM INT HUP; sleep 1000 & echo $!; wait; wait`)
	child := readPID(t, lines)
	close(killed)
	<-p.Done() // or the test does not end: the grace is an hour
	var exit *ExitError
	if err := p.Err(); !errors.As(err, &exit) || exit.Signal != syscall.SIGKILL {
		t.Errorf("the agent ended with %v", err)
	}
	gone(t, p.PID())
	gone(t, child)
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := r.Start(t.Context(), r.workspace(issue), "true", nil); !errors.Is(err, ErrKilled) {
		t.Errorf("another agent: %v", err)
	}
}
