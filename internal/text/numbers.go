package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Number returns n as people read it, in about three digits: 950, 12.3k, 4.56M.
func Number(n int64) string {
	if n > -1000 && n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	sign, f := "", float64(n)
	if f < 0 {
		sign, f = "-", -f
	}
	const units = "kMGTPE" // the last one takes every number
	for unit := 0; ; unit++ {
		f /= 1000
		digits := strconv.FormatFloat(f, 'f', decimals(f, unit), 64)
		if len(digits) < 4 || strings.Contains(digits, ".") || unit == len(units)-1 { // the number is not rounded up to 1000
			return sign + trimZeros(digits) + units[unit:unit+1]
		}
	}
}

// decimals returns the number of digits after the point: three digits in all, but at
// most one behind the point for thousands.
func decimals(f float64, unit int) int {
	switch {
	case f >= 99.95:
		return 0
	case f >= 9.995 || unit == 0:
		return 1
	}
	return 2
}

func trimZeros(digits string) string {
	if !strings.Contains(digits, ".") {
		return digits
	}
	return strings.TrimRight(strings.TrimRight(digits, "0"), ".")
}

// Count returns a count of things in words.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Duration returns d as people read it, in two units at most: 350ms, 4.2s, 1m03s, 2h05m, 3d04h.
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(-max(d, -math.MaxInt64))
	}
	if d = d.Round(time.Millisecond); d < time.Second {
		if d == 0 {
			return "0s"
		}
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	if tenths := d.Round(100 * time.Millisecond); tenths < 10*time.Second {
		return strconv.FormatFloat(tenths.Seconds(), 'f', -1, 64) + "s"
	}
	if d = d.Round(time.Second); d < time.Minute {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	if d < time.Hour {
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	if d = d.Round(time.Minute); d < 24*time.Hour {
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// Clock returns an instant in UTC as seen from now: the time of day, with the day
// when it is another one.
func Clock(at, now time.Time) string { return clock(at, now, "15:04:05") }

// Minute returns an instant as [Clock] does, without seconds.
func Minute(at, now time.Time) string { return clock(at, now, "15:04") }

func clock(at, now time.Time, today string) string {
	at, now = at.UTC(), now.UTC()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format(today)
	}
	return at.Format("Jan 2 15:04")
}

// Relative returns the distance of an instant from now, in whole seconds: one that is to come is
// not shown too early.
func Relative(at, now time.Time) string {
	d := at.Sub(now)
	switch seconds := d.Truncate(time.Second); {
	case d == 0:
		return "now"
	case d > seconds:
		return "in " + Duration(min(seconds, math.MaxInt64-time.Second)+time.Second)
	case d > 0:
		return "in " + Duration(d)
	case seconds == 0:
		return "just now"
	default:
		return Duration(-seconds) + " ago"
	}
}

// Instant returns an instant as Clock and Relative do, for running text.
func Instant(at, now time.Time) string {
	return fmt.Sprintf("%s UTC (%s)", Clock(at, now), Relative(at, now))
}

// Dollars returns an amount in millionths of a US dollar for people: in cents, or with two
// more digits below ten cents.
func Dollars(millionths int64) string {
	switch {
	case millionths == 0:
		return "$0"
	case millionths < 100:
		return "<$0.0001"
	case millionths < 100_000:
		return fmt.Sprintf("$%.4f", float64(millionths)/1e6)
	}
	return fmt.Sprintf("$%.2f", float64(millionths)/1e6)
}
