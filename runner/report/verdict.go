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
	verdict  schedule.Verdict
	comments schedule.Comments
	program  string
	state    string
	standing Standing
	ignored  []string
	choice   Choice
	run      string // page of the run that works on the issue; empty if it is not known
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
		if v.Action == schedule.Dispatch || v.Action == "" && competes[v.Why.Reason] {
			s.Of++
			if v.Issue.ID == id {
				s.Place = s.Of
			}
		}
	}
	return s
}

// competes holds the reasons for which an issue that may be started waits for its turn.
var competes = map[schedule.Reason]bool{
	schedule.NoSlots: true, schedule.NoStateSlots: true, schedule.NoHostSlots: true, schedule.HostsDown: true, schedule.BatchSpent: true, schedule.TickBudget: true, schedule.DayBudget: true, schedule.Unpriced: true,
	schedule.Paused: true, schedule.OnHold: true, schedule.OutOfTime: true, schedule.CommandOnly: true,
	schedule.NextPlan: true, schedule.Interrupted: true,
}

// Within returns the view with the place of the issue in the plan.
func (v VerdictView) Within(s Standing) VerdictView {
	v.standing = s
	return v
}

// Besides returns the view with what was said about the issue and does not count, for each
// of which a sentence says why.
func (v VerdictView) Besides(ignored []string) VerdictView {
	v.ignored = ignored
	return v
}

// WorksWith returns the view with the choice for a session that would start now.
func (v VerdictView) WorksWith(c Choice) VerdictView {
	v.choice = c
	return v
}

// WorkedOnIn returns the view with the page of the run that works on the issue; empty for
// none.
func (v VerdictView) WorkedOnIn(page string) VerdictView {
	v.run = page
	return v
}

// rank returns the position of the issue among the candidates in words. It is empty if
// the issue is not a candidate, or the only one.
func (v VerdictView) rank() string {
	s := v.standing
	if s.Place == 0 || s.Of < 2 {
		return ""
	}
	return fmt.Sprintf("It is the %s of %d candidates for %s.", ordinal(s.Place), s.Of, text.Count(s.Slots, "slot"))
}

// ordinal returns a number as in 1st, 2nd and 11th.
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
	return VerdictView{verdict: v, comments: comments, program: program, state: state}
}

// Text returns the verdict in a sentence, what would change it in another, and what was said
// and does not count.
func (v VerdictView) Text(width int) string {
	w := newTextWriter(width, time.Time{}) // it shows no instant
	w.prose("", v.finding(), maxItem)
	w.prose("", v.rank(), maxItem)
	w.prose("", v.nextStep(), maxItem)
	if v.choice != (Choice{}) {
		w.prose("", "A session that starts now has the "+v.choice.words()+".", maxItem)
	}
	if v.run != "" {
		w.prose("", "Its run: "+v.run, maxItem)
	}
	for _, s := range v.ignored {
		w.prose("", sentence(s), maxItem)
	}
	return w.String()
}

// MarshalJSON returns the verdict for scripts: the members of a verdict in
// [Report.MarshalJSON], next_step, what would change it, in words, its place among the
// candidates for the slots, codex, the choice for a session that starts now, ignored, what was
// said and does not count, and run_url, the page of the run that works on it.
func (v VerdictView) MarshalJSON() ([]byte, error) {
	s := v.standing
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
	}{verdictOf(v.verdict), v.nextStep(), s.Place, s.Of, s.Slots, v.choice.orNil(), v.ignored, v.run})
}

