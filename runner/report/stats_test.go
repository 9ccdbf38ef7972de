package report_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// withEnds returns a state in which n pull requests were merged, one an hour until now. Each
// course took 30 minutes to the pull request and 90 to the merge; of four one needed feedback.
func withEnds(n int, now time.Time) *schedule.State {
	s := schedule.New(schedule.Owner{})
	s.Conversations = map[tracker.ID]schedule.Conversation{}
	for i := range n {
		id, at := tracker.ID(fmt.Sprint(i)), now.Add(time.Duration(i-n+1)*time.Hour)
		s.Deliver(id, schedule.Delivery{Identifier: fmt.Sprintf("GH-%d", i), Number: i + 1})
		s.Conversations[id] = schedule.Conversation{Course: schedule.Course{
			Ready: at.Add(-90 * time.Minute), Opened: at.Add(-time.Hour), Sessions: 1 + i%4/3, Rounds: i % 4 / 3,
			Usage: usageOf(int64(100_000+i*37%9000), int64(3000+i*13%500)),
		}}
		s.Finished(id, schedule.PullMerged, at)
	}
	return s
}

// usageOf returns tokens of a model, most of them cached.
func usageOf(input, output int64) schedule.Usage {
	return schedule.Usage{Input: input, Output: output, Tariffs: schedule.Tariffs{
		{Tariff: schedule.Tariff{Model: "gpt-6"}, Input: input, Cached: input * 4 / 5, Output: output, Reasoning: output / 3},
	}}
}

// statsPrices holds the price of the model of usageOf.
var statsPrices = schedule.Prices{"gpt-6": {Rates: schedule.Rates{Input: 1.25, Cached: 0.125, CacheWrite: 1.25, Output: 10}}}

// mixed returns a state with all kinds of ends in two weeks, and an open pull request.
func mixed() *schedule.State {
	s := withEnds(8, end)
	s.Ends = append(s.Ends,
		schedule.IssueEnd{Issue: "GH-20", End: schedule.EndParked, Reason: "needs_input", At: end.Add(-50 * time.Hour)},
		schedule.IssueEnd{Issue: "GH-20", End: schedule.EndParked, Reason: "failures", At: end.Add(-49 * time.Hour)},
		schedule.IssueEnd{Issue: "GH-21", End: schedule.EndParked, Reason: "needs_input", At: end.Add(-48 * time.Hour)},
		schedule.IssueEnd{Issue: "GH-22", End: schedule.EndClosed, At: end.Add(-200 * time.Hour), Course: schedule.Course{Ready: end.Add(-300 * time.Hour), Opened: end.Add(-299 * time.Hour), Sessions: 3}},
		schedule.IssueEnd{Issue: "GH-23", End: schedule.EndDone, At: end.Add(-201 * time.Hour), Course: schedule.Course{Sessions: 1, Usage: schedule.Usage{Input: 500}}},
		schedule.IssueEnd{Issue: "GH-24", End: schedule.EndMerged, At: end.Add(-time.Hour), Course: schedule.Course{Ready: end, Failed: 1, Sessions: 2}}, // a clock jumped back
		schedule.IssueEnd{Issue: "GH-25", End: schedule.EndMerged, At: end.Add(48 * time.Hour)},                                                          // a clock was ahead
		schedule.IssueEnd{Issue: "GH-26", End: "praised", At: end},                                                                                       // of a newer version
		schedule.IssueEnd{Issue: "GH-27", End: schedule.EndMerged, At: end.Add(-40 * 24 * time.Hour)},                                                    // before the period
	)
	s.Deliver("9", schedule.Delivery{Identifier: "GH-9", Number: 99})
	s.Claims["9"] = schedule.Claim{ID: "9", Phase: schedule.Waiting, Course: schedule.Course{Ready: end.Add(-5 * time.Hour), Opened: end.Add(-2 * time.Hour)}}
	return s
}

func TestStatsReadAsInTheGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*schedule.State{"mixed": mixed(), "priced": withEnds(8, end), "empty": schedule.New(schedule.Owner{})} {
		prices := map[string]schedule.Prices{"mixed": statsPrices, "priced": statsPrices}[name]
		stats := report.StatsOf(s, end.AddDate(0, 0, -30), end, prices)
		data, err := json.MarshalIndent(stats, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		page := report.State(s, end)
		page.Prices = prices
		compare(t, filepath.Join("testdata", "stats-"+name+".txt"), stats.Text(80)+"== JSON\n"+string(data)+"\n== page\n"+numbersOf(page.Markdown(links)))
	}
}

// numbersOf returns the section with the numbers of a state page; empty for none.
func numbersOf(page string) string {
	_, section, _ := strings.Cut(page, "## Numbers")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

func TestAPartOfTheHistoryThatCannotBeReadIsLeftOut(t *testing.T) {
	t.Parallel()
	whole := withEnds(250, end)
	if len(whole.PackedEnds) != 2 {
		t.Fatalf("%d packs, want 2", len(whole.PackedEnds))
	}
	for name, spoil := range map[string]func(pack string) string{
		"cut":            func(pack string) string { return pack[:len(pack)/2] },
		"not base64":     func(pack string) string { return "1:%" },
		"of version 2":   func(pack string) string { return "2:" + pack[2:] },
		"without lines":  func(pack string) string { return "1:AAAA" },
		"another's text": func(string) string { return "hello" },
	} {
		s := whole.Clone()
		s.PackedEnds = []string{spoil(whole.PackedEnds[0]), whole.PackedEnds[1]}
		stats := report.StatsOf(s, end.AddDate(-1, 0, 0), end, nil)
		if stats.Merged != 150 || len(stats.Warnings) != 1 || !strings.Contains(stats.Warnings[0], "1 part of the history cannot be read") {
			t.Errorf("%s: %d are merged, warnings %q", name, stats.Merged, stats.Warnings)
		}
		id := tracker.ID("more") // a tick goes on with it
		s.Deliver(id, schedule.Delivery{Identifier: "GH-1000", Number: 1000})
		s.Finished(id, schedule.PullMerged, end)
		if again := report.StatsOf(s, end.AddDate(-1, 0, 0), end, nil); again.Merged != 151 {
			t.Errorf("%s: then %d are merged", name, again.Merged)
		}
	}
	if diff := cmp.Diff(250, report.StatsOf(whole, end.AddDate(-1, 0, 0), end, nil).Merged); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkStats computes the numbers of the largest history. The goal is 50 ms.
func BenchmarkStats(b *testing.B) {
	s := withEnds(10_000, end)
	size := 0
	for _, pack := range s.PackedEnds {
		size += len(pack)
	}
	b.ReportAllocs()
	for b.Loop() {
		if report.StatsOf(s, end.AddDate(-2, 0, 0), end, statsPrices).Merged != 10_000 {
			b.Fatal("some are missing")
		}
	}
	b.ReportMetric(float64(size), "packed-bytes")
}
