package nearest

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTheNearestNameIsFoundWhenOneIsClose(t *testing.T) {
	t.Parallel()
	known := []string{"agent.max_turns", "polling.interval_ms", "title"}
	for name, want := range map[string]string{
		"agent.max_turn": "agent.max_turns", "titel": "title", "interval": "", "x": "", "": "", "title": "title",
	} {
		if got := Name(name, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
}

func TestDistanceIsAMetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab]{0,6}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		switch {
		case (Distance(a, b) == 0) != (a == b):
			t.Fatal("not zero exactly for the same name")
		case Distance(a, b) != Distance(b, a):
			t.Fatal("not symmetric")
		case Distance(a, c) > Distance(a, b)+Distance(b, c):
			t.Fatal("a way round is shorter")
		case Distance(a, a+"x") != 1:
			t.Fatal("one more character is not one edit")
		}
	})
}
