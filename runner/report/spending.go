package report

import (
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// spending is what the tick and the day have used, against their budgets.
func (v view) spending(p *page) {
	b := v.Budget
	if v.Today.Date == "" || v.Today == (schedule.Day{Date: v.Today.Date}) && b.TokensPerTick == 0 && b.TokensPerDay == 0 {
		return // the state was not read, or nothing was spent of nothing
	}
	p.section("")
	text := fmt.Sprintf("Today: %s%s, %s", tokens(v.Today.Usage.Total()), of(b.TokensPerDay), plural(v.Today.Sessions, "session"))
	if v.Today.Seconds > 0 {
		text += fmt.Sprintf(", %s of agent time", Duration(time.Duration(v.Today.Seconds)*time.Second))
	}
	if b.TokensPerTick > 0 {
		text = fmt.Sprintf("This tick: %s%s. %s", tokens(v.Spent.Usage.Total()), of(b.TokensPerTick), text)
	}
	p.prose("", text+".", maxReason)
}

// of is a budget behind what was spent of it.
func of(budget int64) string {
	if budget <= 0 {
		return ""
	}
	return " of " + Number(budget)
}
