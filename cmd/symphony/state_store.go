package main

import (
	"context"
	"fmt"
	"io"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
)

// stateStore keeps the state at the place --state. Its backend is opened by the first Load. It
// redacts the state before each save.
type stateStore struct {
	open      func(context.Context) (runner.Store, error)
	exclusive bool         // the run that has loaded it is the only one on this machine
	warn      func(string) // called at most once, when the state was rolled back
	redactor  *redact.Redactor

	backend runner.Store // nil before the first Load
}

func (s *stateStore) Load(ctx context.Context) (*schedule.State, store.Revision, error) {
	if s.backend == nil {
		b, err := s.open(ctx)
		if err != nil {
			return nil, "", err
		}
		s.backend = b
	}
	state, rev, err := s.backend.Load(ctx)
	if loaded, newest, ok := s.rolledBack(); err == nil && ok && s.warn != nil {
		s.warn(fmt.Sprintf("the cache brought back an older state, generation %d instead of %d: what runs did in between is lost, and their claims count as interrupted", loaded, newest))
		s.warn = nil
	}
	return state, rev, err
}

func (s *stateStore) Save(ctx context.Context, state *schedule.State, rev store.Revision) (store.Revision, error) {
	return s.backend.Save(ctx, redacted(state, s.redactor), rev)
}

func (s *stateStore) Close() error {
	if c, ok := s.backend.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// CheckWrite returns an error when the token may only read the state, before
// anything is done that takes time or costs something.
func (s *stateStore) CheckWrite(ctx context.Context) error {
	if b, ok := s.backend.(*store.Branch); ok {
		return b.CheckWrite(ctx)
	}
	return nil
}

// rolledBack is [store.Cache.RolledBack].
func (s *stateStore) rolledBack() (loaded, newest int64, ok bool) {
	if c, ok := s.backend.(*store.Cache); ok {
		return c.RolledBack()
	}
	return 0, 0, false
}

// in returns the store, which makes the data folder of a workflow before it writes there.
func (s *stateStore) in(workflowPath string) *stateStore {
	open := s.open
	s.open = func(ctx context.Context) (runner.Store, error) {
		if s.exclusive {
			if err := makeDataFolder(workflowPath); err != nil {
				return nil, err
			}
		}
		return open(ctx)
	}
	return s
}

// fileReader reads the state in the file of this path without its lock.
type fileReader string

func (path fileReader) Load(ctx context.Context) (*schedule.State, store.Revision, error) {
	s, err := store.ReadFile(ctx, string(path))
	return s, "", err
}

func (path fileReader) Save(context.Context, *schedule.State, store.Revision) (store.Revision, error) {
	return "", fmt.Errorf("save state %s: it was opened to be read", string(path))
}
