package report

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// maxIssues and maxFleetIssues are how many issues a table shows, the latter on the page of
// a fleet.
const maxIssues, maxFleetIssues = 100, 1000

// tableRoom is how many bytes the rows of one table may take in the summary of a
// step: a quarter of what GitHub shows of it.
const tableRoom = 256 << 10

func (v view) issues(d *document) {
	if len(v.Rows) == 0 {
		return
	}
	next := "Next (UTC)"
	if v.Scheduled { // words in place of times
		next = "Next"
	}
	t := table{room: tableRoom, columns: []column{
		{head: "Issue", min: 12, max: 20},
		{head: "Title", min: 16, max: 80, drop: 4, width: titleWidth},
		{head: "Outcome"},
		{head: "Delivered", min: 10, max: 40, width: titleWidth, prose: true},
		{head: "Branch", page: true, width: titleWidth},
		{head: "Checks", page: true},
		{head: "Shard", kind: numberColumn, drop: 5},
		{head: "Host", min: 8, max: 24, drop: 5},
		{head: "Turns", kind: numberColumn, drop: 2},
		{head: "Tokens", kind: numberColumn, drop: 3},
		{head: "Cost", kind: numberColumn, drop: 3},
		{head: "Time", kind: numberColumn, drop: 1},
		{head: next, min: 26, max: 26, width: titleWidth, prose: true},
	}}
	most := maxIssues
	if v.page && v.shards() > 0 {
		most = maxFleetIssues
	}
	shown := v.Rows[:min(len(v.Rows), most)]
	t.left = v.Worked() - len(shown)
	for _, r := range shown {
		place := v.place(r)
		row := tableRow{cells: []phrase{
			{rowLink(r)}, cell(r.Title), cell(v.issueOutcome(r)), whereDelivered(place, r.PullRequest),
			cell(branchBeside(place)), cell(v.checks(r)), shardOf(r), cell(r.Host),
			known(number(r.Turns), r.knowsTurns()), known(number(r.Usage.Total()), r.knowsTokens()), known(price(r.Usage, v.Budget.Prices), r.knowsTokens()), known(duration(r.Took), !r.Lost), cell(v.next(r)),
		}}
		if place.URL != "" {
			row.remarks = append(row.remarks, remark{text: place.URL, lines: maxReason, linked: place.Number > 0})
		}
		if r.Choice.Label != "" {
			row.remarks = append(row.remarks, remark{text: "Worked on with the " + r.Choice.Words() + ".", lines: maxItem})
		}
		if why := v.failureReason(r); why != "" {
			row.remarks = append(row.remarks, remark{text: why, lines: maxReason})
		}
		if r.Log != (Log{}) && v.issueOutcome(r) == failed {
			row.remarks = append(row.remarks, r.Log.remark())
		}
		for _, warning := range r.Warnings { // nothing is cut: the end of a hook's output counts
			row.remarks = append(row.remarks, remark{text: warning, lines: maxItem})
		}
		t.rows = append(t.rows, row)
	}
	if v.page { // a phone shows only the columns to the left
		t.move(len(t.columns)-1, 3)
	}
	if d.endsInSection() { // otherwise the table would read as a part of it
		d.add(section{heading: "Issues", body: document{t}})
		return
	}
	d.add(t)
}

// shardOf returns the number of the shard that worked on an issue, with a link to its job.
func shardOf(r Row) phrase {
	if r.Shard == 0 {
		return nil
	}
	return phrase{{text: strconv.Itoa(r.Shard), url: r.JobURL, name: true}}
}

// known returns a cell, or an empty one if its content is not known.
func known(p phrase, isKnown bool) phrase {
	if !isKnown {
		return nil
	}
	return p
}

// remark returns the way to a log, in words.
func (l Log) remark() remark {
	where := l.File
	if l.Artifact != "" {
		where += " of the artifact " + l.Artifact
	}
	if l.Command != "" {
		where = ""
	}
	return remark{text: strings.TrimSpace("The session's log: " + where), lines: maxItem, command: l.Command}
}

// The outcomes of an issue, besides completed and failed.
const (
	handedOver = "handed over" // its state moved on while its session ran
	unfinished = "unfinished"  // its session ended well, but its state says that there is more to do
	noChange   = "no change"   // its session ended well without any work to publish
	refused    = "refused"     // its work must not be published
)

// Outcome returns the outcome of the last session on an issue, in a
// word or two. A session that was stopped because its issue had moved on, once it
// had a turn, has handed the issue over: a poll overtook it. If the workflow delivers,
// no issue is completed or handed over before its work is published. If it does not, an
// issue is completed when it has left the active states.
func Outcome(o schedule.Outcome, next schedule.Next, delivers bool) string {
	unpublished := delivers && !o.Delivered
	switch {
	case o.Class == schedule.Done && next.Phase == schedule.Parked:
		return "parked"
	case o.Class == schedule.Done && unpublished:
		return noChange
	case o.Class == schedule.Done && !delivers && next.Phase == schedule.Waiting:
		return unfinished
	case o.Class == schedule.Done:
		return completed
	case o.Class == schedule.Stopped && o.Turns > 0 && movedOn(next) && !unpublished:
		return handedOver
	case o.Class == schedule.Stopped:
		return "stopped"
	case o.Class == schedule.NeedsInput:
		return "asked"
	case o.Refused != "":
		return refused
	}
	return failed
}

