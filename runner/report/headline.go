package report

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// headline is the verdict on the tick in words.
func (v view) headline(p *page) {
	if lead, detail := v.judgement(); detail != "" {
		p.prose("", lead+": "+detail, maxItem)
	} else if lead != "" {
		p.prose("", sentence(lead), maxItem)
	}
	if len(v.Rows) > 0 {
		p.prose("", v.toll(), maxItem)
	}
}

// judgement is the verdict and what there is to say about it. What failed is
// never made to look like nothing to do. It is empty for a tick of which the
// issues it worked on say it all.
func (v view) judgement() (lead, detail string) {
	took := v.Ended.Sub(v.Started)
	switch v.outcome() {
	case unreadable:
		return "The tracker could not be read", v.failure()
	case failed:
		return "The tick failed", v.failure()
	case interrupted:
		return "Interrupted after " + Duration(took) + v.beforeAny(), ""
	case deadline:
		return "The deadline was reached after " + Duration(took) + v.beforeAny(), ""
	case nothingToDo:
		return v.nothing()
	}
	if v.DryRun {
		return v.would(), ""
	}
	return "", ""
}

// toll is what the issues came to, and what they cost.
func (v view) toll() string {
	return fmt.Sprintf("%s worked on in %s: %s · %s", plural(len(v.Rows), "issue"), Duration(v.Ended.Sub(v.Started)),
		tally(v.Rows), tokens(v.Spent.Usage.Total()))
}

func (v view) beforeAny() string {
	if len(v.Rows) > 0 {
		return ""
	}
	return ", before any issue was worked on"
}

// nothing says why no issue was started.
func (v view) nothing() (lead, detail string) {
	if v.pausing() {
		return "Nothing can be started until " + instant(v.Pause.Until, v.Ended), sentence(v.Pause.Why)
	}
	for _, verdict := range v.Verdicts {
		if g := groups[verdict.Why.Reason]; g.gate {
			return "Nothing can be started", sentence(g.words)
		}
	}
	switch {
	case v.Acted > 0 && v.DryRun:
		return "Would start nothing", "there is only " + plural(v.Acted, "claim") + " of other runs to take over."
	case v.Acted > 0:
		return "Nothing was started", "what changed is " + plural(v.Acted, "claim") + ": released, parked or taken over."
	case len(v.Verdicts) == 0:
		return "Nothing to do", "no issue is in an active state."
	}
	return "Nothing to do", "no issue in an active state can be started."
}

// would sums up a plan.
func (v view) would() string {
	count := map[schedule.Action]int{}
	candidates := 0
	for _, verdict := range v.Verdicts {
		count[verdict.Action]++
		switch {
		case verdict.Action == schedule.Release, verdict.Phase == schedule.Running, verdict.Phase == schedule.Stopping:
		default:
			candidates++
		}
	}
	text := fmt.Sprintf("Would start %d of %s", count[schedule.Dispatch], plural(candidates, "candidate"))
	for _, verb := range []schedule.Action{schedule.Stop, schedule.Release, schedule.Park} {
		if n := count[verb]; n > 0 {
			text += fmt.Sprintf(", %s %d", verb, n)
		}
	}
	return text
}

// pausing reports whether a failure of everyone's keeps sessions from starting.
func (v view) pausing() bool { return v.Pause.Why != "" && v.Pause.Until.After(v.Ended) }

// tally counts issues by outcome, in words.
func tally(rows []Row) string {
	count := map[string]int{}
	for _, row := range rows {
		count[row.outcome()]++
	}
	var parts []string
	for _, word := range []string{completed, handedOver, "parked", "failed", "stopped", "asked"} {
		if n := count[word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	return strings.Join(parts, ", ")
}

func tokens(n int64) string {
	if n == 1 {
		return "1 token"
	}
	return Number(n) + " tokens"
}

// sentence is text with a full stop, if it has no end of its own.
func sentence(text string) string {
	text = strings.TrimRight(text, " \n")
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "…") {
		return text
	}
	return text + "."
}
