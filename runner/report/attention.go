package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// maxParked is how many parked issues are shown, maxErrors how many errors.
const maxParked, maxErrors = 20, 20

// attention is what a person must do.
func (v view) attention(p *page) {
	errors := v.unsaid()
	parked := v.parked()
	pausing := v.pausing() && v.outcome() != nothingToDo // there the first line says it
	if len(errors) == 0 && len(parked) == 0 && !pausing {
		return
	}
	p.section("What needs a person:")
	p.items(errors, maxErrors)
	if pausing {
		p.prose("  - ", v.untilMended()+": "+v.Pause.Why, maxItem)
	}
	for _, verdict := range parked[:min(len(parked), maxParked)] {
		p.prose("  - ", name(verdict.Issue.Identifier, verdict.Issue.ID)+" is parked: "+v.plea(verdict), maxItem)
	}
	p.more("    ", len(parked)-maxParked)
	if len(parked) > 0 {
		p.prose("  ", "To let one go on, answer or change it in the tracker, or run:", maxReason)
		p.line("    " + retryCommand(parked))
	}
}

// unsaid are the errors that the first line and the pause do not tell, each once.
func (v view) unsaid() []string {
	var errors []string
	for _, err := range v.Errors {
		if err != v.failure() && (err != v.Pause.Why || !v.pausing()) && !slices.Contains(errors, err) {
			errors = append(errors, err)
		}
	}
	return errors
}

// parked are the issues that are left to a person.
func (v view) parked() []schedule.Verdict {
	var parked []schedule.Verdict
	for _, verdict := range v.Verdicts {
		if verdict.Phase == schedule.Parked && verdict.Action == "" {
			parked = append(parked, verdict)
		}
	}
	return parked
}

// untilMended says how long a pause keeps everything from starting.
func (v view) untilMended() string { return "Nothing starts until " + instant(v.Pause.Until, v.Ended) }

// plea says why an issue is parked, and what it has cost.
func (v view) plea(verdict schedule.Verdict) string {
	claim := v.Claims[verdict.Issue.ID]
	text := claim.Why
	if text == "" {
		text = verdict.Why.String()
	}
	if claim.Tokens > 0 || claim.Sessions > 0 {
		text = fmt.Sprintf("%s (%s in %s)", text, tokens(claim.Tokens), plural(claim.Sessions, "session"))
	}
	return text
}

// retryCommand is what releases one of the parked issues.
func retryCommand(parked []schedule.Verdict) string {
	id := "ID"
	if len(parked) == 1 {
		id = argument(name(parked[0].Issue.Identifier, parked[0].Issue.ID))
	}
	return "symphony state retry " + id
}

// name is what people call an issue.
func name(identifier string, id tracker.ID) string {
	if strings.TrimSpace(identifier) == "" {
		return string(id)
	}
	return identifier
}

// argument is the name of an issue in a command that people copy, or ID when a
// shell might take it for more than a word.
func argument(name string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
	}
	if name == "" || len(name) > 40 || name[0] == '-' || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return "ID"
	}
	return name
}

// sumAttention is the same on a page.
func (v view) sumAttention(s *sheet) {
	errors, parked := v.unsaid(), v.parked()
	var items []markdown
	for _, err := range errors[:min(len(errors), maxErrors)] {
		items = append(items, literal(err, itemWidth))
	}
	if n := len(errors) - maxErrors; n > 0 {
		items = append(items, markdown(fmt.Sprintf("… and %d more errors", n)))
	}
	if v.pausing() && v.outcome() != nothingToDo { // there the first line says it
		items = append(items, literal(v.untilMended()+": "+v.Pause.Why, itemWidth))
	}
	for _, verdict := range parked[:min(len(parked), maxParked)] {
		items = append(items, v.mention(verdict.Issue)+" is parked: "+literal(v.plea(verdict), itemWidth))
	}
	if len(items) == 0 {
		return
	}
	s.heading("What needs a person")
	s.list(items, len(parked)-maxParked)
	if len(parked) > 0 {
		s.block("To let one go on, answer or change it in the tracker, or run " + code(retryCommand(parked)) + ".")
	}
}
