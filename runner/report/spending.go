package report

import (
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// spending adds what the tick and the day have used of their budgets, and the
// issue that has cost the most.
func (v view) spending(d *document) {
	if !v.spends() {
		return
	}
	t := table{room: tableRoom, columns: []column{
		{head: "Spent", min: 16, width: whyWidth}, {head: "Tokens", kind: numberColumn}, {head: "Budget", kind: numberColumn},
		{head: "Sessions", kind: numberColumn, drop: 2}, {head: "Agent time", kind: numberColumn, drop: 1},
	}}
	add := func(what phrase, tokens, budget int64, sessions int, took time.Duration) {
		var limit, agent phrase
		if budget > 0 {
			limit = number(budget)
		}
		if took > 0 {
			agent = duration(took)
		}
		t.add(what, number(tokens), limit, number(sessions), agent)
	}
	if v.Service { // the budget is that of each of its ticks
		add(phrase{own("This run")}, v.Spent.Usage.Total(), 0, v.Spent.Sessions, v.Spent.Time)
	} else {
		add(phrase{own("This tick")}, v.Spent.Usage.Total(), v.Budget.TokensPerTick, v.Spent.Sessions, v.Spent.Time)
	}
	add(phrase{own("Today, "), foreign(v.Today.Date), own(" UTC")}, v.Today.Usage.Total(), v.Budget.TokensPerDay, v.Today.Sessions, v.Today.Time)
	if r := v.Reserved; r.Shards > 0 {
		t.add(phrase{own(reservedFor(r))}, number(r.Tokens), nil, nil, nil)
	}
	if c, ok := v.costliest(); ok && v.Budget.TokensPerIssue > 0 {
		add(phrase{claimLink(c), own(", the costliest issue")}, c.Tokens, v.Budget.TokensPerIssue, c.Sessions, 0)
	}
	d.add(t)
}

// reservedFor returns, in words, the shards that tokens are reserved for.
func reservedFor(r schedule.Reserved) string {
	return "Reserved for " + text.Count(r.Shards, "shard") + " without a result"
}

// spends reports whether there is anything to say: the state was read, and
// something was spent or may be.
func (v view) spends() bool {
	nothing := v.Today == schedule.Day{Date: v.Today.Date} && v.Reserved.Shards == 0 && v.Budget.TokensPerTick == 0 && v.Budget.TokensPerDay == 0
	return v.Today.Date != "" && !nothing
}

// costliest returns the claim that has used the most tokens.
func (v view) costliest() (most schedule.Claim, ok bool) {
	for _, c := range v.Claims {
		if c.Tokens > most.Tokens || c.Tokens == most.Tokens && c.Tokens > 0 && c.ID < most.ID {
			most, ok = c, true
		}
	}
	return most, ok
}
