package attempt

import (
	"context"
	"fmt"
	"sync"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/prompt"
)

// Steering lets the runner give feedback to a session while it works. The zero value gives none
// until the session serves it. It is safe for concurrent use.
type Steering struct {
	// Watch is called when it becomes possible to give feedback, and when that has ended; nil for
	// nobody who asks. It is set before the session.
	Watch func(ready bool)

	giving sync.Mutex // held while items are given, one batch at a time

	mu   sync.Mutex
	give func([]prompt.Feedback) error // nil while no turn is in progress
}

// Serve lets give take the items that come, until end is called. Then the context of give ends,
// and no call of it is in progress when end returns.
func (s *Steering) Serve(ctx context.Context, give func(context.Context, []prompt.Feedback) error) (end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.set(func(items []prompt.Feedback) error { return give(ctx, items) })
	s.watched(true)
	return func() {
		s.set(nil)
		cancel(fmt.Errorf("%w: the turn ended before", codex.ErrNotSteered))
		s.giving.Lock()
		defer s.giving.Unlock()
		s.watched(false)
	}
}

func (s *Steering) watched(ready bool) {
	if s.Watch != nil {
		s.Watch(ready)
	}
}

func (s *Steering) set(give func([]prompt.Feedback) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.give = give
}

// IsReady reports whether a turn is in progress.
func (s *Steering) IsReady() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.give != nil
}

// Give gives items to the session, and calls then with nil once the model has them, else with the
// reason. The session does not end before then has returned.
func (s *Steering) Give(items []prompt.Feedback, then func(error)) {
	s.giving.Lock()
	defer s.giving.Unlock()
	s.mu.Lock()
	give := s.give
	s.mu.Unlock()
	if give == nil {
		then(fmt.Errorf("%w: no turn is in progress", codex.ErrNotSteered))
		return
	}
	then(give(items))
}

func (a *attempt) steer(ctx context.Context, items []prompt.Feedback) error {
	hidden := make([]prompt.Feedback, len(items))
	for i, f := range items {
		f.Text, f.Code = a.Redact(f.Text), a.Redact(f.Code)
		hidden[i] = f
	}
	a.conversation.addItems(hidden) // the agent may answer before Steer returns
	return a.sandbox.session.Steer(ctx, prompt.News(a.Issue, hidden, a.CanAsk))
}
