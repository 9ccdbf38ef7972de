package report

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Duration is d as people read it, in two units at most: 350ms, 4.2s, 1m03s, 2h05m, 3d04h.
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

// clock is an instant in UTC as seen from now: the time of day, and the day too
// when it is another one.
func clock(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04:05")
	}
	return at.Format("Jan 2 15:04")
}

// relative is how far an instant is from now.
func relative(at, now time.Time) string {
	switch d := at.Sub(now); {
	case d > 0:
		return "in " + Duration(d)
	case d < 0:
		return Duration(-max(d, -math.MaxInt64)) + " ago"
	}
	return "now"
}

// instant is both, for running text.
func instant(at, now time.Time) string {
	return fmt.Sprintf("%s UTC (%s)", clock(at, now), relative(at, now))
}
