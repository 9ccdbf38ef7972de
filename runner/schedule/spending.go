package schedule

import (
	"time"
)

// maxDays is how many days of spending are remembered.
const maxDays = 14

// MaxTokens is the largest number of tokens that is counted: sums stay at it.
const MaxTokens = 1 << 53

// Usage is tokens as the agent counts them.
type Usage struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

// Total is what budgets are measured in.
func (u Usage) Total() int64 { return u.Input + u.Output }

// Spent is what something has used so far.
type Spent struct {
	Sessions int           // started
	Usage    Usage         // tokens
	Time     time.Duration // of ended sessions, added up
	Paused   bool          // a failure of everyone's came up: nothing more starts
	HadTurn  bool          // a session that ended had a turn
}

// Day is what one day of UTC has used, over all runs. SPEC §13.5 totals what one
// process has used since it began. Here a process is one tick of some minutes, so
// its totals say little and are in the report alone; a budget needs a total that
// outlives it and begins anew at an instant that all runners agree on.
type Day struct {
	Date     string // 2006-01-02
	Sessions int
	Usage    Usage
	Time     time.Duration // of ended sessions, added up
}

// Plus returns the sum of both. It is paused when either is.
func (s Spent) Plus(other Spent) Spent {
	return Spent{
		Sessions: s.Sessions + other.Sessions,
		Usage:    Usage{Input: s.Usage.Input + other.Usage.Input, Output: s.Usage.Output + other.Usage.Output},
		Time:     s.Time + other.Time,
		Paused:   s.Paused || other.Paused,
	}
}

// today is the entry of the day of now, made if need be; the oldest make room.
func (s *State) today(now time.Time) *Day {
	date := now.UTC().Format(time.DateOnly)
	for i := range s.Days {
		if s.Days[i].Date == date {
			return &s.Days[i]
		}
	}
	s.Days = append(s.Days, Day{Date: date})
	if extra := len(s.Days) - maxDays; extra > 0 {
		s.Days = append(s.Days[:0], s.Days[extra:]...)
	}
	return &s.Days[len(s.Days)-1]
}

// SpentToday is what the day of now has used so far.
func (s *State) SpentToday(now time.Time) Day {
	date := now.UTC().Format(time.DateOnly)
	for _, day := range s.Days {
		if day.Date == date {
			return day
		}
	}
	return Day{Date: date}
}

// countTokens counts tokens for the claim, the tick and the day.
func (s *State) countTokens(c *Claim, live Usage, now time.Time) {
	more := Usage{
		Input:  max(min(live.Input, MaxTokens)-c.Live.Input, 0),
		Output: max(min(live.Output, MaxTokens)-c.Live.Output, 0),
	}
	if more == (Usage{}) {
		return
	}
	c.Tokens = min(c.Tokens+more.Total(), MaxTokens)
	day := s.today(now)
	for _, u := range []*Usage{&c.Live, &s.Tick.Usage, &day.Usage} {
		u.Input = min(u.Input+more.Input, MaxTokens)
		u.Output = min(u.Output+more.Output, MaxTokens)
	}
}

// countTime counts the time of a session for the tick and the day.
func (s *State) countTime(took time.Duration, now time.Time) {
	s.Tick.Time += took
	s.today(now).Time += took
}

// nextDay is the first instant of the day after now, in UTC.
func nextDay(now time.Time) time.Time {
	return now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
}

// spentBudget says which budget forbids to start anything more, if one does.
func (s *State) spentBudget(b Budget, now time.Time) Why {
	if b.TokensPerTick > 0 && s.Tick.Usage.Total() >= b.TokensPerTick {
		return Why{TickBudget, "budget.max_tokens_per_tick is spent"}
	}
	if b.TokensPerDay > 0 && s.SpentToday(now).Usage.Total() >= b.TokensPerDay {
		return Why{DayBudget, "budget.max_tokens_per_day is spent until " + nextDay(now).Format(time.RFC3339)}
	}
	return Why{}
}
