package schedule

import (
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

const maxDays = 14

// MaxTokens is the largest number of tokens that is counted; sums stop there.
const MaxTokens = 1 << 53

// Usage holds token counts as the agent reports them.
type Usage struct {
	Input   int64   `json:"input,omitempty"`
	Output  int64   `json:"output,omitempty"`
	Tariffs Tariffs `json:"tariffs,omitempty" bound:"list=32"` // the same tokens by tariff
}

// Total returns the number that budgets are compared with.
func (u Usage) Total() int64 { return u.Input + u.Output }

// Plus returns the sum of both, at most MaxTokens of each kind.
func (u Usage) Plus(other Usage) Usage {
	return Usage{min(u.Input+other.Input, MaxTokens), min(u.Output+other.Output, MaxTokens), u.Tariffs.plus(other.Tariffs)}
}

// AtLeast returns the higher of each number.
func (u Usage) AtLeast(other Usage) Usage {
	return Usage{max(u.Input, other.Input), max(u.Output, other.Output), u.Tariffs.atLeast(other.Tariffs)}
}

// since returns the increase since an earlier time.
func (u Usage) since(earlier Usage) Usage {
	return Usage{
		Input:   max(min(u.Input, MaxTokens)-earlier.Input, 0),
		Output:  max(min(u.Output, MaxTokens)-earlier.Output, 0),
		Tariffs: u.Tariffs.since(earlier.Tariffs),
	}
}

// IsZero reports whether there are no tokens.
func (u Usage) IsZero() bool { return u.Input == 0 && u.Output == 0 && len(u.Tariffs) == 0 }

// atMost returns the part of the usage whose total is at most n.
func (u Usage) atMost(n int64) Usage {
	input := min(u.Input, n)
	return Usage{input, min(u.Output, n-input), u.Tariffs.atMost(n)}
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
	if at := slices.IndexFunc(s.Days, func(d Day) bool { return d.Date == date }); at >= 0 {
		return s.Days[at]
	}
	return Day{Date: date}
}

func (s *Spending) countTokens(c *Claim, live Usage, now time.Time) {
	more := live.since(c.Live)
	if more.IsZero() {
		return
	}
	c.Tokens, c.Tariffs = min(c.Tokens+more.Total(), MaxTokens), c.Tariffs.plus(more.Tariffs)
	day := s.today(now)
	c.Course.Usage = c.Course.Usage.Plus(more)
	c.Live, s.Tick.Usage, day.Usage = c.Live.Plus(more), s.Tick.Usage.Plus(more), day.Usage.Plus(more)
}

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
	tokens, usd := s.measures(b, now)
	if len(usd.unpriced) > 0 {
		return Why{Unpriced, usd.unpriced[0].String() + " has answered, and budget.prices has no price for it"}
	}
	for _, m := range []measure{tokens, usd} {
		switch {
		case m.perTick > 0 && m.tick >= m.perTick:
			return Why{TickBudget, "budget.max_" + m.unit + "_per_tick is spent"}
		case m.share > 0 && m.tick >= m.share:
			return Why{TickBudget, "this shard's share of the " + m.budgets + " is spent"}
		case m.perDay > 0 && m.today >= m.perDay:
			return Why{DayBudget, "budget.max_" + m.unit + "_per_day is spent until " + nextDay(now).Format(time.RFC3339)}
		case m.perDay > 0 && m.today+m.reserved >= m.perDay:
			return Why{DayBudget, "what is left of budget.max_" + m.unit + "_per_day is reserved for " + text.Count(s.Reserved().Shards, "shard") + " of which there is no result yet"}
		}
	}
	return Why{}
}

// ofDay reports whether a spent budget is spent until the day ends.
func (w Why) ofDay() bool { return w.Reason == DayBudget || w.Reason == Unpriced }

// measure is the spending in one of the units in which budgets are set: tokens, or millionths of
// a dollar.
type measure struct {
	unit, budgets   string   // the unit in the names of the budgets, and the budgets in words
	perTick, perDay int64    // the budgets; 0 for none
	tick, today     int64    // spent
	share           int64    // of this run, if it is a shard; 0 for no limit
	reserved        int64    // for shards without a result
	unpriced        []Tariff // tariffs that the numbers leave out
}

// measures returns the spending in tokens and in dollars. The one in dollars is zero if neither a
// budget nor the share of this run limits it.
func (s *Spending) measures(b Budget, now time.Time) (tokens, usd measure) {
	share := s.Reserves[s.Self]
	var reserved Reserved
	if b.TokensPerDay > 0 || b.USDPerDay > 0 {
		reserved = s.Reserved()
	}
	tick, today := s.Tick.Usage, s.SpentToday(now).Usage
	tokens = measure{"tokens", "token budgets", b.TokensPerTick, b.TokensPerDay, tick.Total(), today.Total(), share.Tokens, reserved.Tokens, nil}
	if b.LimitsMoney() || share.USD > 0 {
		tickCost, todayCost := b.Prices.Of(tick), b.Prices.Of(today)
		usd = measure{"usd", "budgets in dollars", int64(b.USDPerTick), int64(b.USDPerDay), int64(tickCost.USD), int64(todayCost.USD),
			int64(share.USD), int64(reserved.USD), append(tickCost.Unpriced, todayCost.Unpriced...)}
	}
	return tokens, usd
}

// rest is the amount of one unit that the sessions which start now may spend.
type rest struct {
	left    int64
	limited bool // a budget limits it
}

func (m measure) rest() rest {
	r := rest{left: MaxTokens}
	if m.perTick > 0 {
		r = rest{m.perTick - m.tick, true}
	}
	if m.perDay > 0 {
		r = rest{min(r.left, m.perDay-m.today-m.reserved), true}
	}
	r.left = max(r.left, 0)
	return r
}

// of returns the equal part of n sessions; 0 for no limit.
func (r rest) of(n int) int64 {
	if !r.limited || n == 0 {
		return 0
	}
	return r.left / int64(n)
}

func (s *Spending) addDays(days []Day) {
	for _, more := range days {
		day := s.day(more.Date)
		day.Sessions += more.Sessions
		day.Usage = day.Usage.Plus(more.Usage)
		day.Time += min(more.Time, MaxSlots*MaxShardTime)
	}
}
