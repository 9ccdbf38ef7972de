package schedule

import (
	"time"
)

// Policy holds the scheduling settings of WORKFLOW.md (SPEC §5.3.1, §5.3.5). It
// is read again before every round, so a plan never uses old settings.
type Policy struct {
	ActiveStates   []string // compared without regard to case and surrounding space
	TerminalStates []string
	RequiredLabels []string // normalised; an issue must carry all; a blank one matches nothing

	MaxConcurrent int            // sessions at once
	MaxPerState   map[string]int // sessions at once per state; keys normalised
	MaxPerTick    int            // sessions started in one tick

	MaxBackoff time.Duration // longest wait between two failures
	Stall      time.Duration // silence in a turn after which a session is stopped; 0 or less: never

	Budget Budget

	// Set by the runner: what sessions work with, and the salt of these digests.
	Setup Setup
	Salt  string
}

// Budget bounds the cost of an issue, a tick and a day. Tokens are input plus
// output; 0 means unlimited.
type Budget struct {
	Attempts       int   // failures in a row before an issue is parked
	IdleSessions   int   // sessions in a row that changed nothing before it is parked
	TokensPerIssue int64 // over all runs, while the issue is claimed
	TokensPerTick  int64
	TokensPerDay   int64 // a day of UTC
}

const (
	// ContinuationDelay is the delay before the session that follows a normal
	// exit (SPEC §8.4).
	ContinuationDelay = time.Second
	// firstBackoff is the delay after the first failure (SPEC §8.4).
	firstBackoff = 10 * time.Second
)

// Backoff returns the delay before an attempt, which is 1 for the first retry: 10
// s, doubled for each further attempt, at most limit (SPEC §8.4).
func Backoff(attempt int, limit time.Duration) time.Duration {
	wait := firstBackoff
	for ; attempt > 1 && wait < limit; attempt-- {
		wait += min(wait, limit-wait) // doubled, without overflow
	}
	return min(wait, limit)
}
