package text_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/text"
)

func TestNumbersAreShort(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 7: "7", 950: "950", 999: "999", 1000: "1k", 1049: "1k", 1050: "1.1k", 3402: "3.4k", 12_345: "12.3k",
		99_949: "99.9k", 99_950: "100k", 123_456: "123k", 999_499: "999k", 999_500: "1M", 1_234_567: "1.23M",
		4_560_000: "4.56M", 9_995_000: "10M", 45_600_000: "45.6M", 1_000_000_000: "1G", 2_500_000_000_000: "2.5T",
		-950: "-950", -12_345: "-12.3k", math.MaxInt64: "9.22E", math.MinInt64: "-9.22E",
	} {
		if got := text.Number(n); got != want {
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
		if got := text.Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestNumbersAndDurationsStayNarrow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if got := text.Number(rapid.Int64().Draw(t, "n")); len(got) > len("-99.9k") {
			t.Errorf("number %q", got)
		}
		d := time.Duration(rapid.Int64Range(0, int64(99*24*time.Hour)).Draw(t, "d"))
		if got := text.Duration(d); len(got) > len("59m59s") {
			t.Errorf("duration %q", got)
		}
	})
}