// movedOn reports whether an issue was released because its state or its labels
// say that the agent's part is over.
func movedOn(next schedule.Next) bool {
	switch next.Why.Reason {
	case schedule.Terminal, schedule.NotActive, schedule.NotRoutable:
		return next.Phase == ""
	}
	return false
}

// issueOutcome returns the outcome of the issue of a row. One whose claim was released after
// its session is out of the active states.
func (t Tick) issueOutcome(r Row) string {
	if _, claimed := t.Claims[r.ID]; !claimed && t.Claims != nil {
		r.Next.Phase = ""
	}
	return Outcome(schedule.Outcome{Class: r.Class, Turns: r.Turns, Delivered: r.Delivered, Refused: r.Refused}, r.Next, t.Delivers)
}

// Completed reports whether the last session on the issue of a row did its part.
func (t Tick) Completed(r Row) bool {
	word := t.issueOutcome(r)
	return word == completed || word == handedOver
}

func (t Tick) outcomes() map[string]int {
	count := maps.Clone(t.Earlier.Outcomes)
	if count == nil {
		count = map[string]int{}
	}
	for _, row := range t.Rows {
		count[t.issueOutcome(row)]++
	}
	return count
}

// next returns the next step of an issue, in a few words. If its claim has changed
// since its session ended, the claim at the end of the tick counts. Why an issue is
// parked is said in the section of what a person must do.
func (v view) next(row Row) string {
	verdict, known := v.verdicts[row.ID]
	switch {
	case verdict.Phase == schedule.Parked && verdict.Action == "":
		return "parked"
	case row.Next.Phase == "":
		return v.released(row)
	case !known && len(v.Verdicts) > 0:
		return "released"
	case row.Next.Phase == schedule.Parked:
		return "parked: " + row.Next.Why.String()
	case verdict.Phase == schedule.Parked:
		return "parked: " + verdict.Why.String()
	}
	due := row.Next.Due
	switch {
	case verdict.Why.Reason == schedule.Unpriced:
		return "when every model has a price"
	case verdict.Why.Reason == schedule.DayBudget:
		return "when the budget of the day allows"
	case row.Class == schedule.Systemic && v.pausing():
		if v.Scheduled {
			return "retry after the pause, in " + v.nextRun(v.Pause.Until)
		}
		return "after the pause, " + text.Relative(v.Pause.Until, v.Ended)
	case due.After(v.Ended) && row.Class != schedule.Done:
		if v.Scheduled {
			return "retry in " + v.nextRun(due)
		}
		return fmt.Sprintf("retry at %s (%s)", text.Clock(due, v.Ended), text.Relative(due, v.Ended))
	case v.issueOutcome(row) == failed, v.issueOutcome(row) == refused:
		return "retry " + v.nextTick()
	}
	return "continues " + v.nextTick()
}

// scheduledRun names the run after this one, if a schedule starts the runs.
const scheduledRun = "the next scheduled run"

// shortestSchedule is the time between two runs of the fastest schedule that GitHub has.
const shortestSchedule = 5 * time.Minute

// nextRun names the run that continues what is due at a time, if a schedule starts the
// runs.
func (v view) nextRun(due time.Time) string {
	if due.Sub(v.Ended) <= shortestSchedule {
		return scheduledRun
	}
	return "the first run after " + text.Minute(due, v.Ended) + " UTC"
}

// nextTick names the tick after this one.
func (v view) nextTick() string {
	if v.Scheduled {
		return "in " + scheduledRun
	}
	return "next tick"
}

// released returns the reason why the claim on an issue was released. An issue that somebody took
// away before the agent did anything was not handed over.
func (v view) released(row Row) string {
	how := handedOver
	if v.issueOutcome(row) == "stopped" || v.Delivers && !row.Delivered {
		how = "released"
	}
	state := ""
	if row.State != "" {
		state = " (" + row.State + ")"
	}
	switch row.Next.Why.Reason {
	case schedule.Terminal:
		return "done" + state
	case schedule.NotActive:
		return how + state
	case schedule.NotRoutable:
		return how + " (label off)"
	case schedule.NotVisible:
		return "gone from the tracker"
	case schedule.ClaimLost:
		return "taken by another run"
	case "":
		return "released"
	}
	return "released: " + row.Next.Why.String()
}

// failureReason returns the reason why the session of an issue failed. It is empty when the
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
		if row.Next.Phase == schedule.Waiting && (v.Stopped == "" || row.Next.Due.After(v.Ended)) { // else all were stopped
			return row.Next.Why.String()
		}
		return ""
	}
	if row.Why == v.Pause.Why || row.Next.Phase == schedule.Parked || row.Refused != "" {
		return ""
	}
	return row.Why
}
