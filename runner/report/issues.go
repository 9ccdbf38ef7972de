package report

import (
	"fmt"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// maxIssues is how many issues a table shows, maxReasons how many failures are
// told below it where they have no room in it.
const maxIssues, maxReasons = 100, 20

// issues is the table of what was worked on.
func (v view) issues(p *page) {
	if len(v.Rows) == 0 {
		return
	}
	p.section("")
	t := table{columns: []column{
		{head: "ISSUE", min: 12, max: 20},
		{head: "TITLE", min: 16, max: 80, drop: 4},
		{head: "OUTCOME"},
		{head: "TURNS", right: true, drop: 2},
		{head: "TOKENS", right: true, drop: 3},
		{head: "TIME", right: true, drop: 1},
		{head: "NEXT", min: 26, max: 26},
	}}
	shown := v.Rows[:min(len(v.Rows), maxIssues)]
	for _, row := range shown {
		t.rows = append(t.rows, tableRow{
			cells: []string{
				name(row.Identifier, row.ID), row.Title, row.outcome(), Number(int64(row.Turns)),
				Number(row.Usage.Total()), Duration(row.Took), v.next(row),
			},
			below: v.reason(row), warnings: row.Warnings,
		})
	}
	t.write(p)
	if rest := v.Rows[len(shown):]; len(rest) > 0 {
		p.prose("", fmt.Sprintf("… and %d more: %s", len(rest), tally(rest)), maxReason)
	}
}

// Outcome returns what became of an issue by the end of its last session, in a
// word or two. A session that was stopped because its issue had moved on, once it
// had a turn, has handed the issue over: a poll overtook it.
func Outcome(c schedule.Class, next schedule.Next, turns int) string {
	switch {
	case c == schedule.Done && next.Phase == schedule.Parked:
		return "parked"
	case c == schedule.Done:
		return completed
	case c == schedule.Stopped && turns > 0 && movedOn(next):
		return handedOver
	case c == schedule.Stopped:
		return "stopped"
	case c == schedule.NeedsInput:
		return "asked"
	}
	return "failed"
}

const handedOver = "handed over"

// movedOn reports whether an issue was released because its state or its labels
// say that the agent's part is over.
func movedOn(next schedule.Next) bool {
	switch next.Why.Reason {
	case schedule.Terminal, schedule.NotActive, schedule.NotRoutable:
		return next.Phase == ""
	}
	return false
}

func (r Row) outcome() string { return Outcome(r.Class, r.Next, r.Turns) }

// Completed reports whether the last session did its part.
func (r Row) Completed() bool {
	word := r.outcome()
	return word == completed || word == handedOver
}

// next says what becomes of an issue, in few words. Its claim may have moved on
// since its session ended: then what is known at the end of the tick counts.
func (v view) next(row Row) string {
	verdict, known := v.verdicts[row.ID]
	switch {
	case row.Next.Phase == "":
		return released(row)
	case !known && len(v.Verdicts) > 0:
		return "released"
	case row.Next.Phase == schedule.Parked:
		return "parked: " + row.Next.Why.String()
	case verdict.Phase == schedule.Parked:
		return "parked: " + verdict.Why.String()
	}
	due := row.Next.Due
	switch {
	case row.Class == schedule.Systemic && v.pausing():
		return "after the pause, " + relative(v.Pause.Until, v.Ended)
	case due.After(v.Ended) && row.Class != schedule.Done:
		return fmt.Sprintf("retry at %s (%s)", clock(due, v.Ended), relative(due, v.Ended))
	case row.outcome() == "failed":
		return "retry next tick"
	}
	return "continues next tick"
}

// released says why an issue is no longer ours.
func released(row Row) string {
	state := ""
	if row.State != "" {
		state = " (" + row.State + ")"
	}
	switch row.Next.Why.Reason {
	case schedule.Terminal:
		return "done" + state
	case schedule.NotActive:
		if row.outcome() == "stopped" {
			return "released" + state // it was taken away before the agent did anything
		}
		return handedOver + state
	case schedule.NotRoutable:
		return handedOver + " (label off)"
	case schedule.NotVisible:
		return "gone from the tracker"
	case schedule.Reason(schedule.LostClaim):
		return "taken by another run"
	case "":
		return "released"
	}
	return "released: " + row.Next.Why.String()
}

// reason is what the row of an issue cannot say: why its session failed. What
// the rest of the report says, for all or for a parked issue, is not repeated.
func (v view) reason(row Row) string {
	switch row.Class {
	case schedule.Done:
		return ""
	case schedule.NeedsInput:
		if row.Next.Phase != schedule.Parked {
			return row.Why // the question is told nowhere else
		}
		return ""
	case schedule.Stopped:
		if row.Next.Phase == schedule.Waiting && row.Next.Due.After(v.Ended) {
			return row.Next.Why.String()
		}
		return ""
	}
	if row.Why == v.Pause.Why || row.Next.Phase == schedule.Parked {
		return ""
	}
	return row.Why
}

// sumIssues is the same on a page. Why sessions failed stands below the table.
func (v view) sumIssues(s *sheet) {
	if len(v.Rows) == 0 {
		return
	}
	shown := v.Rows[:min(len(v.Rows), maxIssues)]
	g := grid{heads: []string{"Issue", "Title", "Outcome", " Turns", " Tokens", " Time", "Next step (UTC)"}, room: summaryRoom, left: len(v.Rows) - len(shown)}
	var reasons []markdown
	for _, row := range shown {
		issue := link(name(row.Identifier, row.ID), row.URL, nameWidth)
		g.add(issue, literal(row.Title, titleWidth), literal(row.outcome(), nameWidth),
			count(int64(row.Turns)), count(row.Usage.Total()), literal(Duration(row.Took), nameWidth),
			literal(v.step(row), titleWidth))
		if why := literal(v.reason(row), itemWidth); why != "" {
			reasons = append(reasons, issue+" "+literal(row.outcome(), nameWidth)+": "+why)
		}
		for _, warning := range row.Warnings {
			reasons = append(reasons, issue+" "+literal(warning, itemWidth))
		}
	}
	g.write(s)
	if n := min(len(reasons), maxReasons); n > 0 {
		s.list(reasons[:n], len(reasons)-n)
	}
}

// step is what becomes of an issue. Why one is parked stands below, with all
// that needs a person.
func (v view) step(row Row) string {
	if verdict := v.verdicts[row.ID]; verdict.Phase == schedule.Parked && verdict.Action == "" {
		return "parked"
	}
	return v.next(row)
}
