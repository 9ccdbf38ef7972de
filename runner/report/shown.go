package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// This file has the things that more than one document for programs shows: the report, the state
// and the API of the status page. Each has one type and one function that makes it, so that its
// names are the same everywhere. They are the names of SPEC §13.7 where that has the thing.

// Time is a time that JSON has in UTC as RFC 3339, and null for the zero time.
type Time struct{ time.Time }

// MarshalJSON returns the time without fractions of a second, which jq does not read.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(t.UTC().Format(`"` + time.RFC3339 + `"`)), nil
}

// Seconds returns d in seconds, to the millisecond.
func Seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond).Milliseconds()) / 1000
}

// List returns the shown form of each value. It is never nil, which JSON would have as null.
func List[T, S any](values []T, shown func(T) S) []S {
	list := make([]S, 0, len(values))
	for _, v := range values {
		list = append(list, shown(v))
	}
	return list
}

// IssueNames names an issue.
type IssueNames struct {
	ID         tracker.ID `json:"issue_id"`
	Identifier string     `json:"issue_identifier"`
	URL        string     `json:"issue_url"`
}

// Issue begins the members of everything that is about one issue.
type Issue struct {
	IssueNames
	Title string `json:"title"`
	State string `json:"state"`
}

// Tokens holds token counts, and what they cost.
type Tokens struct {
	counts
	Models []ModelTokens `json:"models"`
	Cost   *Cost         `json:"cost"` // nil without budget.prices
}

type counts struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
}

