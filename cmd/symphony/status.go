package main

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// statusPage is the snapshot that the status server gives (SPEC §13.3).
type statusPage struct {
	GeneratedAt time.Time       `json:"generated_at"`
	Counts      statusCounts    `json:"counts"`
	Running     []statusRow     `json:"running"`
	Retrying    []statusRow     `json:"retrying"`
	Parked      []statusRow     `json:"parked"`
	Completed   []tracker.ID    `json:"completed"` // by this process; active again, they are worked on again
	Totals      statusTotals    `json:"codex_totals"`
	RateLimits  json.RawMessage `json:"rate_limits"`
}

type statusCounts struct {
	Running  int `json:"running"`
	Retrying int `json:"retrying"`
	Parked   int `json:"parked"`
	// Completed issues are among the others too while they are claimed.
	Completed int `json:"completed"`
}

// statusTotals adds up the day, over all runs: see [schedule.Day] for why.
type statusTotals struct {
	Input   int64   `json:"input_tokens"`
	Output  int64   `json:"output_tokens"`
	Total   int64   `json:"total_tokens"`
	Seconds float64 `json:"seconds_running"`
}

type statusRow struct {
	ID         string     `json:"issue_id"`
	Identifier string     `json:"issue_identifier"`
	Title      string     `json:"title"`
	URL        string     `json:"issue_url"`
	State      string     `json:"state"`
	Phase      string     `json:"phase"`
	Attempt    int        `json:"attempt"`
	Tokens     int64      `json:"total_tokens"`
	Why        string     `json:"error,omitempty"`
	Status     string     `json:"attempt_status,omitempty"`
	Session    string     `json:"session_id,omitempty"`
	PID        int        `json:"codex_app_server_pid,omitempty"`
	Turns      int        `json:"turn_count,omitempty"`
	Event      string     `json:"last_event,omitempty"`
	Message    string     `json:"last_message,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	HeardAt    *time.Time `json:"last_event_at,omitempty"`
	DueAt      *time.Time `json:"due_at,omitempty"`
}

// statusOf returns the page of a progress.
func statusOf(p progress.Progress, now time.Time) statusPage {
	page := statusPage{
		GeneratedAt: now.UTC(),
		Counts:      statusCounts{Running: len(p.Sessions), Retrying: len(p.Waiting), Parked: len(p.Parked), Completed: len(p.Completed)},
		Running:     []statusRow{}, Retrying: []statusRow{}, Parked: []statusRow{},
		Completed: append([]tracker.ID{}, p.Completed...),
		Totals: statusTotals{
			Input: p.Today.Usage.Input, Output: p.Today.Usage.Output,
			Total: p.Today.Usage.Total(), Seconds: p.Today.Time.Seconds(),
		},
		RateLimits: p.Limits,
	}
	for _, s := range p.Sessions {
		row := statusRowOf(s.Claim)
		row.Session, row.PID, row.Status, row.Event, row.Message = s.ID, s.PID, string(s.Status), s.Event, s.Summary
		row.StartedAt = stamp(s.Started)
		page.Totals.Seconds += s.Uncounted(now).Seconds()
		page.Running = append(page.Running, row)
	}
	for _, c := range p.Waiting {
		page.Retrying = append(page.Retrying, statusRowOf(c))
	}
	for _, c := range p.Parked {
		page.Parked = append(page.Parked, statusRowOf(c))
	}
	return page
}

func statusRowOf(c schedule.Claim) statusRow {
	return statusRow{
		ID: string(c.ID), Identifier: c.Identifier, Title: c.Title, URL: c.URL, State: c.State,
		Phase: string(c.Phase), Attempt: c.Attempt, Tokens: c.Tokens, Why: c.Why, Turns: c.Turns,
		HeardAt: stamp(c.Heard), DueAt: stamp(c.Due),
	}
}

// stamp returns t in UTC, nil if it is zero.
func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// issue returns the row of an issue by its identifier or id.
func (p statusPage) issue(name string) (statusRow, bool) {
	for _, rows := range [][]statusRow{p.Running, p.Retrying, p.Parked} {
		for _, row := range rows {
			if strings.EqualFold(row.Identifier, name) || row.ID == name {
				return row, true
			}
		}
	}
	return statusRow{}, false
}
