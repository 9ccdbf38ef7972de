package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// entries holds the files of two cache entries, each in a folder of its own.
type entries struct{ state, highWater string }

func newEntries(t *testing.T) entries {
	t.Helper()
	return entries{filepath.Join(t.TempDir(), "state.json"), filepath.Join(t.TempDir(), "codex", "generation")}
}

func (e entries) open(t *testing.T) *Cache {
	t.Helper()
	return mustOpen(t, e.state).WithHighWater(e.highWater)
}

// run opens the state, saves n times, and closes it.
func (e entries) run(t *testing.T, n int) {
	t.Helper()
	c := e.open(t)
	s, rev := mustLoad(t, c)
	for range n {
		s.Pause.Why += "again "
		rev = mustSave(t, c, s, rev)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCacheIsAStore(t *testing.T) {
	t.Parallel()
	testConformance(t, func(t *testing.T) storage {
		e := newEntries(t)
		p := fileStorage(e.state)
		p.open = func(t *testing.T) (openStore, func()) { c := e.open(t); return c, func() { c.Close() } }
		return p
	})
}

func TestAStateThatWasRolledBackIsNoticed(t *testing.T) {
	t.Parallel()
	e := newEntries(t)
	e.run(t, 3)
	old := mustRead(t, e.state)
	e.run(t, 4)
	latest := mustRead(t, e.state)

	for name, test := range map[string]struct {
		state, highWater string // empty for no file
		have, seen       int64
		rolledBack       bool
	}{
		"both are the latest":  {string(latest), "7\n", 7, 7, false},
		"the state is older":   {string(old), "7\n", 3, 7, true},
		"the state is gone":    {"", "7", 0, 7, true},
		"the mark is older":    {string(latest), "3\n", 7, 3, false},
		"the mark is gone":     {string(old), "", 3, 0, false},
		"both are gone":        {"", "", 0, 0, false},
		"the mark is garbage":  {string(old), "seven\n", 3, 0, false},
		"the mark is negative": {string(old), "-7\n", 3, 0, false},
		"the mark is too long": {string(old), "7" + string(make([]byte, 99)), 3, 0, false},
		"the mark is a trap":   {string(old), strconv.FormatInt(1<<62, 10), 3, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEntries(t)
			for path, content := range map[string]string{e.state: test.state, e.highWater: test.highWater} {
				if content == "" {
					continue
				}
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			readOnly := FileToRead(e.state).WithHighWater(e.highWater)
			_, rev := mustLoad(t, readOnly)
			if have, seen, ok := readOnly.RolledBack(); have != test.have || seen != test.seen || ok != test.rolledBack {
				t.Errorf("read-only: %d, %d, %v", have, seen, ok)
			}
			if _, err := readOnly.Save(t.Context(), sample(), rev); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("a read-only cache could save: %v", err)
			}
			if _, err := os.Stat(e.state + ".lock"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a read-only cache took the lock: %v", err)
			}

			c := e.open(t)
			s, rev := mustLoad(t, c)
			if have, seen, ok := c.RolledBack(); have != test.have || seen != test.seen || ok != test.rolledBack {
				t.Errorf("got %d, %d, %v", have, seen, ok)
			}
			s.Pause.Why = "something else"
			mustSave(t, c, s, rev)
			mustLoad(t, c)
			next := max(test.have, test.seen) + 1
			if have, seen, ok := c.RolledBack(); have != next || seen != next || ok {
				t.Errorf("after a save: %d, %d, %v, want %d", have, seen, ok, next)
			}
		})
	}
}

func TestTheHighWaterMarkHoldsOnlyTheGeneration(t *testing.T) {
	t.Parallel()
	e := newEntries(t)
	folder := filepath.Dir(e.highWater)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tempPath(e.highWater), []byte("of a killed run"), 0o600); err != nil {
		t.Fatal(err)
	}
	e.run(t, 2)
	if diff := cmp.Diff("2\n", string(mustRead(t, e.highWater))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"generation"}, listDir(t, folder)); diff != "" {
		t.Error(diff)
	}
	before, err := os.Stat(e.highWater)
	if err != nil {
		t.Fatal(err)
	}
	c := e.open(t)
	s, rev := mustLoad(t, c)
	mustSave(t, c, s, rev)
	if after, err := os.Stat(e.highWater); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was written again though nothing changed: %v", err)
	}
}

func TestAHighWaterMarkThatCannotBeWrittenOrReadIsNoError(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"its folder is a file": func(path string) error { return os.WriteFile(filepath.Dir(path), nil, 0o600) },
		"it is a folder":       func(path string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o700) },
		"its temporary file is a folder": func(path string) error {
			return os.MkdirAll(filepath.Join(tempPath(path), "x"), 0o700)
		},
		"it is a link": func(path string) error {
			return errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.Symlink("/nowhere", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEntries(t)
			if err := spoil(e.highWater); err != nil {
				t.Fatal(err)
			}
			e.run(t, 1)
			c := e.open(t)
			mustLoad(t, c)
			if have, _, ok := c.RolledBack(); have != 1 || ok {
				t.Errorf("generation %d, rolled back: %v", have, ok)
			}
		})
	}
}
