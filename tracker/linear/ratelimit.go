package linear

import (
	"net/http"
	"strconv"
	"time"
)

// longest bounds what a server may ask to wait. Linear counts by the hour.
const longest = 24 * time.Hour

// retryAfter returns the wait that the server asks for, in seconds or as a date; 0
// when it does not.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return bounded(time.Duration(min(seconds, int(longest/time.Second))) * time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return bounded(time.Until(at))
	}
	return 0
}

// untilReset returns how long the exhausted limits last; when none is said to be
// exhausted (a query may cost more than what remains), until the first is reset.
// Linear sends these headers with every answer, so they mean nothing elsewhere.
func untilReset(header http.Header) time.Duration {
	var first, exhausted time.Duration
	for _, limit := range []string{"Requests", "Endpoint-Requests", "Complexity"} {
		reset, err := strconv.ParseInt(header.Get("X-Ratelimit-"+limit+"-Reset"), 10, 64)
		if err != nil {
			continue
		}
		until := bounded(time.Until(time.UnixMilli(reset)))
		if header.Get("X-Ratelimit-"+limit+"-Remaining") == "0" {
			exhausted = max(exhausted, until)
		}
		if first == 0 || until < first {
			first = until
		}
	}
	if exhausted > 0 {
		return exhausted
	}
	return first
}

func bounded(d time.Duration) time.Duration { return min(max(d, 0), longest) }
