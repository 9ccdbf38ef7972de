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
	b := v.Budget
	t := table{room: tableRoom, columns: []column{
		{head: "Spent", min: 16, width: whyWidth}, {head: "Tokens", kind: numberColumn}, {head: "Budget", kind: numberColumn, drop: 3},
		{head: "Cost", kind: numberColumn}, {head: "Budget", kind: numberColumn, drop: 4},
		{head: "Sessions", kind: numberColumn, drop: 2}, {head: "Agent time", kind: numberColumn, drop: 1},
	}}
	add := func(what phrase, u schedule.Usage, most int64, mostUSD schedule.Money, sessions int, took time.Duration) {
		var limit, limitUSD, agent phrase
		if most > 0 {
			limit = number(most)
		}
		if mostUSD > 0 {
			limitUSD = phrase{own(mostUSD.String())}
		}
		if took > 0 {
			agent = duration(took)
		}
		t.add(what, number(u.Total()), limit, price(u, b.Prices), limitUSD, number(sessions), agent)
	}
	if v.Service { // the budget is that of each of its ticks
		add(phrase{own("This run")}, v.Spent.Usage, 0, 0, v.Spent.Sessions, v.Spent.Time)
	} else {
		add(phrase{own("This tick")}, v.Spent.Usage, b.TokensPerTick, b.USDPerTick, v.Spent.Sessions, v.Spent.Time)
	}
	add(phrase{own("Today, "), foreign(v.Today.Date), own(" UTC")}, v.Today.Usage, b.TokensPerDay, b.USDPerDay, v.Today.Sessions, v.Today.Time)
	if r := v.Reserved; r.Shards > 0 {
		var left, usd phrase
		if r.Tokens > 0 || r.USD == 0 {
			left = number(r.Tokens)
		}
		if r.USD > 0 {
			usd = phrase{own(r.USD.String())}
		}
		t.add(phrase{own(reservedFor(r))}, left, nil, usd, nil, nil, nil)
	}
	if c, ok := v.costliest(); ok && (b.TokensPerIssue > 0 || b.USDPerIssue > 0) {
		add(phrase{claimLink(c), own(", the costliest issue")}, c.Spent(), b.TokensPerIssue, b.USDPerIssue, c.Sessions, 0)
	}
	d.add(t)
}

// reservedFor returns, in words, the shards that tokens are reserved for.
func reservedFor(r schedule.Reserved) string {
	return "Reserved for " + text.Count(r.Shards, "shard") + " without a result"
}

// reservedWords returns the tokens and the dollars that are reserved, in words.
func reservedWords(r schedule.Reserved) string {
	switch {
	case r.USD == 0:
		return tokens(r.Tokens)
	case r.Tokens == 0:
		return r.USD.String()
	}
	return tokens(r.Tokens) + " and " + r.USD.String()
}

// spends reports whether there is anything to say: the state was read, and
// something was spent or may be.
func (v view) spends() bool {
	b, today := v.Budget, v.Today
	limited := b.TokensPerTick > 0 || b.TokensPerDay > 0 || b.USDPerTick > 0 || b.USDPerDay > 0
	return today.Date != "" && (limited || v.Reserved.Shards > 0 || today.Sessions > 0 || today.Time > 0 || !today.Usage.IsZero())
}

func (v view) costliest() (most schedule.Claim, ok bool) {
	for _, c := range v.Claims {
		if c.Tokens > most.Tokens || c.Tokens == most.Tokens && c.Tokens > 0 && c.ID < most.ID {
			most, ok = c, true
		}
	}
	return most, ok
}
