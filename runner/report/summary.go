package report

import (
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// summaryRoom is what the rows of one table of a summary may take, in bytes: a
// quarter of what GitHub shows of a step.
const summaryRoom = 256 << 10

// maxOpen is how many lines of something that is not urgent stand open.
const maxOpen = 8

// Markdown is the report for the summary of a step, in GitHub's Markdown: the
// verdict on the tick first, then the table of what was worked on, what a person
// must do, what it cost, and what was left alone and why. Of a plan that has work
// only the verdict stands open: the summary of the tick itself follows it.
//
// It begins with a heading, has an empty line between blocks, and one line for
// each row and item, so that it can be cut between any of these.
func (r Report) Markdown() string {
	s, v := &sheet{level: "####"}, newView(r.tick)
	v.summarize(s)
	if v.DryRun && v.planned() > 0 {
		s.fold("The plan", func() {
			v.sumPlan(s)
			v.sumRest(s)
		})
		return s.String()
	}
	v.sumIssues(s)
	v.sumRest(s)
	return s.String()
}

func (v view) sumRest(s *sheet) {
	v.sumAttention(s)
	v.sumWarnings(s)
	v.sumSpending(s)
	v.sumSkipped(s)
	v.sumWaiting(s)
}

// summarize writes the verdict.
func (v view) summarize(s *sheet) {
	lead, detail := v.judgement()
	toll := ""
	if len(v.Rows) > 0 {
		toll = v.toll()
	}
	if lead == "" {
		lead, toll = toll, ""
	}
	if whole := lead + ": " + detail; detail != "" && columns(Fit(whole, itemWidth)) <= titleWidth {
		lead, detail = whole, ""
	}
	s.block("### " + markdown(v.light()) + " " + literal(strings.TrimSuffix(lead, "."), itemWidth))
	s.prose(detail)
	s.prose(toll)
}

// light is the verdict in a colour: red for a tick that failed, yellow for one
// that was cut short or leaves something to a person, green for one that did its
// work, white for nothing to do, blue for a plan.
func (v view) light() string {
	switch v.outcome() {
	case unreadable, failed:
		return "🔴"
	case interrupted, deadline:
		return "🟡"
	}
	if len(v.Errors) > 0 || len(v.Parked) > 0 || v.pausing() {
		return "🟡"
	}
	for _, row := range v.Rows {
		if word := row.outcome(); word == "failed" || word == "asked" || len(row.Warnings) > 0 {
			return "🟡"
		}
	}
	switch {
	case v.outcome() == nothingToDo:
		return "⚪"
	case v.DryRun:
		return "🔵"
	}
	return "🟢"
}

// mention is an issue's name with a link to it.
func (v view) mention(issue tracker.Issue) markdown {
	address := issue.URL
	if address == "" {
		address = v.Claims[issue.ID].URL
	}
	return link(name(issue.Identifier, issue.ID), address, nameWidth)
}
