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
	schedule.Malformed:       {words: "malformed in the tracker", particulars: true},
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

// leftAlone are issues that nobody works on, for one reason.
type leftAlone struct {
	words       string
	particulars bool // each of them has its own
	verdicts    []schedule.Verdict
}

// leftAlone are the issues that nobody works on, grouped by the reason.
func (v view) leftAlone() []leftAlone {
	var order []schedule.Reason
	by := map[schedule.Reason][]schedule.Verdict{}
	for _, verdict := range v.Verdicts {
		reason := verdict.Why.Reason
		switch {
		case verdict.Phase == schedule.Waiting, verdict.Phase == schedule.Parked, v.worked[verdict.Issue.ID]:
			continue
		case verdict.Action != "" && v.DryRun:
			continue // in the table of the plan
		case verdict.Action == schedule.Dispatch:
			reason = ""
		}
		if by[reason] == nil {
			order = append(order, reason)
		}
		by[reason] = append(by[reason], verdict)
	}
	all := make([]leftAlone, len(order))
	for i, reason := range order {
		all[i] = leave(reason, by[reason])
	}
	return all
}

// leave makes a group. What all its issues have in common is said once.
func leave(reason schedule.Reason, verdicts []schedule.Verdict) leftAlone {
	l := leftAlone{words: string(reason), particulars: true, verdicts: verdicts}
	if g, known := groups[reason]; known {
		l.words, l.particulars = g.words, g.particulars
	}
	if reason == "" {
		l.words, l.particulars = "the tick ended first", false
	}
	first := verdicts[0].Why.String()
	if l.particulars && !slices.ContainsFunc(verdicts, func(v schedule.Verdict) bool { return v.Why.String() != first }) {
		l.words, l.particulars = first, false
	}
	return l
}

// shown are the issues of a group that are named, and how many are not.
func (l leftAlone) shown() (verdicts []schedule.Verdict, left int) {
	verdicts = l.verdicts[:min(len(l.verdicts), maxNames)]
	return verdicts, len(l.verdicts) - len(verdicts)
}

func (v view) skipped(p *page) {
	for i, group := range v.leftAlone() {
		if i == 0 {
			p.section("Not started:")
		}
		group.write(p)
	}
}

func (l leftAlone) write(p *page) {
	p.prose(fmt.Sprintf("  %4d  ", len(l.verdicts)), l.words, maxReason)
	const indent = "        "
	shown, left := l.shown()
	if l.particulars {
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

// sumSkipped is the same on a page.
func (v view) sumSkipped(s *sheet) {
	groups := v.leftAlone()
	if len(groups) == 0 {
		return
	}
	var lines []markdown
	issues := 0
	for _, group := range groups {
		issues += len(group.verdicts)
		lines = append(lines, v.sumGroup(group)...)
	}
	s.foldLong("Not started: "+plural(issues, "issue"), len(lines), maxOpen, func() { s.block(lines...) })
}

// sumGroup is an item, with an item below it for each issue that has particulars.
func (v view) sumGroup(group leftAlone) []markdown {
	shown, left := group.shown()
	head := "- " + markdown(fmt.Sprintf("**%d** ", len(group.verdicts))) + literal(group.words, itemWidth)
	if group.particulars {
		lines := []markdown{head}
		for _, verdict := range shown {
			lines = append(lines, "  - "+v.mention(verdict.Issue)+": "+literal(verdict.Why.String(), whyWidth))
		}
		if left > 0 {
			lines = append(lines, "  - "+more(left))
		}
		return lines
	}
	names := make([]string, len(shown))
	for i, verdict := range shown {
		names[i] = string(v.mention(verdict.Issue))
	}
	if left > 0 {
		names = append(names, string(more(left)))
	}
	return []markdown{head + ": " + markdown(strings.Join(names, ", "))}
}
