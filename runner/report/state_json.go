package report

import (
	"encoding/json"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// MarshalJSON returns the state for scripts, by the rules of [Report.MarshalJSON].
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

type pastJSON struct {
	Run       string  `json:"run"`
	Attempt   int     `json:"attempt"`
	StartedAt *string `json:"started_at"`
	EndedAt   *string `json:"ended_at"`
	Seconds   float64 `json:"seconds"`
	Stopped   string  `json:"stopped"`
	Sessions  int     `json:"sessions"`
	Completed int     `json:"completed"`
	Parked    int     `json:"parked"`
	Tokens    int64   `json:"tokens"`
}

func pastOf(p schedule.TickRecord) pastJSON {
	return pastJSON{
		Run: p.Run, Attempt: p.Attempt, StartedAt: stamp(p.Started), EndedAt: stamp(p.Ended), Seconds: p.Ended.Sub(p.Started).Seconds(),
		Stopped: p.Stopped, Sessions: p.Sessions, Completed: p.Done, Parked: p.Parked, Tokens: p.Tokens,
	}
}
