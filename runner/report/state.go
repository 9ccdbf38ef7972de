package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// shownDays is how many days of spending the text shows; the JSON has all.
const shownDays = 7

// StateView is what is kept between runs, ready to be shown.
type StateView struct {
	state  *schedule.State
	claims []schedule.Claim
	now    time.Time
}

// State makes a view of the state as it is at now.
func State(s *schedule.State, now time.Time) StateView {
	v := StateView{state: s, now: now}
	for _, c := range s.Claims {
		v.claims = append(v.claims, c)
	}
	slices.SortFunc(v.claims, func(a, b schedule.Claim) int {
		return cmp.Or(
			cmp.Compare(phaseRank(a.Phase), phaseRank(b.Phase)),
			a.Due.Compare(b.Due), cmp.Compare(a.Identifier, b.Identifier), cmp.Compare(a.ID, b.ID),
		)
	})
	return v
}

func phaseRank(phase schedule.Phase) int {
	return slices.Index([]schedule.Phase{schedule.Running, schedule.Stopping, schedule.Waiting, schedule.Parked}, phase)
}

// Text is the state for a terminal of so many columns, 40 at least: every claim,
// the pause if there is one, the spending of the last days, and the last ticks.
func (v StateView) Text(width int) string {
	p := newPage(width)
	v.writeClaims(p)
	if pause := v.state.Pause; pause.Why != "" {
		p.section("")
		if pause.Until.After(v.now) {
			p.prose("", "Nothing starts until "+instant(pause.Until, v.now)+": "+pause.Why, maxItem)
		} else {
			p.prose("", "The pause is over: one session tries first whether it is mended: "+pause.Why, maxItem)
		}
	}
	v.writeDays(p)
	v.writePast(p)
	return p.String()
}

func (v StateView) writeClaims(p *page) {
	if len(v.claims) == 0 {
		p.line("No claims.")
		return
	}
	p.prose("", v.summary(), maxReason)
	p.section("")
	t := table{columns: []column{
		{head: "ISSUE", min: 12, max: 20},
		{head: "STATE", min: 11, max: 16, drop: 4},
		{head: "PHASE"},
		{head: "ATTEMPT", right: true, drop: 2},
		{head: "SESSIONS", right: true, drop: 1},
		{head: "TOKENS", right: true, drop: 3},
		{head: "SINCE/DUE", drop: 6},
		{head: "WHY", min: 14, drop: 5},
	}}
	for _, c := range v.claims {
		t.add(name(c.Identifier, c.ID), c.State, string(c.Phase), strconv.Itoa(c.Attempt), strconv.Itoa(c.Sessions),
			Number(c.Tokens), v.when(c), c.Why)
	}
	t.write(p)
}

func (v StateView) summary() string {
	count := map[schedule.Phase]int{}
	for _, c := range v.claims {
		count[c.Phase]++
	}
	text := plural(len(v.claims), "claim")
	lead := ": "
	for _, phase := range []schedule.Phase{schedule.Running, schedule.Stopping, schedule.Waiting, schedule.Parked} {
		if n := count[phase]; n > 0 {
			text += fmt.Sprintf("%s%d %s", lead, n, phase)
			lead = ", "
		}
	}
	return text + "."
}

// when is when a waiting claim may go on, or since when another is as it is.
func (v StateView) when(c schedule.Claim) string {
	switch {
	case c.Phase != schedule.Waiting:
		return relative(c.Since, v.now)
	case c.Due.After(v.now):
		return "due " + relative(c.Due, v.now)
	}
	return "due now"
}

func (v StateView) writeDays(p *page) {
	days := v.state.Days
	if len(days) == 0 {
		return
	}
	p.section("")
	t := table{columns: []column{
		{head: "DAY"}, {head: "SESSIONS", right: true}, {head: "TOKENS", right: true}, {head: "AGENT TIME", right: true},
	}}
	for _, day := range days[max(0, len(days)-shownDays):] {
		t.add(day.Date, strconv.Itoa(day.Sessions), Number(day.Usage.Total()), Duration(day.Time))
	}
	t.write(p)
}

// MarshalJSON is the state for scripts, by the rules of [Report.MarshalJSON].
//
//	claims       id, identifier, title, url, state (of the issue), phase, since, why, attempt,
//	             due_at, thread, sessions, failures, idle_sessions, tokens (over all sessions),
//	             lease_until and owner {run, attempt, job, host, pid, started}: empty unless running or stopping
//	pause, days  as pause and today of the report; oldest first
//	ticks        the last ones that did something, oldest first: run and attempt (of a workflow,
//	             or empty), started_at, ended_at, seconds, stopped (by what, if early), sessions,
//	             completed and parked (issues), tokens (input and output)
//	rate_limits  the agent's latest, as it sent them; null when none was seen
func (v StateView) MarshalJSON() ([]byte, error) {
	doc := stateJSON{
		Claims: make([]claimJSON, 0, len(v.claims)), Pause: pauseOf(v.state.Pause),
		Days: make([]dayJSON, 0, len(v.state.Days)), RateLimits: v.state.RateLimits,
		Ticks: make([]pastJSON, 0, len(v.state.History)),
	}
	for _, c := range v.claims {
		doc.Claims = append(doc.Claims, claimJSON{
			ID: string(c.ID), Identifier: c.Identifier, Title: c.Title, URL: c.URL, State: c.State,
			Phase: string(c.Phase), Since: stamp(c.Since), Why: c.Why, Attempt: c.Attempt, DueAt: stamp(c.Due),
			Thread: c.Thread, Sessions: c.Sessions, Failures: c.Failures, Idle: c.Idle, Tokens: c.Tokens,
			LeaseUntil: stamp(c.Lease), Owner: c.Owner,
		})
	}
	for _, day := range v.state.Days {
		doc.Days = append(doc.Days, dayOf(day))
	}
	for _, tick := range v.state.History {
		doc.Ticks = append(doc.Ticks, pastOf(tick))
	}
	return encode(doc)
}

type stateJSON struct {
	Claims     []claimJSON     `json:"claims"`
	Pause      *pauseJSON      `json:"pause"`
	Days       []dayJSON       `json:"days"`
	Ticks      []pastJSON      `json:"ticks"`
	RateLimits json.RawMessage `json:"rate_limits"`
}

type claimJSON struct {
	ID         string         `json:"id"`
	Identifier string         `json:"identifier"`
	Title      string         `json:"title"`
	URL        string         `json:"url"`
	State      string         `json:"state"`
	Phase      string         `json:"phase"`
	Since      *string        `json:"since"`
	Why        string         `json:"why"`
	Attempt    int            `json:"attempt"`
	DueAt      *string        `json:"due_at"`
	Thread     string         `json:"thread"`
	Sessions   int            `json:"sessions"`
	Failures   int            `json:"failures"`
	Idle       int            `json:"idle_sessions"`
	Tokens     int64          `json:"tokens"`
	LeaseUntil *string        `json:"lease_until"`
	Owner      schedule.Owner `json:"owner"`
}
