package schedule

import (
	"cmp"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Compare orders issues for dispatch (SPEC §8.2): priority 1 to 4 first, the
// others last; then the oldest, those without a date last; then the identifier.
func Compare(a, b tracker.Issue) int { return compare(&a, &b) }

// inOrder returns the issues in the order of [Compare]: the same slice when they
// are in order already, which is looked at without copying one.
func inOrder(issues []tracker.Issue) []tracker.Issue {
	for i := 1; i < len(issues); i++ {
		if compare(&issues[i-1], &issues[i]) > 0 {
			issues = slices.Clone(issues)
			slices.SortFunc(issues, Compare)
			break
		}
	}
	return issues
}

func compare(a, b *tracker.Issue) int {
	return cmp.Or(
		cmp.Compare(rank(a.Priority), rank(b.Priority)),
		compareAge(a.CreatedAt, b.CreatedAt),
		cmp.Compare(a.Identifier, b.Identifier),
		cmp.Compare(a.ID, b.ID),
	)
}

func rank(priority *int) int {
	const last = 5
	if priority == nil || *priority < 1 || *priority >= last {
		return last
	}
	return *priority
}

func compareAge(a, b time.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return a.Compare(b)
}