// finding returns the decision about the issue, and its reason.
func (v VerdictView) finding() string {
	id, reason := name(v.verdict.Issue.Identifier, v.verdict.Issue.ID), v.verdict.Why.Reason
	why := v.verdict.Why.String()
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

// nextSteps holds what would change the verdict, by its reason.
var nextSteps = map[schedule.Reason]string{
	schedule.Incomplete:      "Fill in what is missing in the tracker.",
	schedule.NotActive:       "Move it to one of tracker.active_states.",
	schedule.Terminal:        "Reopen it, in one of tracker.active_states, if there is more to do.",
	schedule.NotRoutable:     "Add the label in the tracker, or take it off tracker.required_labels.",
	schedule.NotDispatchable: "Change that in the tracker, or the tracker's settings in WORKFLOW.md.",
	schedule.Blocked:         "Finish that issue, or take the dependency away in the tracker.",
	schedule.NotVisible:      "Check that it still exists, and that the tracker's credential may see it.",
	schedule.NotKnown:        "Try again once the tracker can be read.",
	schedule.Malformed:       "Fix the record in the tracker. Until then its claim stays as it is.",
	schedule.InProgress:      "Nothing to do. If the run that works on it has died, a later tick takes it over.",
	schedule.NoSlots:         "It starts when a session ends; agent.max_concurrent_agents is the number of slots.",
	schedule.NoStateSlots:    "It starts when a session ends; agent.max_concurrent_agents_by_state is the number of slots.",
	schedule.NoHostSlots:     "It starts when a session ends; worker.max_concurrent_agents_per_host is the number of slots of each host.",
	schedule.HostsDown:       "It starts when a host works again: symphony validate tries each of them.",
	schedule.OpenLimit:       "It starts when one of them is merged or closed; delivery.max_open and delivery.max_open_by_label are the limits.",
	schedule.BatchSpent:      "It has its turn in the next tick; agent.max_issues_per_tick is the size of the batch.",
	schedule.TickBudget:      "It has its turn in the next tick; budget.max_tokens_per_tick and budget.max_usd_per_tick are the limits.",
	schedule.DayBudget:       "It has its turn tomorrow (UTC); budget.max_tokens_per_day and budget.max_usd_per_day are the limits.",
	schedule.Unpriced:        "Add the price to budget.prices: until then, or until tomorrow (UTC), nothing starts, because nobody knows what was spent.",
	schedule.Paused:          "Fix the cause. One session tries first after the pause, or when the key, the login or the codex settings change. ",
	schedule.OnHold:          "Fix that, then try again: nothing starts before.",
	schedule.OutOfTime:       "It has its turn in the next tick; the deadline is the limit.",
	schedule.CommandOnly:     "It has its turn in the next run.",
	schedule.Changed:         "It is looked at again in the same tick.",
	schedule.Commanded:       "It has its turn as soon as a slot is free.",
	schedule.Unanswered:      "It has its turn as soon as a slot is free.",
	schedule.Closed:          "Reopen the pull request, or close the issue.",
	schedule.Merged:          "Nothing to do.",
	schedule.Reopened:        "It is looked at again in the same tick.",
}

// nextStep returns the step that would change the verdict. It is empty for an issue that starts.
func (v VerdictView) nextStep() string {
	id := argument(name(v.verdict.Issue.Identifier, v.verdict.Issue.ID))
	reason := v.verdict.Why.Reason
	switch {
	case v.verdict.Action == schedule.Dispatch:
		return ""
	case reason == "":
		return "The next tick starts it if a slot is free."
	case reason == schedule.NotDue && StateCommand(v.program, v.state, "") != "":
		return "To have it due at once, run: " + StateCommand(v.program, v.state, "retry "+id)
	case reason == schedule.NotDue && v.comments != schedule.Comments{}:
		return "To have it due at once, " + v.comments.Command(schedule.CommandRetry) + "."
	case reason == schedule.NotDue:
		return "The first tick after that starts it if a slot is free."
	case reason == schedule.Paused:
		return nextSteps[reason] + endPauseText(v.comments, v.program, v.state)
	case reason == schedule.IsParked, reason == schedule.IssueBudget, reason == schedule.RoundsSpent,
		reason == schedule.Commanded && v.verdict.Action != schedule.Free:
		return inText(v.comments, v.program, v.state, id)
	}
	step := nextSteps[reason]
	if active := v.standing.Active; len(active) > 0 && (reason == schedule.NotActive || reason == schedule.Terminal) {
		step = strings.Replace(step, "tracker.active_states", "tracker.active_states ("+strings.Join(active, ", ")+")", 1)
	}
	return step
}

// showsNothing reports whether a text has no visible character.
func showsNothing(s string) bool { return strings.TrimSpace(text.Fit(s, itemWidth)) == "" }

// Cause returns a reason in words, see [schedule.InWords], without what it is about, for
// places without room for both: which workflow file is invalid, and how many failures there
// were in a row before the last.
func Cause(s string) string {
	s = schedule.InWords(schedule.LastFailure(s))
	if file, why, found := strings.Cut(s, ": "); found && why != "" && strings.HasPrefix(file, "workflow /") {
		return strings.TrimLeft(why, " \n")
	}
	return s
}
