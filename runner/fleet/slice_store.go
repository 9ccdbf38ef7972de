package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
)

// SliceStore is the store of a shard. It loads the slice of the plan, and saves into the
// shard's result. Only one goroutine may use it.
type SliceStore struct {
	exchange string
	root     *os.Root // folder of the result
	path     string   // of result.json, for messages
	result   Result   // as last written
}

// OpenSlice opens the slice of a shard and writes its first result, which says that no
// session has started. It removes a result of another plan. job is the id of the shard's
// job; empty if it is not known.
//
// It fails with [ErrWorked] if the folder has a result of this shard: a shard runs once, so
// that no issue gets two sessions. It fails with [ErrUnreadable] if the plan has no such
// shard.
func OpenSlice(exchange string, p Plan, shard int, job string) (*SliceStore, error) {
	slice, ok := p.Slice(shard)
	if !ok {
		return nil, fmt.Errorf("open shard %d: %w: the plan has no such shard: start the shards that it lists", shard, ErrUnreadable)
	}
	names := []string{resultsFolder, resultFolder(shard)}
	s := &SliceStore{exchange: exchange, path: inExchange(exchange, append(names, resultName)...)}
	if _, err := readResult(exchange, names, slice); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errOtherPlan) {
		return nil, fmt.Errorf("open shard %d: %w: its result is in %s: when the process that writes it has ended, run symphony collect, and plan again", shard, ErrWorked, s.path)
	}
	s.result = Result{Owner: slice.State.Self, Job: job, State: clone(slice.State)}
	if err := s.begin(exchange, names); err != nil {
		return nil, fmt.Errorf("open shard %d: %w: make room on the disk, or correct the permissions of the exchange folder", shard, err)
	}
	return s, nil
}

// begin replaces the folder of the result with an empty one, and writes the first result.
func (s *SliceStore) begin(exchange string, names []string) error {
	folder := filepath.Join(append([]string{exchange}, names...)...)
	err := os.RemoveAll(folder)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		s.root, err = openRoot(exchange, names...)
	}
	if err != nil {
		return err
	}
	return s.write(s.result)
}

// Close closes the folder of the result.
func (s *SliceStore) Close() error { return s.root.Close() }

// Load returns the state that was saved last: the slice if none was saved yet.
func (s *SliceStore) Load(ctx context.Context) (*schedule.State, store.Revision, error) {
	if ctx.Err() != nil {
		return nil, "", fmt.Errorf("load the state of shard %d: %w", s.result.Owner.Shard, context.Cause(ctx))
	}
	return clone(s.result.State), s.revision(), nil
}

// Save replaces the state of the result. It fails with [store.ErrConflict] if the state was
// saved after the revision.
func (s *SliceStore) Save(ctx context.Context, state *schedule.State, rev store.Revision) (store.Revision, error) {
	err := context.Cause(ctx)
	if err == nil && rev != s.revision() {
		err = fmt.Errorf("%w: load it again", store.ErrConflict)
	}
	if err == nil {
		next := s.result
		next.State = clone(state)
		next.saved++
		err = s.write(next)
	}
	if err != nil {
		return "", fmt.Errorf("save the state of shard %d: %w", s.result.Owner.Shard, err)
	}
	return s.revision(), nil
}

// Report adds the shard's part of the report to the result. The caller has masked the
// secrets in its texts, and calls Report at the end of the shard.
func (s *SliceStore) Report(t report.Tick) error {
	next := s.result
	next.Tick = t
	next.saved++
	if err := s.write(next); err != nil {
		return fmt.Errorf("write the result of shard %d: %w", s.result.Owner.Shard, err)
	}
	return nil
}

// clone returns a copy of a state and of its faults, because the loop changes them in
// place.
func clone(state *schedule.State) *schedule.State {
	c := state.Clone()
	c.Faults = slices.Clone(c.Faults)
	return c
}

func (s *SliceStore) revision() store.Revision {
	return store.Revision(strconv.FormatInt(s.result.saved, 10))
}

func (s *SliceStore) write(r Result) error {
	data, err := encodeResult(r)
	if err != nil {
		return fmt.Errorf("%w: %w: report this as a defect", ErrInvalid, err)
	}
	if err := writeFile(s.root, resultName, data); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: somebody has removed %s", err, filepath.Dir(s.path))
		}
		return err
	}
	s.result = r
	return nil
}
