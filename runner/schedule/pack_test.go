package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestThePackedHistoryKeepsEveryEnd(t *testing.T) {
	t.Parallel()
	for _, many := range []int{1, 99, 124, 125, 126, 250, 400} {
		s := schedule.New(me)
		second := func(n int) time.Time { return time.Unix(1<<33/int64(n+1), 0).UTC() } // the clock goes back
		var want []schedule.IssueEnd
		for n := range many {
			c := schedule.Course{Sessions: n % 7, Failed: n % 3, Rounds: n % 5, Usage: schedule.Usage{Input: int64(n) * 1000, Output: schedule.MaxTokens}}
			for i := range n % 3 {
				c.Usage.Tariffs = append(c.Usage.Tariffs, schedule.TariffUsage{
					Tariff: schedule.Tariff{Model: fmt.Sprint("gpt-", i+n%4), Long: i == 1}, Input: int64(n), Cached: 1, CacheWrite: 2, Output: 3, Reasoning: 4,
				})
			}
			if n%50 == 0 {
				c.Ready, c.Opened = second(n+1), second(n+2)
			}
			e := schedule.IssueEnd{Issue: todo(n + 1).Identifier, End: schedule.EndMerged, At: second(n), Course: c}
			merge(s, n+1, c, e.At.Add(999*time.Millisecond))
			want = append(want, e)
		}
		before := s.Clone()
		got, unread := s.AllEnds()
		if diff := cmp.Diff(want, got); diff != "" || unread > 0 || len(s.Ends) >= 125 {
			t.Fatalf("%d cannot be read, %d are not packed (-want +got):\n%s", unread, len(s.Ends), diff)
		}
		merge(s, 1000, schedule.Course{}, noon)
		if again, _ := before.AllEnds(); cmp.Diff(want, again) != "" {
			t.Fatal("an end was added to an earlier copy of the state")
		}
	}
}
