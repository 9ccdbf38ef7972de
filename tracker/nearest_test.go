package tracker_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/tracker"
)

func TestTheNearestNameIsFoundWhenOneIsClose(t *testing.T) {
	t.Parallel()
	known := []string{"agent.max_turns", "polling.interval_ms", "title"}
	for name, want := range map[string]string{
		"agent.max_turn": "agent.max_turns", "titel": "title", "interval": "", "x": "", "": "", "title": "title",
	} {
		if got := tracker.Nearest(name, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
}

func TestEditDistanceIsAMetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab]{0,6}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		switch {
		case (tracker.EditDistance(a, b) == 0) != (a == b):
			t.Fatal("not zero exactly for the same name")
		case tracker.EditDistance(a, b) != tracker.EditDistance(b, a):
			t.Fatal("not symmetric")
		case tracker.EditDistance(a, c) > tracker.EditDistance(a, b)+tracker.EditDistance(b, c):
			t.Fatal("a way round is shorter")
		case tracker.EditDistance(a, a+"x") != 1:
			t.Fatal("one more character is not one edit")
		}
	})
}
