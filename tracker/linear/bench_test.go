package linear

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

// fakeOf1000 returns a fake with 1,000 issues, each with three labels and two
// blockers.
func fakeOf1000(b *testing.B) (*fake, []tracker.ID) {
	f := newFake(b)
	description := strings.Repeat("A line of the description.\n", 20)
	var ids []tracker.ID
	for i := range 1000 {
		var blockers []tracker.Blocker
		for _, id := range ids[max(0, i-2):] {
			blockers = append(blockers, tracker.Blocker{ID: id})
		}
		o := f.add(tracker.Issue{
			Title: fmt.Sprintf("Issue %d", i), Description: description, State: "Todo", Priority: new(2),
			Labels: []string{"bug", "urgent", "backend"}, BlockedBy: blockers,
		})
		ids = append(ids, tracker.ID(o["id"].(string)))
	}
	return f, ids
}

func BenchmarkListOf1000(b *testing.B) {
	f, _ := fakeOf1000(b)
	c := f.replayed(b)
	trackertest.MeasureCPU(b, func() {
		issues, err := c.IssuesByState(b.Context(), []string{"Todo"})
		if err != nil || len(issues) != 1000 {
			b.Fatal(len(issues), err)
		}
	})
}

func BenchmarkReadOf1000(b *testing.B) {
	f, ids := fakeOf1000(b)
	c := f.replayed(b)
	trackertest.MeasureCPU(b, func() {
		issues, err := c.IssuesByID(b.Context(), ids)
		if err != nil || len(issues) != 1000 {
			b.Fatal(len(issues), err)
		}
	})
}

// replayed opens the adapter over the replayed answers of the fake.
func (f *fake) replayed(b *testing.B) client {
	server := httptest.NewServer(trackertest.Replay(f))
	b.Cleanup(server.Close)
	return open(b, server.URL, server.Client())
}
