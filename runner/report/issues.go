package report

import (
	"fmt"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// maxIssues is how many issues a table shows.
const maxIssues = 100

// tableRoom is how many bytes the rows of one table may take in the summary of a
// step: a quarter of what GitHub shows of it.
const tableRoom = 256 << 10

// issues adds the table of the issues that were worked on.
func (v view) issues(d *document) {
	if len(v.Rows) == 0 {
		return
	}
	t := table{room: tableRoom, columns: []column{
		{head: "Issue", min: 12, max: 20},
		{head: "Title", min: 16, max: 80, drop: 4, width: titleWidth},
		{head: "Outcome"},
		{head: "Turns", kind: numberColumn, drop: 2},
		{head: "Tokens", kind: numberColumn, drop: 3},
		{head: "Time", kind: numberColumn, drop: 1},
		{head: "Next (UTC)", min: 26, max: 26, width: titleWidth, prose: true},
	}}
	shown := v.Rows[:min(len(v.Rows), maxIssues)]
	t.left = len(v.Rows) - len(shown)
	for _, r := range shown {
		row := tableRow{cells: []phrase{
			{issueName(r.Identifier, r.ID, r.URL)}, cell(r.Title), cell(r.outcome()), number(r.Turns),
			number(r.Usage.Total()), duration(r.Took), cell(v.next(r)),
		}}
		if why := v.failureReason(r); why != "" {
			row.remarks = append(row.remarks, remark{why, maxReason})
		}
		for _, warning := range r.Warnings { // at length: the end of a hook's output counts
			row.remarks = append(row.remarks, remark{warning, maxItem})
		}
		t.rows = append(t.rows, row)
	}
	d.add(t)
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

// handedOver is the outcome of an issue whose state moved on while its session ran.
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

// outcome returns what became of the issue.
func (r Row) outcome() string { return Outcome(r.Class, r.Next, r.Turns) }

// Completed reports whether the last session did its part.
func (r Row) Completed() bool {
	word := r.outcome()
	return word == completed || word == handedOver
}

// next says what becomes of an issue, in few words. Its claim may have changed
// since its session ended: then the end of the tick counts. Why an issue is
// parked stands below, with all that needs a person.
func (v view) next(row Row) string {
	verdict, known := v.verdicts[row.ID]
	switch {
	case verdict.Phase == schedule.Parked && verdict.Action == "":
		return "parked"
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

// released says why the claim on an issue was released.
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
			return "released" + state // somebody took it away before the agent did anything
		}
		return handedOver + state
	case schedule.NotRoutable:
		return handedOver + " (label off)"
	case schedule.NotVisible:
		return "gone from the tracker"
	case schedule.ClaimLost:
		return "taken by another run"
	case "":
		return "released"
	}
	return "released: " + row.Next.Why.String()
}

// failureReason returns why the session of an issue failed. It is empty when the
// report says so elsewhere, for all issues or for a parked one.
func (v view) failureReason(row Row) string {
	switch row.Class {
	case schedule.Done:
		return ""
	case schedule.NeedsInput:
		if row.Next.Phase != schedule.Parked {
			return row.Why // the question stands nowhere else
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