// ModelTokens holds the tokens of the responses that have the same tariff. Reasoning is a part of
// the output, and the cached tokens and cache writes are parts of the input.
type ModelTokens struct {
	Model string `json:"model"`
	Tier  string `json:"service_tier"`
	Long  bool   `json:"long_context"`
	counts
	Cached     int64 `json:"cached_input_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Reasoning  int64 `json:"reasoning_tokens"`
}

// Cost is the price of tokens in US dollars.
type Cost struct {
	USD        *schedule.Money `json:"usd"`               // nil if the price of some is not known
	AtLeast    schedule.Money  `json:"at_least_usd"`      // of the tokens whose price is known
	Unmeasured int64           `json:"unmeasured_tokens"` // tokens that were counted before models were recorded
}

// TokensOf returns the counts of a usage, and their price.
func TokensOf(u schedule.Usage, prices schedule.Prices) Tokens {
	return Tokens{counts{u.Input, u.Output, u.Total()}, modelsOf(u.Tariffs), costOf(u, prices)}
}

func modelsOf(t schedule.Tariffs) []ModelTokens {
	return List(t, func(u schedule.TariffUsage) ModelTokens {
		return ModelTokens{u.Model, u.Tier, u.Long, counts{u.Input, u.Output, u.Input + u.Output}, u.Cached, u.CacheWrite, u.Reasoning}
	})
}

func costOf(u schedule.Usage, prices schedule.Prices) *Cost {
	if len(prices) == 0 {
		return nil
	}
	c := prices.Of(u)
	cost := Cost{AtLeast: c.USD, Unmeasured: c.Unmeasured}
	if c.IsKnown() {
		cost.USD = &c.USD
	}
	return &cost
}

// Spent holds what sessions have used.
type Spent struct {
	Sessions int `json:"sessions"`
	Tokens
	Seconds float64 `json:"seconds_running"`
}

// SpentOf returns the spending of a tick.
func SpentOf(s schedule.Spent, prices schedule.Prices) Spent {
	return Spent{s.Sessions, TokensOf(s.Usage, prices), Seconds(s.Time)}
}

// Day holds what all runs used on one day in UTC.
type Day struct {
	Date string `json:"date"`
	Spent
}

// DayOf returns the spending of a day.
func DayOf(d schedule.Day, prices schedule.Prices) Day {
	return Day{d.Date, Spent{d.Sessions, TokensOf(d.Usage, prices), Seconds(d.Time)}}
}

// Pause describes a systemic failure that pauses all issues.
type Pause struct {
	Why   string `json:"error"`
	Since Time   `json:"since"`
	Until Time   `json:"until"`
}

// PauseOf returns a pause, nil for none.
func PauseOf(p schedule.Pause) *Pause {
	if p.Why == "" {
		return nil
	}
	return &Pause{p.Why, Time{p.Since}, Time{p.Until}}
}

// Claim describes the claim of an issue.
type Claim struct {
	Issue
	Phase      schedule.Phase `json:"phase"`
	Since      Time           `json:"since"`
	Why        string         `json:"error"` // why it waits, is parked or is being stopped
	Attempt    int            `json:"attempt"`
	DueAt      Time           `json:"due_at"`
	Thread     string         `json:"thread"`
	Host       string         `json:"worker_host,omitempty"` // worker host of the session, or of the last one; empty for this machine
	Sessions   int            `json:"sessions"`
	Failures   int            `json:"failures"`
	Idle       int            `json:"idle_sessions"`
	Tokens     int64          `json:"issue_total_tokens"` // of all its sessions
	Models     []ModelTokens  `json:"issue_models"`       // the same tokens by model
	Cost       *Cost          `json:"issue_cost"`         // nil without budget.prices
	LeaseUntil Time           `json:"lease_until"`
	Owner      schedule.Owner `json:"owner"`
}

// ClaimOf returns a claim.
func ClaimOf(c schedule.Claim, prices schedule.Prices) Claim {
	return Claim{
		Issue: Issue{IssueNames{c.ID, c.Identifier, c.URL}, c.Title, c.State},
		Phase: c.Phase, Since: Time{c.Since}, Why: c.Why, Attempt: c.Attempt, DueAt: Time{c.Due}, Thread: c.Thread, Host: c.Host,
		Sessions: c.Sessions, Failures: c.Failures, Idle: c.Idle, Tokens: c.Tokens, Models: modelsOf(c.Tariffs), Cost: costOf(c.Spent(), prices), LeaseUntil: Time{c.Lease}, Owner: c.Owner,
	}
}

// Delivery describes the published work on an issue.
type Delivery struct {
	IssueNames
	Place
	Refused string `json:"refused"` // why the latest work was not published; empty if it was
	Title   string `json:"title"`
}

// Place holds where work was published.
type Place struct {
	Branch   string          `json:"branch"`
	Base     string          `json:"base"`
	Head     string          `json:"head"`
	Number   int             `json:"pull_request_number"` // 0 for none
	PullURL  string          `json:"pull_request_url"`
	Patch    string          `json:"patch"`     // path of a patch in place of a pull request; empty for none
	PushedAt Time            `json:"pushed_at"` // time of the latest push
	Pushing  bool            `json:"pushing"`   // a push has begun, and its end is not known
	Checks   schedule.Checks `json:"checks"`    // checks of the pull request as they were read last; empty if nothing is known
}

func placeOf(d schedule.Delivery, checks schedule.Checks) Place {
	p := Place{d.Branch, d.Base, d.Head, d.Number, d.URL, "", Time{d.At}, d.Pushing != "", checks}
	if p.Number == 0 {
		p.PullURL, p.Patch = "", d.URL
	}
	return p
}

// DeliveriesOf returns the deliveries that are more than a lost shard's, the latest push first.
func DeliveriesOf(all map[tracker.ID]schedule.Delivery, checks map[tracker.ID]schedule.Checks) []Delivery {
	list := make([]Delivery, 0, len(all))
	for id, d := range all {
		if !d.IsOnlyLost() {
			list = append(list, Delivery{IssueNames{id, d.Identifier, d.IssueURL}, placeOf(d, checks[id]), d.Refused, d.Title})
		}
	}
	slices.SortStableFunc(list, func(a, b Delivery) int {
		return cmp.Or(b.PushedAt.Compare(a.PushedAt.Time), tracker.CompareNaturally(a.Identifier, b.Identifier), cmp.Compare(a.ID, b.ID))
	})
	return list
}
