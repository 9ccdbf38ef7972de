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

// reasonText is the display text of a reason to start no session on an issue.
type reasonText struct {
	words   string
	details bool   // each issue has its own detail, which is shown
	all     bool   // no issue can be started while the reason lasts
	step    string // step that would change the verdict; empty for none
}

// reasonTexts holds the text of each reason. Details that repeat the words, or that
// the report gives elsewhere, are not shown.
var reasonTexts = map[schedule.Reason]reasonText{
	schedule.Incomplete:      {words: "incomplete", details: true, step: "Fill in what is missing in the tracker."},
	schedule.NotActive:       {words: "not in an active state", details: true, step: "Move it to one of tracker.active_states."},
	schedule.Terminal:        {words: "finished", details: true, step: "Reopen it, in one of tracker.active_states, if there is more to do."},
	schedule.NotRoutable:     {words: "without a required label", details: true, step: "Add the label in the tracker, or take it off tracker.required_labels."},
	schedule.NotDispatchable: {words: "not offered for work by the tracker", details: true, step: "Change that in the tracker, or the tracker's settings in WORKFLOW.md."},
	schedule.Blocked:         {words: "blocked by another issue", details: true, step: "Finish that issue, or take the dependency away in the tracker."},
	schedule.NotVisible:      {words: "gone from the tracker", step: "Check that it still exists, and that the tracker's credential may see it."},
	schedule.NotKnown:        {words: "not known: the tracker could not be asked about them", step: "Try again once the tracker can be read."},
	schedule.Malformed:       {words: "malformed in the tracker", details: true, step: "Fix the record in the tracker. Until then its claim stays as it is."},
	schedule.InProgress:      {words: "worked on by another run", step: "Nothing to do. If the run that works on it has died, a later tick takes it over."},
	schedule.NoSlots:         {words: "every slot is taken", all: true, step: "It starts when a session ends; agent.max_concurrent_agents is the number of slots."},
	schedule.NoStateSlots:    {words: "no slot for their state", details: true, step: "It starts when a session ends; agent.max_concurrent_agents_by_state is the number of slots."},
	schedule.NoHostSlots:     {words: "every slot of the worker hosts is taken", all: true, step: "It starts when a session ends; worker.max_concurrent_agents_per_host is the number of slots of each host."},
	schedule.HostsDown:       {words: "no worker host works", all: true, step: "It starts when a host works again: symphony validate tries each of them."},
	schedule.OpenLimit:       {words: "held back until pull requests are merged or closed", details: true, step: "It starts when one of them is merged or closed; delivery.max_open and delivery.max_open_by_label are the limits."},
	schedule.BatchSpent:      {words: "left for the next tick: this one has started enough", all: true, step: "It has its turn in the next tick; agent.max_issues_per_tick is the size of the batch."},
	schedule.TickBudget:      {words: "the budget of the tick is spent", all: true, step: "It has its turn in the next tick; budget.max_tokens_per_tick and budget.max_usd_per_tick are the limits."},
	schedule.DayBudget:       {words: "the budget of the day is spent until midnight UTC", all: true, step: "It has its turn tomorrow (UTC); budget.max_tokens_per_day and budget.max_usd_per_day are the limits."},
	schedule.Unpriced:        {words: "budget.prices has no price for a model that has answered", all: true, step: "Add the price to budget.prices: until then, or until tomorrow (UTC), nothing starts, because nobody knows what was spent."},
	schedule.IssueBudget:     {words: "the budget of the issue is spent"},
	schedule.Paused:          {words: "held back until the pause is over", all: true, step: "Fix the cause. One session tries first after the pause, or when the key, the login or the codex settings change. "},
	schedule.OnHold:          {words: "the workflow, the tracker or the repository could not be read", all: true, step: "Fix that, then try again: nothing starts before."},
	schedule.OutOfTime:       {words: "too little time is left before the deadline", all: true, step: "It has its turn in the next tick; the deadline is the limit."},
	schedule.CommandOnly:     {words: "this run only carries out a command", all: true, step: "It has its turn in the next run."},
	schedule.NextPlan:        {words: "left for the next plan of the fleet", all: true},
	schedule.Interrupted:     {words: "left for the next run: this one was stopped", all: true},
	schedule.Changed:         {words: "changed by somebody", step: "It is looked at again in the same tick."},
	schedule.Unanswered:      {words: "with something unanswered", details: true, step: "It has its turn as soon as a slot is free."},
	schedule.RoundsSpent:     {words: "waiting for a person, since the sessions on feedback are spent", details: true},
	schedule.Commanded:       {words: "stopped or parked by a person", details: true, step: "It has its turn as soon as a slot is free."},
	schedule.Merged:          {words: "merged", step: "Nothing to do."},
	schedule.Closed:          {words: "with a pull request that was closed without a merge", details: true, step: "Reopen the pull request, or close the issue."},
	schedule.Reopened:        {words: "with a pull request that was opened again", step: "It is looked at again in the same tick."},
}

// skipGroup holds the issues that were not started for one reason.
type skipGroup struct {
	words    string
	details  bool // each issue has its own detail
	verdicts []schedule.Verdict
}

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
	if text, known := reasonTexts[reason]; known {
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
	case verdict.Action == schedule.Dispatch && v.Scheduled:
		return scheduledRun, "", claim.Why
	case verdict.Action == schedule.Dispatch:
		return "next tick", "", claim.Why
	}
	if text, known := reasonTexts[verdict.Why.Reason]; known && !text.details {
		return "now", "", text.words
	}
	return "now", "", verdict.Why.String()
}
