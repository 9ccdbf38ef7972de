package schedule

import (
	"time"
)

// Policy is what WORKFLOW.md says about scheduling (SPEC §5.3.1, §5.3.5). It is
// re-read before every pass, so a plan never outlives its policy.
type Policy struct {
	ActiveStates   []string // compared without regard to case and outer space
	TerminalStates []string
	RequiredLabels []string // normalised; an issue must carry all; a blank one matches nothing

	MaxConcurrent int            // sessions at once
	MaxPerState   map[string]int // the same for one state; keys normalised
	MaxPerTick    int            // sessions started in one tick

	MaxBackoff time.Duration // longest wait between two failures
	Stall      time.Duration // silence in a turn after which a session is stopped; not positive is never

	Budget Budget

	// What sessions work with, and the salt of these digests. The runner adds them.
	Setup Setup
	Salt  string
}

// Budget bounds what an issue, a tick and a day may cost. Tokens are input plus
// output; 0 is unlimited.
type Budget struct {
	Attempts       int   // failures in a row before an issue is parked
	IdleSessions   int   // sessions in a row that changed nothing before it is parked
	TokensPerIssue int64 // over all runs, while the issue is claimed
	TokensPerTick  int64
	TokensPerDay   int64 // a day of UTC
}

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
