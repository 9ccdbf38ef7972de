package main

import (
	"context"
	"fmt"

	"github.com/symphony-runner/symphony/runner/redact"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
)

// stateFile is a state in a file, which a cache may bring and take away.
type stateFile struct {
	path     string
	readOnly bool // a dry run looks without the lock, and never writes
	edit     bool // an operator's command changes it beside a run
	redactor *redact.Redactor

	witness string // of a cache, see [store.Cache]; empty without one
	warn    func(string)

	open place // nil before the first Load
}

func (f *stateFile) Load(ctx context.Context) (*schedule.State, store.Revision, error) {
	if f.readOnly && f.witness == "" {
		s, err := store.ReadFile(ctx, f.path)
		return s, "", err
	}
	if f.open == nil {
		open, err := f.start(ctx)
		if err != nil {
			return nil, "", err
		}
		f.open = open
	}
	s, rev, err := f.open.Load(ctx)
	if have, seen, back := f.wentBack(); err == nil && back && f.warn != nil {
		f.warn(fmt.Sprintf("the cache brought back an older state: generation %d, though %d was saved; what runs did in between is not in it, and claims of that time count as interrupted", have, seen))
		f.warn = nil // once
	}
	return s, rev, err
}

func (f *stateFile) start(ctx context.Context) (place, error) {
	switch {
	case f.readOnly:
		return store.OpenCacheReadOnly(f.path, f.witness), nil
	case f.edit && f.witness != "":
		return store.EditCache(ctx, f.path, f.witness)
	case f.edit:
		return store.EditFile(ctx, f.path)
	case f.witness != "":
		return store.OpenCache(f.path, f.witness)
	}
	return store.OpenFile(f.path)
}

// wentBack is what [store.Cache.RolledBack] says of the last Load.
func (f *stateFile) wentBack() (have, seen int64, back bool) {
	if cache, ok := f.open.(*store.Cache); ok {
		return cache.RolledBack()
	}
	return 0, 0, false
}

func (f *stateFile) Save(ctx context.Context, s *schedule.State, rev store.Revision) (store.Revision, error) {
	return f.open.Save(ctx, cleanState(s, f.redactor), rev)
}

func (f *stateFile) Close() error {
	if f.open == nil {
		return nil
	}
	return f.open.Close()
}
