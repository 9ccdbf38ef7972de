package report_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestNumbersAreShort(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 7: "7", 950: "950", 999: "999", 1000: "1k", 1049: "1k", 1050: "1.1k", 3402: "3.4k", 12_345: "12.3k",
		99_949: "99.9k", 99_950: "100k", 123_456: "123k", 999_499: "999k", 999_500: "1M", 1_234_567: "1.23M",
		4_560_000: "4.56M", 9_995_000: "10M", 45_600_000: "45.6M", 1_000_000_000: "1G", 2_500_000_000_000: "2.5T",
		-950: "-950", -12_345: "-12.3k", math.MaxInt64: "9.22E", math.MinInt64: "-9.22E",
	} {
		if got := report.Number(n); got != want {
			t.Errorf("Number(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDurationsAreShort(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		0: "0s", 400 * time.Microsecond: "0s", 350 * time.Millisecond: "350ms", 999_600 * time.Microsecond: "1s",
		4200 * time.Millisecond: "4.2s", 9960 * time.Millisecond: "10s", 12_400 * time.Millisecond: "12s",
		59_600 * time.Millisecond: "1m00s", 63 * time.Second: "1m03s", time.Hour - time.Millisecond: "1h00m",
		2*time.Hour + 5*time.Minute: "2h05m", day - time.Second: "1d00h", 3*day + 4*time.Hour: "3d04h",
		-63 * time.Second: "-1m03s", math.MinInt64: "-106751d23h", math.MaxInt64: "106751d23h",
	} {
		if got := report.Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestNumbersAndDurationsStayNarrow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if got := report.Number(rapid.Int64().Draw(t, "n")); len(got) > len("-99.9k") {
			t.Errorf("number %q", got)
		}
		d := time.Duration(rapid.Int64Range(0, int64(99*24*time.Hour)).Draw(t, "d"))
		if got := report.Duration(d); len(got) > len("59m59s") {
			t.Errorf("duration %q", got)
		}
	})
}

// TestAgesAreInWholeSeconds holds a page to words that people use: a run takes 909ms, but
// nothing happened "909ms ago", and what is due is not shown as due too early.
func TestAgesAreInWholeSeconds(t *testing.T) {
	t.Parallel()
	for ago, want := range map[time.Duration]string{
		0: "", time.Millisecond: "(just now)", 909 * time.Millisecond: "(just now)", time.Second: "(1s ago)",
		1400 * time.Millisecond: "(1s ago)", 59_900 * time.Millisecond: "(59s ago)", 26 * time.Hour: "(1d02h ago)", math.MaxInt64: "(106751d23h ago)",
	} {
		s := schedule.New(schedule.Owner{})
		s.History = []schedule.TickRecord{{Started: end.Add(-ago)}}
		if page := report.State(s, end).Markdown(links); !strings.Contains(page, want) || want == "" && strings.Contains(page, " ago)") {
			t.Errorf("what began %v ago is not shown as %q:\n%s", ago, want, page)
		}
	}
	for ahead, want := range map[time.Duration]string{
		time.Millisecond: "in 1s", 1400 * time.Millisecond: "in 2s", 8 * time.Second: "in 8s", math.MaxInt64: "in 106751d23h",
	} {
		s := schedule.New(schedule.Owner{})
		s.Claims["a"] = schedule.Claim{ID: "a", Phase: schedule.Waiting, Due: end.Add(ahead)}
		if text := report.State(s, end).Text(120); !strings.Contains(text, want+" ") {
			t.Errorf("what is due in %v is not shown as %q:\n%s", ahead, want, text)
		}
	}
}
