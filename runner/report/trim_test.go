package report_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// TestATrimmedTickHasTheTotalsOfAWholeOne adds sessions one by one to a tick that is trimmed
// after each of them, and to one that is not.
func TestATrimmedTickHasTheTotalsOfAWholeOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 4).Draw(t, "most")
		claims := map[tracker.ID]schedule.Claim{}
		claimed := func(id tracker.ID) bool { _, is := claims[id]; return is }
		whole := report.Tick{Started: start, Ended: end, Listed: true, Delivers: rapid.Bool().Draw(t, "delivers")}
		trimmed := whole
		for n := range rapid.IntRange(0, 12).Draw(t, "sessions") {
			row := anyRow().Draw(t, "row")
			row.ID, row.Sessions, row.Ended = tracker.ID(fmt.Sprint("id-", n)), rapid.IntRange(1, 3).Draw(t, "sessions of the issue"), start.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "ended"))*time.Second)
			row.Shard = 0 // a service has none
			if rapid.Bool().Draw(t, "claimed") {
				claims[row.ID] = schedule.Claim{ID: row.ID, Phase: row.Next.Phase}
			}
			parked := rapid.Bool().Draw(t, "parked")
			for _, tick := range []*report.Tick{&whole, &trimmed} {
				*tick.Row(row.ID) = row
				if parked {
					tick.Parked = append(tick.Parked, row.ID)
				}
			}
			if ids := slices.Sorted(maps.Keys(claims)); len(ids) > 0 && rapid.Bool().Draw(t, "released") {
				delete(claims, rapid.SampledFrom(ids).Draw(t, "id"))
			}
			trimmed.Trim(most, claimed)
		}
		whole.Claims, trimmed.Claims = claims, claims

		over := slices.DeleteFunc(slices.Clone(trimmed.Rows), func(r report.Row) bool { return claimed(r.ID) })
		if len(over) > most || len(trimmed.Rows)-len(over) != len(claims) {
			t.Errorf("%d rows of claims and %d others, want all %d and at most %d", len(trimmed.Rows)-len(over), len(over), len(claims), most)
		}
		kept := map[tracker.ID]bool{}
		oldest := end.Add(time.Hour)
		for _, row := range over {
			kept[row.ID] = true
			oldest = slices.MinFunc([]time.Time{oldest, row.Ended}, time.Time.Compare)
		}
		for _, row := range whole.Rows {
			if !claimed(row.ID) && !kept[row.ID] && (len(over) < most || row.Ended.After(oldest)) {
				t.Errorf("%s is left out, which ended at %v, and one of %v is kept", row.ID, row.Ended, oldest)
			}
		}
		totals := func(tick report.Tick) []any {
			var doc struct {
				Issues  []struct{} `json:"issues"`
				Earlier int        `json:"earlier_issues"`
			}
			text, err := json.Marshal(report.Of(tick))
			if err == nil {
				err = json.Unmarshal(text, &doc)
			}
			if err != nil {
				t.Fatal(err)
			}
			headline, _, _ := strings.Cut(report.Of(tick).Markdown(report.Links{}), "\n")
			return []any{tick.Counts(), tick.Worked(), tick.Sessions(), tick.ParkedCount(), headline, len(doc.Issues) + doc.Earlier}
		}
		if diff := cmp.Diff(totals(whole), totals(trimmed)); diff != "" {
			t.Errorf("(-whole +trimmed):\n%s", diff)
		}
	})
}
