package transport

import (
	"net/http"
	"strconv"
	"time"
)

// maxWait bounds the wait that a server may ask for: the limits that we know end within the
// hour.
const maxWait = 24 * time.Hour

// RetryAfter returns the wait of the Retry-After header, in seconds or as a date, and
// false without a valid one. A date that has passed is not a wait.
func RetryAfter(header http.Header) (time.Duration, bool) {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return bounded(time.Duration(min(seconds, int64(maxWait/time.Second))) * time.Second), true
	}
	at, err := http.ParseTime(value)
	return bounded(time.Until(at)), err == nil
}

// Limit is a limit that a server reports with every answer.
type Limit struct {
	Exhausted bool
	Reset     time.Duration // time until it ends; never 0
}

// ReadLimit reads X-RateLimit-Remaining and X-RateLimit-Reset; a name such as
// "Requests-" stands before the last word of each, and at returns the time that a
// reset stands for. ReadLimit returns false if the headers do not say when the limit
// ends.
func ReadLimit(header http.Header, name string, at func(int64) time.Time) (Limit, bool) {
	reset, err := strconv.ParseInt(header.Get("X-RateLimit-"+name+"Reset"), 10, 64)
	if err != nil {
		return Limit{}, false
	}
	wait := bounded(time.Until(at(min(reset, 1<<52)))).Round(time.Second) // no time.Time overflows
	return Limit{header.Get("X-RateLimit-"+name+"Remaining") == "0", max(time.Second, wait)}, true
}

func bounded(d time.Duration) time.Duration { return min(max(d, 0), maxWait) }
