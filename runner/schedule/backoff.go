package schedule

import "time"

const (
	// ContinuationDelay is the wait before the session that follows a normal exit (SPEC §8.4).
	ContinuationDelay = time.Second
	// firstBackoff is the wait after the first failure (SPEC §8.4).
	firstBackoff = 10 * time.Second
)

// Backoff is the wait before the given attempt, which is 1 for the first retry:
// 10 s doubled for each further one, at most limit (SPEC §8.4).
func Backoff(attempt int, limit time.Duration) time.Duration {
	wait := firstBackoff
	for ; attempt > 1 && wait < limit; attempt-- {
		wait += min(wait, limit-wait) // doubled, without overflow
	}
	return min(wait, limit)
}
