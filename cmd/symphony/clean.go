package main

import (
	"maps"
	"slices"

	"github.com/symphony-runner/symphony/runner/redact"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// Secrets are taken out of data before it becomes text: what renders it escapes,
// wraps and cuts, and half a secret is not found any more.

// cleanState is the state without the secrets that its texts may quote.
func cleanState(s *schedule.State, r *redact.Redactor) *schedule.State {
	clean := s.Clone()
	cleanClaims(clean.Claims, r)
	clean.Pause.Why = r.String(clean.Pause.Why)
	return clean
}

func cleanClaims(claims map[tracker.ID]schedule.Claim, r *redact.Redactor) {
	for id, c := range claims {
		c.Title, c.URL, c.Why, c.State = r.String(c.Title), r.String(c.URL), r.String(c.Why), r.String(c.State)
		claims[id] = c
	}
}

// cleanTick is the same for what a report is made of.
func cleanTick(t report.Tick, r *redact.Redactor) report.Tick {
	each := func(texts []string) []string {
		clean := make([]string, len(texts))
		for i, text := range texts {
			clean[i] = r.String(text)
		}
		return clean
	}
	t.Errors, t.Warnings = each(t.Errors), each(t.Warnings)
	t.Unread, t.Pause.Why = r.String(t.Unread), r.String(t.Pause.Why)
	t.Claims = maps.Clone(t.Claims)
	cleanClaims(t.Claims, r)
	t.Rows = slices.Clone(t.Rows)
	for i := range t.Rows {
		row := &t.Rows[i]
		row.Title, row.URL, row.State = r.String(row.Title), r.String(row.URL), r.String(row.State)
		row.Why, row.Next.Why.Detail, row.Warnings = r.String(row.Why), r.String(row.Next.Why.Detail), each(row.Warnings)
	}
	t.Verdicts = slices.Clone(t.Verdicts)
	for i := range t.Verdicts {
		t.Verdicts[i] = cleanVerdict(t.Verdicts[i], r)
	}
	return t
}

func cleanVerdict(v schedule.Verdict, r *redact.Redactor) schedule.Verdict {
	issue := &v.Issue
	issue.Title, issue.URL, issue.State, issue.Why = r.String(issue.Title), r.String(issue.URL), r.String(issue.State), r.String(issue.Why)
	v.Why.Detail = r.String(v.Why.Detail)
	return v
}
