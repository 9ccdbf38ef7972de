package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/store"
)

func TestASaveOnAnOldRevisionIsAConflict(t *testing.T) {
	t.Parallel()
	exchange, p := t.TempDir(), samplePlan(1)
	s := mustOpenSlice(t, exchange, p, 1)
	state, rev, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(t.Context(), state, rev); err != nil {
		t.Fatal(err)
	}
	state.Salt = "changed without a save"
	if _, err := s.Save(t.Context(), state, rev); !errors.Is(err, store.ErrConflict) {
		t.Errorf("got %v", err)
	}
	again, _, err := s.Load(t.Context())
	if err != nil || again.Salt != "SALT" {
		t.Errorf("%q, %v", again.Salt, err)
	}
}

func TestAShardWorksOnce(t *testing.T) {
	t.Parallel()
	exchange, old, p := t.TempDir(), samplePlan(2), samplePlan(2)
	old.Owner.Run = "1699"
	for i := range old.Shards {
		old.Shards[i].State.Self = old.ShardOwner(i + 1)
	}
	mustOpenSlice(t, exchange, old, 1)
	writeText(t, filepath.Join(exchange, resultsFolder, "result-1", threadsFolder, "old.jsonl.gz"), "x")
	mustOpenSlice(t, exchange, p, 1) // in the place of another run's
	if _, err := os.Stat(filepath.Join(exchange, resultsFolder, "result-1", threadsFolder)); err == nil {
		t.Error("the threads of another run are still there")
	}
	before := readText(t, filepath.Join(exchange, resultsFolder, "result-1", resultName))
	if _, err := OpenSlice(exchange, p, 1, ""); !errors.Is(err, ErrWorked) || !strings.Contains(err.Error(), "has ended, run symphony collect") {
		t.Errorf("got %v", err)
	}
	if readText(t, filepath.Join(exchange, resultsFolder, "result-1", resultName)) != before {
		t.Error("the result was changed")
	}
	writeText(t, filepath.Join(exchange, resultsFolder, "result-2", resultName), "{")
	if _, err := OpenSlice(exchange, p, 2, ""); !errors.Is(err, ErrWorked) {
		t.Errorf("over a damaged result: %v", err)
	}
	if _, err := OpenSlice(exchange, p, 3, ""); !errors.Is(err, ErrUnreadable) {
		t.Errorf("a shard that the plan does not have: %v", err)
	}
}
