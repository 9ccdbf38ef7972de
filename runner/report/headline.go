package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
)

func (v view) headline(d *document) {
	h := headline{emoji: v.statusEmoji()}
	h.lead, h.detail = v.headlineText()
	if v.Worked() > 0 {
		h.totals = v.totals()
	}
	if h.lead == "" {
		h.lead, h.totals = h.totals, ""
	}
	d.add(h)
	if v.StartedBy != "" {
		d.add(paragraph{own("Started by "), foreign(v.StartedBy), own(".")})
	}
	if places := v.links.places(); len(places) > 0 {
		d.add(paragraph(places))
	}
}

// headlineText returns the verdict on the tick and its detail. A tick that failed
// never looks like one with nothing to do. Both are empty when the totals say
// enough.
func (v view) headlineText() (lead, detail string) {
	took := v.Ended.Sub(v.Started)
	switch v.outcome() {
	case unreadable:
		return "The tracker could not be read", v.failure()
	case failed:
		return "The tick failed", v.failure()
	case interrupted:
		return "Interrupted after " + text.Duration(took) + v.beforeAny(), ""
	case deadline:
		return "The deadline was reached after " + text.Duration(took) + v.beforeAny(), ""
	case nothingToDo:
		return v.idleReason()
	}
	switch a := v.Assigned; {
	case v.DryRun:
		return v.planSummary(), ""
	case a.Issues > 0:
		return "Gave " + text.Count(a.Issues, "issue") + " to " + text.Count(a.Shards, "shard"), "the summary of the collect job has their results."
	}
	return "", ""
}

func (v view) totals() string {
	issues := text.Count(v.Worked(), "issue") + " worked on"
	if n := v.shards(); n > 0 {
		issues += " by " + text.Count(n, "shard")
	}
	return fmt.Sprintf("%s in %s: %s · %s", issues, text.Duration(v.Ended.Sub(v.Started)), v.tally(), spent(v.Spent.Usage, v.Budget.Prices))
}

// beforeAny returns the end of a verdict on a tick that worked on no issue.
func (v view) beforeAny() string {
	if v.Worked() > 0 {
		return ""
	}
	return ", before any issue was worked on"
}

func (v view) idleReason() (lead, detail string) {
	if v.pausing() {
		return "Nothing can be started until " + v.pauseEnd(), sentence(v.Pause.Why)
	}
	if v.Collects {
		return v.collectedNothing()
	}
	for _, verdict := range v.Verdicts {
		if g := reasonTexts[verdict.Why.Reason]; g.all {
			return "Nothing can be started", sentence(g.words)
		}
		if verdict.Why.Reason == schedule.OpenLimit {
			return "Nothing new can be started", sentence(verdict.Why.Detail)
		}
	}
	switch {
	case v.Ordered && v.Acted == 0:
		return "Nothing was started", "the command is kept for the run that works on the issue."
	case v.Acted > 0 && v.DryRun:
		return "Would start nothing", "there is only " + text.Count(v.Acted, "claim") + " of other runs to take over."
	case v.Acted > 0:
		return "Nothing was started", "what changed is " + text.Count(v.Acted, "claim") + ": released, parked or taken over."
	case len(v.Verdicts) == 0:
		return "Nothing to do", "no issue is in an active state."
	}
	return "Nothing to do", "no issue in an active state can be started."
}

// collectedNothing returns the verdict on a tick that collects and has no rows.
func (v view) collectedNothing() (lead, detail string) {
	switch n, late := v.Recollected, v.Late; {
	case n+late == 0:
		return "Nothing is new", "no shard left a result that counts."
	case late > 0:
		detail = text.Count(late, "result") + " came after the issues had been taken over"
		if n > 0 {
			detail += fmt.Sprintf(", and %d had been taken over before", n)
		}
		return "Only spending is new", detail + "."
	case n == 1:
		return "Nothing is new", "the result had been taken over before, and the report of that collect has its issues."
	default:
		return "Nothing is new", fmt.Sprintf("all %d results had been taken over before, and the report of that collect has their issues.", n)
	}
}

func (v view) planSummary() string {
	count := map[schedule.Action]int{}
	candidates := 0
	for _, verdict := range v.Verdicts {
		count[verdict.Action]++
		switch {
		case verdict.Action == schedule.Release, verdict.Action == schedule.Free, verdict.Action == schedule.Finish, verdict.Phase.HasSession():
		default:
			candidates++
		}
	}
	text := fmt.Sprintf("Would start %d of %s", count[schedule.Dispatch], text.Count(candidates, "candidate"))
	for _, action := range []schedule.Action{schedule.Stop, schedule.Release, schedule.Park, schedule.Free, schedule.Finish} {
		if n := count[action]; n > 0 {
			text += fmt.Sprintf(", %s %d", action, n)
		}
	}
	return text
}

// pausing reports whether a systemic failure keeps sessions from starting.
func (v view) pausing() bool { return v.Pause.Why != "" && v.Pause.Until.After(v.Ended) }

func (v view) tally() string {
	count := v.outcomes()
	var parts []string
	for _, word := range []string{completed, handedOver, unfinished, "parked", refused, failed, "stopped", "asked", noChange} {
		switch n := count[word]; {
		case n > 0 && word == noChange:
			parts = append(parts, fmt.Sprintf("%d with no change", n))
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	return strings.Join(parts, ", ")
}

// spent returns a usage in words: its tokens, and with prices their cost.
func spent(u schedule.Usage, prices schedule.Prices) string {
	if cost := prices.Words(u); cost != "" {
		return tokens(u.Total()) + " · " + cost
	}
	return tokens(u.Total())
}

// price returns a cell with the cost of a usage, empty without prices.
func price(u schedule.Usage, prices schedule.Prices) phrase {
	return phrase{own(strings.Replace(prices.Words(u), "at least ", "≥ ", 1))}
}

// tokens returns a number of tokens in words.
func tokens(n int64) string {
	if n == 1 {
		return "1 token"
	}
	return text.Number(n) + " tokens"
}

// sentence returns text with a full stop, unless it has an end of its own.
func sentence(text string) string {
	text = strings.TrimRight(text, " \n")
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "…") {
		return text
	}
	return text + "."
}

// statusEmoji returns the verdict as a color: red for a tick that failed, yellow
// for one that was cut short or leaves something to a person, green for one that
// did its work, white for nothing to do, blue for a plan.
func (v view) statusEmoji() string {
	switch v.outcome() {
	case unreadable, failed:
		return "🔴"
	case interrupted, deadline:
		return "🟡"
	}
	n := v.outcomes()
	if len(v.Errors) > 0 || v.ParkedCount() > 0 || v.pausing() || n[failed]+n[refused]+n["asked"]+v.Earlier.Warned > 0 ||
		slices.ContainsFunc(v.Rows, func(r Row) bool { return len(r.Warnings) > 0 }) {
		return "🟡"
	}
	switch {
	case v.outcome() == nothingToDo:
		return "⚪"
	case v.DryRun, v.Assigned.Issues > 0:
		return "🔵"
	}
	return "🟢"
}
