package report

import (
	"cmp"
	"slices"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// maxNames is how many issues of a group are named.
const maxNames = 10

// maxWaiting is how many waiting issues are shown.
const maxWaiting = 20

// skipText is the display text of a reason to start no session on an issue.
type skipText struct {
	words   string
	details bool // each issue has its own detail, which is shown
	all     bool // no issue can be started while the reason lasts
}

// skipTexts holds the text of each reason. Details that repeat the words, or that
// the report gives elsewhere, are not shown.
var skipTexts = map[schedule.Reason]skipText{
	schedule.Incomplete:      {words: "incomplete", details: true},
	schedule.NotActive:       {words: "not in an active state", details: true},
	schedule.Terminal:        {words: "finished", details: true},
	schedule.NotRoutable:     {words: "without a required label", details: true},
	schedule.NotDispatchable: {words: "not offered for work by the tracker", details: true},
	schedule.Blocked:         {words: "blocked by another issue", details: true},
	schedule.NotVisible:      {words: "gone from the tracker"},
	schedule.NotKnown:        {words: "not known: the tracker could not be asked about them"},
	schedule.Malformed:       {words: "malformed in the tracker", details: true},
	schedule.InProgress:      {words: "worked on by another run"},
	schedule.NoSlots:         {words: "every slot is taken", all: true},
	schedule.NoStateSlots:    {words: "no slot for their state", details: true},
	schedule.NoHostSlots:     {words: "every slot of the worker hosts is taken", all: true},
	schedule.HostsDown:       {words: "no worker host works", all: true},
	schedule.OpenLimit:       {words: "held back until pull requests are merged or closed", details: true},
	schedule.BatchSpent:      {words: "left for the next tick: this one has started enough", all: true},
	schedule.TickBudget:      {words: "the budget of the tick is spent", all: true},
	schedule.DayBudget:       {words: "the budget of the day is spent until midnight UTC", all: true},
	schedule.Unpriced:        {words: "budget.prices has no price for a model that has answered", all: true},
	schedule.IssueBudget:     {words: "the budget of the issue is spent"},
	schedule.Paused:          {words: "held back until the pause is over", all: true},
	schedule.OnHold:          {words: "the workflow, the tracker or the repository could not be read", all: true},
	schedule.OutOfTime:       {words: "too little time is left before the deadline", all: true},
	schedule.CommandOnly:     {words: "this run only carries out a command", all: true},
	schedule.NextPlan:        {words: "left for the next plan of the fleet", all: true},
	schedule.Interrupted:     {words: "left for the next run: this one was stopped", all: true},
	schedule.Changed:         {words: "changed by somebody"},
	schedule.Unanswered:      {words: "with something unanswered", details: true},
	schedule.RoundsSpent:     {words: "waiting for a person, since the sessions on feedback are spent", details: true},
	schedule.Commanded:       {words: "stopped or parked by a person", details: true},
	schedule.Merged:          {words: "merged"},
	schedule.Closed:          {words: "with a pull request that was closed without a merge", details: true},
	schedule.Reopened:        {words: "with a pull request that was opened again"},
}

// skipGroup holds the issues that were not started for one reason.
type skipGroup struct {
	words    string
	details  bool // each issue has its own detail
	verdicts []schedule.Verdict
}

// skipGroups returns the issues that nothing is done about, grouped by the reason.
func (v view) skipGroups() []skipGroup {
	var order []schedule.Reason
	by := map[schedule.Reason][]schedule.Verdict{}
	for _, verdict := range v.Verdicts {
		reason := verdict.Why.Reason
		switch {
		case verdict.Phase == schedule.Waiting, verdict.Phase == schedule.Parked, v.worked[verdict.Issue.ID]:
			continue
		case verdict.Action != "" && v.DryRun:
			continue // the table of the plan has it
		case verdict.Action == schedule.Dispatch:
			reason = ""
		}
		if by[reason] == nil {
			order = append(order, reason)
		}
		by[reason] = append(by[reason], verdict)
	}
	groups := make([]skipGroup, len(order))
	for i, reason := range order {
		groups[i] = newSkipGroup(reason, by[reason])
		if reason == schedule.NoSlots && v.DryRun && v.planned() > 0 {
			groups[i].words = "waiting for a slot: they start when a session ends, within the limits of the tick"
		}
	}
	return groups
}

// newSkipGroup returns the group of the issues that were not started for a
// reason. A detail that all of them share becomes the words of the group.
func newSkipGroup(reason schedule.Reason, verdicts []schedule.Verdict) skipGroup {
	g := skipGroup{words: string(reason), details: true, verdicts: verdicts}
	if text, known := skipTexts[reason]; known {
		g.words, g.details = text.words, text.details
	}
	if reason == "" {
		g.words, g.details = "the tick ended first", false
	}
	first := verdicts[0].Why.String()
	if g.details && !slices.ContainsFunc(verdicts, func(v schedule.Verdict) bool { return v.Why.String() != first }) {
		g.words, g.details = first, false
	}
	return g
}

// notStarted adds the issues that nothing was done about, by the reason.
func (v view) notStarted(d *document) {
	groups := v.skipGroups()
	if len(groups) == 0 {
		return
	}
	var l list
	issues := 0
	for _, group := range groups {
		issues += len(group.verdicts)
		l.items = append(l.items, v.skipItem(group))
	}
	d.add(section{heading: "Not started", detail: text.Count(issues, "issue"), folded: l.lines() > maxOpen && !v.DryRun, body: document{l}})
}

// skipItem returns the item of a group, with an item below it for each issue that
// has a detail of its own.
func (v view) skipItem(group skipGroup) item {
	shown := group.verdicts[:min(len(group.verdicts), maxNames)]
	left := len(group.verdicts) - len(shown)
	it := item{count: len(group.verdicts), text: phrase{foreign(group.words)}}
	if group.details {
		for _, verdict := range shown {
			it.sub = append(it.sub, phrase{v.issueLink(verdict.Issue), own(": "), foreign(verdict.Why.String())})
		}
		it.left = left
		return it
	}
	between := ": "
	for _, verdict := range shown {
		it.text = append(it.text, own(between), v.issueLink(verdict.Issue))
		between = ", "
	}
	if left > 0 {
		it.text = append(it.text, own(between+leftOut(left)))
	}
	return it
}

// issueLink returns the name of an issue with a link to it.
func (v view) issueLink(issue tracker.Issue) span {
	return issueName(issue.Identifier, issue.ID, cmp.Or(issue.URL, v.Claims[issue.ID].URL))
}

// waitingIssues returns the issues that wait for a time or a slot, the next one
// first, except those in the table of issues, which says it.
func (v view) waitingIssues() []schedule.Verdict {
	var waiting []schedule.Verdict
	for _, verdict := range v.Verdicts {
		if verdict.Phase == schedule.Waiting && !v.worked[verdict.Issue.ID] && (verdict.Action == "" || !v.DryRun) {
			waiting = append(waiting, verdict)
		}
	}
	slices.SortStableFunc(waiting, func(a, b schedule.Verdict) int {
		return v.Claims[a.Issue.ID].Due.Compare(v.Claims[b.Issue.ID].Due)
	})
	return waiting
}

// waiting adds the table of the waiting issues.
func (v view) waiting(d *document) {
	waiting := v.waitingIssues()
	if len(waiting) == 0 {
		return
	}
	t := table{room: tableRoom, left: max(0, len(waiting)-maxWaiting), columns: []column{
		{head: "Issue", min: 12, max: 20},
		{head: "Title", min: 12, max: 60, drop: 2, width: titleWidth},
		{head: "Due"},
		{head: "At (UTC)", drop: 1},
		{head: "Why", min: 14, width: whyWidth, prose: true},
	}}
	for _, verdict := range waiting[:min(len(waiting), maxWaiting)] {
		due, at, why := v.due(verdict)
		t.add(phrase{v.issueLink(verdict.Issue)}, cell(verdict.Issue.Title), cell(due), cell(at), cell(why))
	}
	d.add(section{heading: "Waiting", detail: text.Count(len(waiting), "issue"), folded: len(waiting) > maxOpen && !v.DryRun, body: document{t}})
}

// nextDue names the tick in which what is due now has its turn.
func (v view) nextDue() string {
	if v.Scheduled {
		return "the next scheduled run"
	}
	return "next tick"
}

// due returns the time at which a waiting issue continues, from now and in UTC, and what it
// waits for.
func (v view) due(verdict schedule.Verdict) (due, at, why string) {
	claim := v.Claims[verdict.Issue.ID]
	switch {
	case claim.Due.IsZero():
		return "", "", verdict.Why.String()
	case claim.Due.After(v.Ended) && v.Scheduled:
		return v.nextRun(claim.Due), "", claim.Why
	case claim.Due.After(v.Ended):
		return text.Relative(claim.Due, v.Ended), text.Clock(claim.Due, v.Ended), claim.Why
	case verdict.Action == schedule.Dispatch:
		return v.nextDue(), "", claim.Why
	}
	if text, known := skipTexts[verdict.Why.Reason]; known && !text.details {
		return "now", "", text.words
	}
	return "now", "", verdict.Why.String()
}
