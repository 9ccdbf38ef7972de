package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// openStore is a store that a run has open.
type openStore interface {
	Load(ctx context.Context) (*schedule.State, Revision, error)
	Save(ctx context.Context, s *schedule.State, rev Revision) (Revision, error)
}

// storage is where a state is kept. It gives access to the bytes without the store.
type storage struct {
	open func(t *testing.T) (s openStore, end func()) // opens and closes the store like a run
	raw  func(t *testing.T) []byte                    // the stored bytes, nil if there are none
	put  func(t *testing.T, data []byte)              // writes as somebody else; nil removes the state
}

// testConformance tests what every store must do. newStorage returns an empty storage.
func testConformance(t *testing.T, newStorage func(t *testing.T) storage) {
	// begin opens a store in a new storage that holds data, if it is not nil.
	begin := func(t *testing.T, data []byte) (storage, openStore) {
		t.Helper()
		p := newStorage(t)
		if data != nil {
			p.put(t, data)
		}
		s, end := p.open(t)
		t.Cleanup(end)
		return p, s
	}

	t.Run("a missing state is empty", func(t *testing.T) {
		t.Parallel()
		p, s := begin(t, nil)
		got, rev := mustLoad(t, s)
		if diff := cmp.Diff(schedule.New(schedule.Owner{}), got); diff != "" {
			t.Error(diff)
		}
		if again := mustSave(t, s, got, rev); again != rev || p.raw(t) != nil {
			t.Errorf("saving nothing wrote %q, revision %s to %s", p.raw(t), rev, again)
		}
	})
	t.Run("the next run reads what was saved", func(t *testing.T) {
		t.Parallel()
		p := newStorage(t)
		s, end := p.open(t)
		_, rev := mustLoad(t, s)
		rev = mustSave(t, s, sample(), rev)
		end()
		s, end = p.open(t)
		defer end()
		got, gotRev := mustLoad(t, s)
		if diff := cmp.Diff(sample(), got); diff != "" {
			t.Error(diff)
		}
		if gotRev != rev {
			t.Errorf("saved as %s, loaded as %s", rev, gotRev)
		}
	})
	t.Run("what has not changed is not written", func(t *testing.T) {
		t.Parallel()
		before := mustEncode(t, sample(), 7)
		p, s := begin(t, before)
		got, rev := mustLoad(t, s)
		got.Self.PID, got.Tick.Sessions = 1, 1 // not kept, so no change
		if again := mustSave(t, s, got, rev); again != rev || !bytes.Equal(p.raw(t), before) {
			t.Errorf("written again: revision %s to %s", rev, again)
		}
	})
	t.Run("a state of the largest generation can be saved again and again", func(t *testing.T) {
		t.Parallel()
		p, s := begin(t, mustEncode(t, sample(), maxGeneration))
		state, rev := mustLoad(t, s)
		for want := int64(1); want < 3; want++ {
			state.Days[0].Sessions++
			rev = mustSave(t, s, state, rev)
			if _, got, err := Decode(p.raw(t)); err != nil || got != want {
				t.Fatalf("generation %d, %v; want %d", got, err, want)
			}
		}
	})
	t.Run("each save is a new generation", func(t *testing.T) {
		t.Parallel()
		p, s := begin(t, mustEncode(t, sample(), 7))
		state, rev := mustLoad(t, s)
		for want := int64(8); want < 11; want++ {
			state.Days[0].Sessions++
			rev = mustSave(t, s, state, rev)
			if _, got, err := Decode(p.raw(t)); err != nil || got != want {
				t.Fatalf("generation %d, %v; want %d", got, err, want)
			}
		}
	})
	t.Run("the last claim can be released", func(t *testing.T) {
		t.Parallel()
		_, s := begin(t, mustEncode(t, sample(), 1))
		_, rev := mustLoad(t, s)
		mustSave(t, s, schedule.New(schedule.Owner{}), rev)
		if got, _ := mustLoad(t, s); len(got.Claims) != 0 {
			t.Errorf("%d claims are left", len(got.Claims))
		}
	})
	t.Run("a state that is not kept is refused whole", func(t *testing.T) {
		t.Parallel()
		before := mustEncode(t, sample(), 1)
		p, s := begin(t, before)
		state, rev := mustLoad(t, s)
		state.Claims["x"] = schedule.Claim{ID: "x", Phase: "dreaming"}
		_, err := s.Save(t.Context(), state, rev)
		wantRefused(t, p, before, err, ErrInvalid)
	})
	t.Run("a run that is told to stop does not begin to save", func(t *testing.T) {
		t.Parallel()
		before := mustEncode(t, sample(), 1)
		p, s := begin(t, before)
		state, rev := mustLoad(t, s)
		stop := errors.New("told to stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stop)
		state.Days = nil
		_, err := s.Save(ctx, state, rev)
		wantRefused(t, p, before, err, stop)
		_, _, err = s.Load(ctx)
		wantRefused(t, p, before, err, stop)
	})

	other := sample()
	other.Days[0].Sessions = 99
	for name, between := range map[string][]byte{
		"another state of the same generation": mustEncode(t, other, 1),
		"the same state of a later generation": mustEncode(t, sample(), 2),
		"an empty file":                        {},
		"nothing":                              nil,
	} {
		t.Run("a conflict with "+name+" writes nothing", func(t *testing.T) {
			t.Parallel()
			p, s := begin(t, mustEncode(t, sample(), 1))
			state, rev := mustLoad(t, s)
			p.put(t, between)
			state.Days = nil
			_, err := s.Save(t.Context(), state, rev)
			wantRefused(t, p, between, err, ErrConflict)
		})
	}
	t.Run("after a conflict the state can be loaded and saved", func(t *testing.T) {
		t.Parallel()
		p, s := begin(t, nil)
		_, rev := mustLoad(t, s)
		p.put(t, mustEncode(t, other, 5))
		if _, err := s.Save(t.Context(), sample(), rev); !errors.Is(err, ErrConflict) {
			t.Fatalf("got %v, want a conflict", err)
		}
		_, rev = mustLoad(t, s)
		mustSave(t, s, sample(), rev)
		if got, _ := mustLoad(t, s); cmp.Diff(sample(), got) != "" {
			t.Error(cmp.Diff(sample(), got))
		}
	})
	for name, instead := range map[string][]byte{
		"removed":                  nil,
		"replaced by an older one": mustEncode(t, other, 6),
		"replaced by another one of its generation":     mustEncode(t, other, 8),
		"replaced by itself with the generation before": mustEncode(t, sample(), 7),
		"replaced by the first one of another run":      mustEncode(t, schedule.New(schedule.Owner{}), 1),
	} {
		t.Run("a state that is "+name+" under a run is refused until the latest is put back", func(t *testing.T) {
			t.Parallel()
			p, s := begin(t, mustEncode(t, other, 7))
			_, rev := mustLoad(t, s)
			rev = mustSave(t, s, sample(), rev)
			latest := p.raw(t)
			p.put(t, instead)
			for range 2 {
				_, err := s.Save(t.Context(), other, rev)
				wantRefused(t, p, instead, err, ErrConflict)
				state, none, err := s.Load(t.Context())
				if state != nil || none != "" {
					t.Errorf("loaded %v as %q", state, none)
				}
				wantRefused(t, p, instead, err, ErrUnreadable)
				if !strings.Contains(err.Error(), "under this run") || !strings.Contains(err.Error(), "end this run and begin another one") {
					t.Errorf("the error does not say what to do: %v", err)
				}
			}
			p.put(t, latest)
			state, rev := mustLoad(t, s)
			state.Days = nil
			mustSave(t, s, state, rev)
		})
	}
	t.Run("a revision is good for one save", func(t *testing.T) {
		t.Parallel()
		p, s := begin(t, nil)
		_, rev := mustLoad(t, s)
		mustSave(t, s, sample(), rev)
		before := p.raw(t)
		for _, stale := range []Revision{rev, "", "1", "-", "no revision"} {
			_, err := s.Save(t.Context(), other, stale)
			wantRefused(t, p, before, err, ErrConflict)
		}
	})

	good := mustEncode(t, sample(), 1)
	for name, bad := range map[string]struct {
		data []byte
		want error
	}{
		"an empty one":                    {[]byte{}, ErrUnreadable},
		"one that is cut off":             {good[:len(good)/2], ErrUnreadable},
		"one with something behind it":    {append(bytes.Clone(good), "{}"...), ErrUnreadable},
		"one edited by hand":              {bytes.Replace(good, []byte("ABC-1"), []byte("ABC-9"), 1), ErrUnreadable},
		"one with unknown fields":         {reseal(t, good, `"claims"`, `"claimz": 1, "claims"`), ErrUnreadable},
		"somebody else's file":            {[]byte("name: ci\n"), ErrUnreadable},
		"one larger than allowed":         {bytes.Repeat([]byte(" "), maxBytes+1), ErrUnreadable},
		"one of a newer version":          {[]byte(`{"version": 99, "shape": ["unknown"]}`), ErrNewer},
		"one of a newer version, as ours": {reseal(t, good, fmt.Sprintf(`"version": %d`, version), fmt.Sprintf(`"version": %d`, version+1)), ErrNewer},
	} {
		t.Run("a bad state stays as it is: "+name, func(t *testing.T) {
			t.Parallel()
			p, s := begin(t, bad.data)
			state, rev, err := s.Load(t.Context())
			if state != nil || rev != "" {
				t.Errorf("loaded %v as %q", state, rev)
			}
			wantRefused(t, p, bad.data, err, bad.want)
			if !strings.Contains(err.Error(), "nothing was changed: ") {
				t.Errorf("the error does not say what to do: %v", err)
			}
			for _, rev := range []Revision{rev, revisionOf(1, good), "0"} {
				_, err = s.Save(t.Context(), sample(), rev)
				wantRefused(t, p, bad.data, err, ErrConflict)
			}
		})
	}
}

// mustLoad loads the state; the test ends if that fails.
func mustLoad(t *testing.T, s openStore) (*schedule.State, Revision) {
	t.Helper()
	state, rev, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return state, rev
}

// mustSave saves the state; the test ends if that fails.
func mustSave(t *testing.T, s openStore, state *schedule.State, rev Revision) Revision {
	t.Helper()
	rev, err := s.Save(t.Context(), state, rev)
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

// mustEncode encodes the state; the test ends if that fails.
func mustEncode(t *testing.T, s *schedule.State, generation int64) []byte {
	t.Helper()
	data, err := Encode(s, generation)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// reseal returns data with one text replaced and a matching checksum, as a forger or
// a careless program would write it.
func reseal(t *testing.T, data []byte, old, new string) []byte {
	t.Helper()
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("%q is not there to be replaced", old)
	}
	data = bytes.Replace(data, []byte(old), []byte(new), 1)
	sum := bytes.Index(data, []byte(checksumPrefix))
	return withChecksum(append(append(bytes.Clone(data[:sum]), blankChecksum...), data[sum+len(blankChecksum):]...))
}

// wantRefused checks that err is a want, and that the stored bytes are still those
// in before.
func wantRefused(t *testing.T, p storage, before []byte, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	if after := p.raw(t); !bytes.Equal(after, before) || (after == nil) != (before == nil) {
		t.Errorf("the stored bytes have changed to %.80q", after)
	}
}
