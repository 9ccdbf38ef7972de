package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// VerdictView is the verdict of a plan on one issue, ready to be shown.
type VerdictView struct {
	verdict schedule.Verdict
	ways    ways

	Standing Standing // place of the issue in the plan
	Choice   Choice   // choice for a session that would start now
	Ignored  []string // what was said about the issue and does not count: a sentence each, which says why
	Run      string   // page of the run that works on the issue; empty if it is not known
}

// Standing describes the plan around a verdict. The zero value describes nothing.
type Standing struct {
	Active []string // the active states of the workflow
	// Place is the position of the issue, from 1, among the Of candidates that could
	// start if there were enough Slots. It is 0 if the issue is not one of them.
	Place, Of, Slots int
}

// Stand returns the place of an issue in a plan whose sessions may take a number of slots.
func Stand(plan []schedule.Verdict, id tracker.ID, slots int, active []string) Standing {
	s := Standing{Active: active, Slots: slots}
	for _, v := range plan { // the order is the one in which they would start
		if v.Action == schedule.Dispatch || v.Action == "" && competes(v.Why.Reason) {
			s.Of++
			if v.Issue.ID == id {
				s.Place = s.Of
			}
		}
	}
	return s
}

// competes reports whether an issue that may be started waits for its turn for a reason.
func competes(reason schedule.Reason) bool {
	return reasonTexts[reason].all || reason == schedule.NoStateSlots
}

// rank returns the position of the issue among the candidates in words. It is empty if
// the issue is not a candidate, or the only one.
func (v VerdictView) rank() string {
	s := v.Standing
	if s.Place == 0 || s.Of < 2 {
		return ""
	}
	return fmt.Sprintf("It is the %s of %d candidates for %s.", ordinal(s.Place), s.Of, text.Count(s.Slots, "slot"))
}

func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// Verdict returns a view of a verdict. comments, program and state are Comments, Program
// and State of the [Tick].
func Verdict(v schedule.Verdict, comments schedule.Comments, program, state string) VerdictView {
	return VerdictView{verdict: v, ways: ways{comments, program, state}}
}

// Text returns the verdict in a sentence, what would change it in another, and what was said
// and does not count.
func (v VerdictView) Text(width int) string {
	w := newTextWriter(width, time.Time{}) // it shows no instant
	w.prose("", v.finding(), maxItem)
	w.prose("", v.rank(), maxItem)
	if next := v.nextStep(); next.command == "" {
		w.prose("", next.sentence, maxItem)
	} else {
		w.prose("", next.sentence+":", maxItem)
		w.command("    ", next.command)
	}
	if v.Choice != (Choice{}) {
		w.prose("", "A session that starts now has the "+v.Choice.Words()+".", maxItem)
	}
	if v.Run != "" {
		w.prose("", "Its run: "+v.Run, maxItem)
	}
	for _, s := range v.Ignored {
		w.prose("", sentence(s), maxItem)
	}
	return w.String()
}

// MarshalJSON returns the verdict for scripts: the members of a verdict in
// [Report.MarshalJSON], next_step, what would change it, in words, its place among the
// candidates for the slots, codex, the choice for a session that starts now, ignored, what was
// said and does not count, and run_url, the page of the run that works on it.
func (v VerdictView) MarshalJSON() ([]byte, error) {
	s := v.Standing
	if s.Place == 0 {
		s = Standing{}
	}
	return encode(struct {
		verdictJSON
		NextStep   string   `json:"next_step"`
		Place      int      `json:"place,omitempty"`
		Candidates int      `json:"candidates,omitempty"`
		Slots      int      `json:"slots,omitempty"`
		Choice     *Choice  `json:"codex,omitempty"`
		Ignored    []string `json:"ignored,omitempty"`
		Run        string   `json:"run_url,omitempty"`
	}{verdictOf(v.verdict), v.nextStep().text(), s.Place, s.Of, s.Slots, v.Choice.orNil(), v.Ignored, v.Run})
}

