package schedule

import (
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// maxDays bounds how many days of spending the state keeps.
const maxDays = 14

// MaxTokens is the largest number of tokens that is counted; sums stop there.
const MaxTokens = 1 << 53

// Usage holds token counts as the agent reports them.
type Usage struct {
	Input  int64 `json:"input,omitempty"`
	Output int64 `json:"output,omitempty"`
}

// Total returns the number that budgets are compared with.
func (u Usage) Total() int64 { return u.Input + u.Output }

// Plus returns the sum of both, at most MaxTokens of each kind.
func (u Usage) Plus(other Usage) Usage {
	return Usage{Input: min(u.Input+other.Input, MaxTokens), Output: min(u.Output+other.Output, MaxTokens)}
}

// atMost returns the part of the usage whose total is at most n.
func (u Usage) atMost(n int64) Usage {
	input := min(u.Input, n)
	return Usage{Input: input, Output: min(u.Output, n-input)}
}

// Spent holds the spending of a tick so far.
type Spent struct {
	Sessions int           `json:"sessions,omitempty"`                             // started
	Usage    Usage         `json:"usage,omitzero"`                                 // tokens
	Time     time.Duration `json:"time_ns,omitempty" bound:"max=9676800000000000"` // sum over ended sessions
	Paused   bool          `json:"paused,omitempty"`                               // a systemic failure occurred, so nothing more starts
	HadTurn  bool          `json:"had_turn,omitempty"`                             // a session that ended had a turn
}

// Day holds the spending of all runs on one day in UTC. SPEC §13.5 asks for the totals of one
// process; here a process is one tick of some minutes, so its totals only appear in the report.
// A budget needs a total that outlives the process and is reset at an instant that all runners
// agree on.
type Day struct {
	Date     string // 2006-01-02
	Sessions int
	Usage    Usage
	Time     time.Duration // sum over ended sessions
}

// Plus returns the sum of both. It is paused if either is.
func (s Spent) Plus(other Spent) Spent {
	return Spent{
		Sessions: s.Sessions + other.Sessions,
		Usage:    s.Usage.Plus(other.Usage),
		Time:     s.Time + other.Time,
		Paused:   s.Paused || other.Paused,
	}
}

// Spending holds the spending of sessions, and the shares set aside for sessions of shards.
type Spending struct {
	Self Owner // the current run; not stored
	Tick Spent // spending of this tick so far; not stored
	Days []Day // oldest first, at most maxDays
	// Reserves holds the open reserves: of each shard of a fleet, by owner, until its result is
	// settled.
	Reserves map[Owner]Reserve
}

func (s *Spending) clone() Spending {
	c := *s
	c.Days = slices.Clone(s.Days)
	c.Reserves = maps.Clone(s.Reserves) // the ids are replaced, never changed
	return c
}

func (s *Spending) today(now time.Time) *Day { return s.day(now.UTC().Format(time.DateOnly)) }

// day returns the entry of a day. It adds the entry if it is missing, and then drops the
// oldest if there are too many. If the day is older than all that are kept, it returns an
// entry that is not kept.
func (s *Spending) day(date string) *Day {
	at := 0
	for ; at < len(s.Days) && s.Days[at].Date <= date; at++ {
		if s.Days[at].Date == date {
			return &s.Days[at]
		}
	}
	if at == 0 && len(s.Days) >= maxDays {
		return &Day{Date: date}
	}
	s.Days = slices.Insert(slices.Clone(s.Days), at, Day{Date: date})
	if extra := len(s.Days) - maxDays; extra > 0 {
		s.Days, at = s.Days[extra:], at-extra
	}
	return &s.Days[at]
}

// SpentToday returns the spending of the day of now.
func (s *Spending) SpentToday(now time.Time) Day {
	date := now.UTC().Format(time.DateOnly)
	for _, day := range s.Days {
		if day.Date == date {
			return day
		}
	}
	return Day{Date: date}
}

// countTokens adds tokens to the claim, the tick and the day.
func (s *Spending) countTokens(c *Claim, live Usage, now time.Time) {
	more := Usage{
		Input:  max(min(live.Input, MaxTokens)-c.Live.Input, 0),
		Output: max(min(live.Output, MaxTokens)-c.Live.Output, 0),
	}
	if more == (Usage{}) {
		return
	}
	c.Tokens = min(c.Tokens+more.Total(), MaxTokens)
	day := s.today(now)
	c.Live, s.Tick.Usage, day.Usage = c.Live.Plus(more), s.Tick.Usage.Plus(more), day.Usage.Plus(more)
}

// countTime adds the time of a session to the tick and the day.
func (s *Spending) countTime(took time.Duration, now time.Time) {
	s.Tick.Time += took
	s.today(now).Time += took
}

// nextDay returns the first instant of the day after now, in UTC.
func nextDay(now time.Time) time.Time {
	return now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
}

// SpentBudget returns the spent budget that forbids to start anything more; zero
// for none.
func (s *Spending) SpentBudget(b Budget, now time.Time) Why {
	if b.TokensPerTick > 0 && s.Tick.Usage.Total() >= b.TokensPerTick {
		return Why{TickBudget, "budget.max_tokens_per_tick is spent"}
	}
	if share := s.Reserves[s.Self].Tokens; share > 0 && s.Tick.Usage.Total() >= share {
		return Why{TickBudget, "this shard's share of the token budgets is spent"}
	}
	if b.TokensPerDay <= 0 {
		return Why{}
	}
	spent := s.SpentToday(now).Usage.Total()
	if spent >= b.TokensPerDay {
		return Why{DayBudget, "budget.max_tokens_per_day is spent until " + nextDay(now).Format(time.RFC3339)}
	}
	if r := s.Reserved(); spent+r.Tokens >= b.TokensPerDay {
		return Why{DayBudget, "what is left of budget.max_tokens_per_day is reserved for " + text.Count(r.Shards, "shard") + " of which there is no result yet"}
	}
	return Why{}
}

// tokensLeft returns the tokens that the sessions which start now may spend. If no budget
// limits them, limited is false.
func (s *Spending) tokensLeft(b Budget, now time.Time) (left int64, limited bool) {
	left = MaxTokens
	if b.TokensPerTick > 0 {
		left, limited = b.TokensPerTick-s.Tick.Usage.Total(), true
	}
	if b.TokensPerDay > 0 {
		left, limited = min(left, b.TokensPerDay-s.SpentToday(now).Usage.Total()-s.Reserved().Tokens), true
	}
	return max(left, 0), limited
}

// addDays adds the spending of a shard, by day.
func (s *Spending) addDays(days []Day) {
	for _, more := range days {
		day := s.day(more.Date)
		day.Sessions += more.Sessions
		day.Usage = day.Usage.Plus(more.Usage)
		day.Time += min(more.Time, MaxSlots*MaxShardTime)
	}
}
