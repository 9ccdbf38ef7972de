package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// maxNames is how many issues of a group are named.
const maxNames = 10

// group is how issues that are left alone for one reason are spoken of.
type group struct {
	words       string
	particulars bool // each issue has its own
	gate        bool // no issue can be started while it lasts
}

// groups are the reasons in words. Particulars that repeat the words, or that
// the report gives elsewhere, are left out.
var groups = map[schedule.Reason]group{
	schedule.Incomplete:      {words: "incomplete", particulars: true},
	schedule.NotActive:       {words: "not in an active state", particulars: true},
	schedule.Terminal:        {words: "finished", particulars: true},
	schedule.NotRoutable:     {words: "without a required label", particulars: true},
	schedule.NotDispatchable: {words: "not offered for work by the tracker", particulars: true},
	schedule.Blocked:         {words: "blocked by another issue", particulars: true},
	schedule.NotVisible:      {words: "gone from the tracker"},
	schedule.NotKnown:        {words: "not known: the tracker could not be asked about them"},
	schedule.InProgress:      {words: "worked on by another run"},
	schedule.NoSlots:         {words: "every slot is taken", gate: true},
	schedule.NoStateSlots:    {words: "no slot for their state", particulars: true},
	schedule.BatchSpent:      {words: "left for the next tick: this one has started enough", gate: true},
	schedule.TickBudget:      {words: "budget.max_tokens_per_tick is spent", gate: true},
	schedule.DayBudget:       {words: "budget.max_tokens_per_day is spent until midnight UTC", gate: true},
	schedule.IssueBudget:     {words: "budget.max_tokens_per_issue is spent"},
	schedule.Paused:          {words: "held back until the pause is over", gate: true},
	schedule.OnHold:          {words: "the workflow or the tracker could not be read", gate: true},
	schedule.OutOfTime:       {words: "too little time is left before the deadline", gate: true},
	schedule.Changed:         {words: "changed by somebody"},
}

// skipped are the issues that nobody works on, grouped by the reason.
func (v view) skipped(p *page) {
	var order []schedule.Reason
	by := map[schedule.Reason][]schedule.Verdict{}
	for _, verdict := range v.Verdicts {
		reason := verdict.Why.Reason
		switch {
		case verdict.Phase == schedule.Waiting, verdict.Phase == schedule.Parked, v.worked[verdict.Issue.ID]:
			continue
		case verdict.Verb != "" && v.DryRun:
			continue // in the table of the plan
		case verdict.Verb == schedule.Dispatch:
			reason = ""
		}
		if by[reason] == nil {
			order = append(order, reason)
		}
		by[reason] = append(by[reason], verdict)
	}
	if len(order) == 0 {
		return
	}
	p.section("Not started:")
	for _, reason := range order {
		writeGroup(p, reason, by[reason])
	}
}

func writeGroup(p *page, reason schedule.Reason, verdicts []schedule.Verdict) {
	words, particulars := string(reason), true
	if g, known := groups[reason]; known {
		words, particulars = g.words, g.particulars
	}
	if reason == "" {
		words, particulars = "the tick ended first", false
	}
	first := verdicts[0].Why.String()
	if particulars && !slices.ContainsFunc(verdicts, func(v schedule.Verdict) bool { return v.Why.String() != first }) {
		words, particulars = first, false
	}
	p.prose(fmt.Sprintf("  %4d  ", len(verdicts)), words, maxReason)

	const indent = "        "
	shown := verdicts[:min(len(verdicts), maxNames)]
	left := len(verdicts) - len(shown)
	if particulars {
		for _, v := range shown {
			p.line(indent + name(v.Issue.Identifier, v.Issue.ID) + ": " + v.Why.String())
		}
		p.more(indent, left)
		return
	}
	names := make([]string, len(shown))
	for i, v := range shown {
		names[i] = Fit(name(v.Issue.Identifier, v.Issue.ID), 24)
	}
	list := strings.Join(names, ", ")
	if left > 0 {
		list += fmt.Sprintf(", … and %d more", left)
	}
	p.prose(indent, list, maxItem)
}
