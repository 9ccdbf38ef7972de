package report

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// headline is the verdict on the tick in words. What failed is never made to
// look like nothing to do.
func (v view) headline(p *page) {
	took := v.Ended.Sub(v.Started)
	switch v.outcome() {
	case unreadable:
		p.prose("", "The tracker could not be read: "+v.failure(), maxItem)
	case failed:
		p.prose("", strings.TrimSuffix("The tick failed: "+v.failure(), ": "), maxItem)
	case interrupted:
		p.prose("", "Interrupted after "+Duration(took)+v.beforeAny(), maxItem)
	case deadline:
		p.prose("", "The deadline was reached after "+Duration(took)+v.beforeAny(), maxItem)
	case nothingToDo:
		p.prose("", v.nothing(), maxItem)
	case completed:
		if v.DryRun {
			p.prose("", v.would(), maxItem)
		}
	}
	if len(v.Rows) > 0 {
		p.prose("", fmt.Sprintf("%s worked on in %s: %s · %s", plural(len(v.Rows), "issue"), Duration(took),
			tally(v.Rows), tokens(v.Spent.Usage.Total())), maxItem)
	}
}

func (v view) beforeAny() string {
	if len(v.Rows) > 0 {
		return "."
	}
	return ", before any issue was worked on."
}

// nothing says why no issue was started.
func (v view) nothing() string {
	lead := "Nothing to do: "
	if v.DryRun {
		lead = "Would start nothing: "
	}
	if len(v.Verdicts) == 0 {
		return lead + "no issue is in an active state."
	}
	if v.pausing() {
		return sentence("Nothing can be started until " + instant(v.Pause.Until, v.Ended) + ": " + v.Pause.Why)
	}
	for _, verdict := range v.Verdicts {
		if g := groups[verdict.Why.Reason]; g.gate {
			return sentence("Nothing can be started: " + g.words)
		}
	}
	return lead + "no issue in an active state can be started."
}

// would sums up a plan.
func (v view) would() string {
	count := map[schedule.Verb]int{}
	candidates := 0
	for _, verdict := range v.Verdicts {
		count[verdict.Verb]++
		switch {
		case verdict.Verb == schedule.Release, verdict.Phase == schedule.Running, verdict.Phase == schedule.Stopping:
		default:
			candidates++
		}
	}
	text := fmt.Sprintf("Would start %d of %s", count[schedule.Dispatch], plural(candidates, "candidate"))
	for _, verb := range []schedule.Verb{schedule.Stop, schedule.Release, schedule.Park} {
		if n := count[verb]; n > 0 {
			text += fmt.Sprintf(", %s %d", verb, n)
		}
	}
	return text + "."
}

// pausing reports whether a failure of everyone's keeps sessions from starting.
func (v view) pausing() bool { return v.Pause.Why != "" && v.Pause.Until.After(v.Ended) }

// tally counts issues by outcome, in words.
func tally(rows []Row) string {
	count := map[string]int{}
	for _, row := range rows {
		count[outcomeWord(row.Class)]++
	}
	var parts []string
	for _, word := range []string{"completed", "failed", "stopped", "asked"} {
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
