package wiring

import (
	"context"
	"fmt"
	"io"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
)

// StateStore keeps the state at the place --state. Its backend is opened by the first Load. It
// redacts the state before each save.
type StateStore struct {
	Open      func(context.Context) (runner.Store, error)
	Exclusive bool         // the run that has loaded it is the only one on this machine
	Warn      func(string) // called at most once, when the state was rolled back
	Redactor  *redact.Redactor

	backend runner.Store // nil before the first Load
}

// Load opens the backend the first time, and loads the state.
func (s *StateStore) Load(ctx context.Context) (*schedule.State, store.Revision, error) {
	if s.backend == nil {
		b, err := s.Open(ctx)
		if err != nil {
			return nil, "", err
		}
		s.backend = b
	}
	state, rev, err := s.backend.Load(ctx)
	if loaded, newest, ok := s.rolledBack(); err == nil && ok && s.Warn != nil {
		s.Warn(fmt.Sprintf("the cache brought back an older state, generation %d instead of %d: what runs did in between is lost, and their claims count as interrupted", loaded, newest))
		s.Warn = nil
	}
	return state, rev, err
}

// Save saves the state without secrets.
func (s *StateStore) Save(ctx context.Context, state *schedule.State, rev store.Revision) (store.Revision, error) {
	return s.backend.Save(ctx, Redacted(state, s.Redactor), rev)
}

// Close gives up the lock, if there is one.
func (s *StateStore) Close() error {
	if c, ok := s.backend.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// CheckWrite returns an error when the token may only read the state, before
// anything is done that takes time or costs something.
func (s *StateStore) CheckWrite(ctx context.Context) error {
	if b, ok := s.backend.(*store.Branch); ok {
		return b.CheckWrite(ctx)
	}
	return nil
}

// rolledBack is [store.Cache.RolledBack].
func (s *StateStore) rolledBack() (loaded, newest int64, ok bool) {
	if c, ok := s.backend.(*store.Cache); ok {
		return c.RolledBack()
	}
	return 0, 0, false
}

// in returns the store, which makes the data folder of a workflow before it writes there.
func (s *StateStore) in(workflowPath string) *StateStore {
	open := s.Open
	s.Open = func(ctx context.Context) (runner.Store, error) {
		if s.Exclusive {
			if err := MakeDataFolder(workflowPath); err != nil {
				return nil, err
			}
		}
		return open(ctx)
	}
	return s
}
