package attempt

import (
	"context"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// PreflightOnce lets one session of a tick find out whether sessions can work at all (a
// login, the model, the sandbox), before any turn, while the others wait for
// what it finds. A session of its own for that would cost every tick the start
// of another agent.
type PreflightOnce struct {
	turn chan struct{} // held by whoever is finding out
	open bool
	err  error // why no session can work; nil as long as that is not known
}

// NewPreflightOnce is a closed gate.
func NewPreflightOnce() *PreflightOnce { return &PreflightOnce{turn: make(chan struct{}, 1)} }

// enter reports whether it is up to this session to find out; it then has to
// leave. A nil gate is open.
func (g *PreflightOnce) enter(ctx context.Context) (first bool, err error) {
	if g == nil {
		return false, nil
	}
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if g.open || g.err != nil {
		defer func() { <-g.turn }()
		return false, g.err
	}
	return true, nil
}

// leave tells the others what was found. A failure that is the session's own
// says nothing about them: the next one finds out.
func (g *PreflightOnce) leave(err error) {
	if class, _ := classify(err); err == nil {
		g.open = true
	} else if class == schedule.Everyones {
		g.err = err
	}
	<-g.turn
}
