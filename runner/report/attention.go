package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// maxParked is how many parked issues are shown.
const maxParked = 20

// maxOpen is how many lines a section that is not urgent may have before a page folds it.
const maxOpen = 8

func (v view) attention(d *document) {
	errors, rejected, parked := v.otherErrors(), v.refused(), v.parked()
	l := listOf(errors)
	if l.left > 0 {
		l.items = append(l.items, item{text: phrase{own(leftOut(l.left) + " errors")}})
	}
	if v.pausing() && v.outcome() != nothingToDo { // there the first line says it
		l.items = append(l.items, item{text: phrase{foreign(v.pausedUntil() + ": " + v.Pause.Why)}})
	}
	for _, row := range rejected[:min(len(rejected), maxParked)] {
		l.items = append(l.items, itemWithList(phrase{rowLink(row), own(": its work was refused, so nothing was published")}, row.Refused))
	}
	if n := len(rejected) - maxParked; n > 0 {
		l.items = append(l.items, item{text: phrase{own(leftOut(n) + " with refused work")}})
	}
	for _, verdict := range parked[:min(len(parked), maxParked)] {
		why, list := v.parkedReason(verdict)
		l.items = append(l.items, itemWithList(phrase{v.issueLink(verdict.Issue), own(" is parked: "), foreign(why)}, list))
	}
	l.left = max(0, len(parked)-maxParked)
	var body document
	if len(l.items) > 0 {
		body.add(l)
	}
	if len(parked) > 0 {
		body.add(v.ways().goOn(retryName(parked)).block())
	}
	if v.pausing() {
		body.add(v.ways().endPause().block())
	}
	v.keptWork(&body)
	if len(body) == 0 {
		return
	}
	d.add(section{heading: "What needs a person", body: body})
}

func (v view) warnings(d *document) {
	if len(v.Warnings) == 0 {
		return
	}
	n := len(v.Warnings)
	d.add(section{heading: "Warnings", detail: strconv.Itoa(n), folded: n > maxOpen, body: document{listOf(v.Warnings)}})
}

func (v view) notices(d *document) {
	if len(v.Notices) == 0 {
		return
	}
	d.add(section{heading: "Good to know", body: document{listOf(v.Notices)}})
}

// otherErrors returns the errors that neither the first line nor the pause shows,
// each once.
func (v view) otherErrors() []string {
	var errors []string
	for _, err := range v.Errors {
		if err != v.failure() && (err != v.Pause.Why || !v.pausing()) && !slices.Contains(errors, err) {
			errors = append(errors, err)
		}
	}
	return errors
}

// parked returns the issues that wait for a person, the one that was parked last first.
func (v view) parked() []schedule.Verdict {
	var parked []schedule.Verdict
	for _, verdict := range v.Verdicts {
		if verdict.Phase == schedule.Parked && verdict.Action == "" {
			parked = append(parked, verdict)
		}
	}
	slices.SortStableFunc(parked, func(a, b schedule.Verdict) int {
		return latestParked(v.Claims[a.Issue.ID], v.Claims[b.Issue.ID])
	})
	return parked
}

func (v view) pausedUntil() string { return "Nothing starts until " + v.pauseEnd() }

// pauseEnd returns the time when the pause ends, in words. If a schedule starts the runs, people read
// it at any time, and a distance from the end of the run would mislead them.
func (v view) pauseEnd() string {
	if v.Scheduled {
		return text.Minute(v.Pause.Until, v.Ended) + " UTC"
	}
	return text.Instant(v.Pause.Until, v.Ended)
}

// parkedReason returns the reason why an issue is parked, and what it has cost. If its work was refused,
// the reasons of that are the list and not in the text; if the agent asks, the choices are.
func (v view) parkedReason(verdict schedule.Verdict) (s, list string) {
	claim, list := v.Claims[verdict.Issue.ID], v.Deliveries[verdict.Issue.ID].Refused
	s = claim.Why
	if s == "" {
		s = verdict.Why.String()
	}
	s = withoutReasons(s, list)
	if question, choices := cutChoices(v.Asked[verdict.Issue.ID]); choices != "" && strings.HasPrefix(s, agentAsks) {
		s, list = agentAsks+question, choices
	}
	if claim.Tokens > 0 || claim.Sessions > 0 {
		s = fmt.Sprintf("%s (%s in %s)", s, strings.ReplaceAll(spent(claim.Spent(), v.Budget.Prices), " · ", ", "), text.Count(claim.Sessions, "session"))
	}
	return s, list
}

// agentAsks begins the reason why an issue is parked whose agent asks something.
const agentAsks = "the agent asks: "

// cutChoices divides what an agent asks before its first choice. It returns no choices if
// there are none.
func cutChoices(asked string) (question, choices string) {
	const choice = "\n- "
	question, choices, found := strings.Cut(asked, choice)
	if !found {
		return asked, ""
	}
	return strings.TrimSpace(question), "- " + choices
}

// retryName returns the name of one of the parked issues for a command.
func retryName(parked []schedule.Verdict) string {
	if len(parked) != 1 {
		return "ID"
	}
	return argument(name(parked[0].Issue.Identifier, parked[0].Issue.ID))
}

// name returns the name by which people know an issue.
func name(identifier string, id tracker.ID) string {
	if showsNothing(identifier) {
		return string(id)
	}
	return identifier
}

// argument returns the name of an issue for a command that people copy, or "ID"
// when a shell might read it as more than a word.
func argument(name string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
	}
	if name == "" || len(name) > 40 || name[0] == '-' || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return "ID"
	}
	return name
}
