package store

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// The instant of the kill is what is random here, so that it falls into every
// part of a save; nothing is waited for.
func TestAKillAtAnyInstantLeavesTheOldStateOrTheNew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	last := int64(0)
	for range 50 {
		writer := start(t, "writer", path)
		printed := []string{writer.line(t)}
		<-time.After(rand.N(3 * time.Millisecond))
		printed = append(printed, writer.kill(t)...)

		saved, err := strconv.ParseInt(printed[len(printed)-1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, generation, err := Decode(data)
		if err != nil {
			t.Fatalf("after generation %d: %v", last, err)
		}
		if generation < saved || saved <= last {
			t.Fatalf("generation %d was on disk, %d was saved, %d is there now", last, saved, generation)
		}
		if s.Pause.Why == "" {
			t.Fatalf("generation %d does not hold what was saved", generation)
		}
		last = generation
	}
}
