package report

import (
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// spending is what the tick and the day have used, against their budgets.
func (v view) spending(p *page) {
	if !v.spends() {
		return
	}
	b := v.Budget
	p.section("")
	text := fmt.Sprintf("Today: %s%s, %s", tokens(v.Today.Usage.Total()), of(b.TokensPerDay), plural(v.Today.Sessions, "session"))
	if v.Today.Time > 0 {
		text += fmt.Sprintf(", %s of agent time", Duration(v.Today.Time))
	}
	if v.Service {
		text = fmt.Sprintf("This run: %s, %s. %s", tokens(v.Spent.Usage.Total()), plural(v.Spent.Sessions, "session"), text)
	} else if b.TokensPerTick > 0 {
		text = fmt.Sprintf("This tick: %s%s. %s", tokens(v.Spent.Usage.Total()), of(b.TokensPerTick), text)
	}
	p.prose("", text+".", maxReason)
}

// spends reports whether there is anything to say: the state was read, and
// something was spent or may be.
func (v view) spends() bool {
	nothing := v.Today == schedule.Day{Date: v.Today.Date} && v.Budget.TokensPerTick == 0 && v.Budget.TokensPerDay == 0
	return v.Today.Date != "" && !nothing
}

// of is a budget behind what was spent of it.
func of(budget int64) string {
	if budget <= 0 {
		return ""
	}
	return " of " + Number(budget)
}

// sumSpending is the same on a page, and the costliest issue against its budget.
func (v view) sumSpending(s *sheet) {
	if !v.spends() {
		return
	}
	g := grid{heads: []string{"Spent", " Tokens", " Budget", " Sessions", " Agent time"}, room: summaryRoom}
	line := func(what markdown, tokens, budget int64, sessions int, took time.Duration) {
		limit, agent := markdown(""), markdown("")
		if budget > 0 {
			limit = count(budget)
		}
		if took > 0 {
			agent = literal(Duration(took), nameWidth)
		}
		g.add(what, count(tokens), limit, count(int64(sessions)), agent)
	}
	if v.Service { // the budget is that of each of its ticks
		line("This run", v.Spent.Usage.Total(), 0, v.Spent.Sessions, v.Spent.Time)
	} else {
		line("This tick", v.Spent.Usage.Total(), v.Budget.TokensPerTick, v.Spent.Sessions, v.Spent.Time)
	}
	line("Today, "+literal(v.Today.Date, nameWidth)+" UTC", v.Today.Usage.Total(), v.Budget.TokensPerDay, v.Today.Sessions, v.Today.Time)
	if c, ok := v.costliest(); ok && v.Budget.TokensPerIssue > 0 {
		line(link(name(c.Identifier, c.ID), c.URL, nameWidth)+", the costliest issue", c.Tokens, v.Budget.TokensPerIssue, c.Sessions, 0)
	}
	g.write(s)
}

// costliest is the claim that has used the most tokens.
func (v view) costliest() (most schedule.Claim, ok bool) {
	for _, c := range v.Claims {
		if c.Tokens > most.Tokens || c.Tokens == most.Tokens && c.Tokens > 0 && c.ID < most.ID {
			most, ok = c, true
		}
	}
	return most, ok
}