func (v VerdictView) finding() string {
	id, reason := name(v.verdict.Issue.Identifier, v.verdict.Issue.ID), v.verdict.Why.Reason
	why := text.InWords(v.verdict.Why.String())
	switch reason {
	case schedule.Incomplete, schedule.NotActive, schedule.Terminal, schedule.NotRoutable:
		why = "it " + why // is, has, lacks
	}
	switch v.verdict.Action {
	case schedule.Dispatch:
		if reason == schedule.Unanswered {
			return sentence(id + " would be started now" + hostPhrase(v.verdict, "on") + ", to answer: " + why)
		}
		return id + " would be started now" + hostPhrase(v.verdict, "on") + "."
	case schedule.Stop:
		return sentence(id + " is being worked on, and would be stopped: " + why)
	case schedule.Release:
		return sentence(id + " would be released: " + why)
	case schedule.Park:
		return sentence(id + " would be parked: " + why)
	case schedule.Free:
		return sentence(id + " would go on: " + why)
	case schedule.Finish:
		return sentence(id + " would be finished: " + why)
	}
	switch {
	case v.verdict.Phase == schedule.Running:
		return sentence(id + " is being worked on" + hostPhrase(v.verdict, "by") + ": " + why)
	case v.verdict.Phase == schedule.Stopping:
		return sentence(id + " is being stopped: " + why)
	case reason == schedule.IsParked:
		return sentence(id + " is parked: " + why)
	case reason == "":
		return id + " may be started: nothing stands against it."
	}
	return sentence(id + " is not started: " + why)
}

// hostPhrase returns the worker host of a verdict behind a preposition, with a space before both; empty for none.
func hostPhrase(v schedule.Verdict, preposition string) string {
	if v.Host == "" {
		return ""
	}
	return " " + preposition + " worker host " + v.Host
}

// nextStep returns the step that would change the verdict; zero for an issue that starts.
func (v VerdictView) nextStep() advice {
	id := argument(name(v.verdict.Issue.Identifier, v.verdict.Issue.ID))
	reason := v.verdict.Why.Reason
	switch {
	case v.verdict.Action == schedule.Dispatch:
		return advice{}
	case reason == "":
		return advice{sentence: "The next tick starts it if a slot is free."}
	case reason == schedule.NotDue && v.ways.goOn(id).command != "":
		return advice{"To have it due at once, run", v.ways.goOn(id).command}
	case reason == schedule.NotDue && v.ways.comments != schedule.Comments{}:
		return advice{sentence: "To have it due at once, " + v.ways.comments.Command(schedule.CommandRetry) + "."}
	case reason == schedule.NotDue:
		return advice{sentence: "The first tick after that starts it if a slot is free."}
	case reason == schedule.Paused:
		end := v.ways.endPause()
		end.sentence = reasonTexts[reason].step + end.sentence
		return end
	case reason == schedule.IsParked, reason == schedule.IssueBudget, reason == schedule.RoundsSpent,
		reason == schedule.Commanded && v.verdict.Action != schedule.Free:
		return v.ways.goOn(id)
	}
	step := reasonTexts[reason].step
	if active := v.Standing.Active; len(active) > 0 && (reason == schedule.NotActive || reason == schedule.Terminal) {
		step = strings.Replace(step, "tracker.active_states", "tracker.active_states ("+strings.Join(active, ", ")+")", 1)
	}
	return advice{sentence: step}
}

func showsNothing(s string) bool { return strings.TrimSpace(text.Fit(s, itemWidth)) == "" }

// Cause returns a reason in words, see [text.InWords], without what it is about, for
// places without room for both: which workflow file is invalid, and how many failures there
// were in a row before the last.
func Cause(s string) string {
	s = text.InWords(schedule.LastFailure(s))
	if file, why, found := strings.Cut(s, ": "); found && why != "" && strings.HasPrefix(file, "workflow /") {
		return strings.TrimLeft(why, " \n")
	}
	return s
}
