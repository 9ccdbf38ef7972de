package tracker_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/tracker"
)

func TestIdentifiersAreInTheOrderInWhichPeopleReadThem(t *testing.T) {
	want := []string{"", "7", "A", "A-", "A-0", "A-01", "A-1", "A-2", "A-2-b", "A-10", "A-10-2", "A-10-10", "A-99999999999999999999998", "A-99999999999999999999999", "AB-1", "B"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, tracker.CompareNaturally)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheNaturalOrderIsAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[AB1-]?[0-9]{0,3}-?[0-2]{0,2}`)
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		compare := tracker.CompareNaturally
		if compare(a, b) != -compare(b, a) || (compare(a, b) == 0) != (a == b) {
			t.Fatalf("%q and %q: %d, %d", a, b, compare(a, b), compare(b, a))
		}
		if compare(a, b) < 0 && compare(b, c) < 0 && compare(a, c) >= 0 {
			t.Fatalf("%q < %q < %q, but not the first and the last", a, b, c)
		}
	})
}
