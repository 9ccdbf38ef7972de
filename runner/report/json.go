package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// MarshalJSON returns the report for scripts. README.md describes every field; the
// names are a contract and do not change.
func (r Report) MarshalJSON() ([]byte, error) {
	t := r.tick
	return encode(reportJSON{
		Outcome: t.outcome(), Work: t.Work(), StartedAt: Time{t.Started}, StartedBy: t.StartedBy, EndedAt: Time{t.Ended}, Seconds: Seconds(t.Ended.Sub(t.Started)),
		Workflow: t.Workflow, Tracker: t.Tracker, DryRun: t.DryRun, Counts: t.Counts(), Assigned: t.Assigned,
		Issues: List(t.Rows, t.rowOf), Earlier: t.Earlier.Issues, Verdicts: List(t.Verdicts, verdictOf), Pause: PauseOf(t.Pause), Hosts: hostsDown(t.Hosts),
		Spent: SpentOf(t.Spent, t.Budget.Prices), Today: DayOf(t.Today, t.Budget.Prices), Budgets: t.Budget, Reserved: t.Reserved, NextDueAt: Time{t.NextDue},
		Delivers: t.Delivers, Deliveries: DeliveriesOf(t.Deliveries, t.Checks),
		Notices: append([]string{}, t.Notices...), Warnings: append([]string{}, t.Warnings...), Errors: append([]string{}, t.Errors...),
	})
}

// PullRequests returns the pull requests that the tick opened, updated or found as they
// should be, as a list in JSON. The names are a contract too.
func (t Tick) PullRequests() string {
	list := []pullRequest{}
	for _, row := range t.Rows {
		if row.PullRequest != "" && row.Delivery.Number > 0 {
			list = append(list, pullRequest{row.names(), rowPlace{placeOf(row.Delivery, t.Checks[row.ID]), row.PullRequest}})
		}
	}
	text, _ := encode(list) // numbers and strings can always be encoded
	return string(text)
}

type pullRequest struct {
	IssueNames
	rowPlace
}

type reportJSON struct {
	Outcome    string            `json:"outcome"`
	Work       bool              `json:"work"`
	StartedAt  Time              `json:"started_at"`
	EndedAt    Time              `json:"ended_at"`
	StartedBy  string            `json:"started_by"`
	Seconds    float64           `json:"seconds"`
	Workflow   string            `json:"workflow"`
	Tracker    string            `json:"tracker"`
	DryRun     bool              `json:"dry_run"`
	Counts     Counts            `json:"counts"`
	Assigned   Assigned          `json:"assigned"`
	Issues     []rowJSON         `json:"issues"`
	Earlier    int               `json:"earlier_issues,omitempty"`
	Verdicts   []verdictJSON     `json:"verdicts"`
	Pause      *Pause            `json:"pause"`
	Hosts      []HostDown        `json:"hosts_down,omitempty"`
	Spent      Spent             `json:"spent"`
	Today      Day               `json:"today"`
	Budgets    schedule.Budget   `json:"budgets"`
	Reserved   schedule.Reserved `json:"reserved"`
	NextDueAt  Time              `json:"next_due_at"`
	Delivers   bool              `json:"delivers"`
	Deliveries []Delivery        `json:"deliveries"`
	Notices    []string          `json:"notices"`
	Warnings   []string          `json:"warnings"`
	Errors     []string          `json:"errors"`
}

type rowJSON struct {
	Issue
	Outcome  string                 `json:"outcome"`
	Attempt  int                    `json:"attempt"`
	Sessions int                    `json:"sessions"`
	Class    schedule.Class         `json:"class"`
	Status   schedule.AttemptStatus `json:"attempt_status"`
	Host     string                 `json:"worker_host,omitempty"`
	Why      string                 `json:"error"`
	Warnings []string               `json:"warnings"`
	Choice   *Choice                `json:"codex"`   // null if WORKFLOW.md says nothing of the model
	Turns    *int                   `json:"turns"`   // null if it is not known
	Tokens   *Tokens                `json:"tokens"`  // the same
	Seconds  *float64               `json:"seconds"` // the same
	Next     nextJSON               `json:"next"`
	Delivery *rowPlace              `json:"delivery"`
	Refused  string                 `json:"refused"`
	Kept     *Kept                  `json:"kept"`
	Log      *Log                   `json:"log"`
	Shard    int                    `json:"shard"`
	JobURL   string                 `json:"job_url"`
}

// rowPlace is the place of the work on an issue, with what the tick did to its pull request.
type rowPlace struct {
	Place
	Change string `json:"pull_request_change"`
}

type nextJSON struct {
	Phase schedule.Phase `json:"phase"`
	Why   string         `json:"why"`
	DueAt Time           `json:"due_at"`
}

type verdictJSON struct {
	Issue
	Phase  schedule.Phase  `json:"phase"`
	Action schedule.Action `json:"action"`
	Reason schedule.Reason `json:"reason"`
	Why    string          `json:"why"`
	Host   string          `json:"worker_host,omitempty"`
}

func (r Row) names() IssueNames { return IssueNames{r.ID, r.Identifier, r.URL} }

func (t Tick) rowOf(row Row) rowJSON {
	r := rowJSON{
		Issue:   Issue{row.names(), row.Title, row.State},
		Outcome: strings.ReplaceAll(t.issueOutcome(row), " ", "_"),
		Attempt: row.Attempt, Sessions: row.Sessions, Class: row.Class, Status: row.Status, Host: row.Host, Why: row.Why,
		Warnings: append([]string{}, row.Warnings...),
		Next:     nextJSON{cmp.Or(row.Next.Phase, "released"), row.Next.Why.String(), Time{row.Next.Due}},
		Choice:   row.Choice.orNil(),
		Refused:  row.Refused, Shard: row.Shard, JobURL: row.JobURL,
	}
	if row.knowsTurns() {
		r.Turns = &row.Turns
	}
	if row.knowsTokens() {
		tokens := TokensOf(row.Usage, t.Budget.Prices)
		r.Tokens = &tokens
	}
	if !row.Lost {
		seconds := Seconds(row.Took)
		r.Seconds = &seconds
	}
	if place := t.place(row); isPublished(place) {
		r.Delivery = &rowPlace{placeOf(place, t.Checks[row.ID]), row.PullRequest}
	}
	if row.Kept.Folder != "" {
		row.Kept.Commands = append([]string{}, row.Kept.Commands...)
		r.Kept = &row.Kept
	}
	if row.Log.File != "" {
		r.Log = &row.Log
	}
	return r
}

func verdictOf(v schedule.Verdict) verdictJSON {
	return verdictJSON{Issue{IssueNames{v.Issue.ID, v.Issue.Identifier, v.Issue.URL}, v.Issue.Title, v.Issue.State}, v.Phase, v.Action, v.Why.Reason, v.Why.String(), v.Host}
}

// MarshalJSON returns the state for scripts, by the rules of [Report.MarshalJSON].
func (v StateView) MarshalJSON() ([]byte, error) {
	return encode(stateJSON{
		Claims:     List(v.claims, func(c schedule.Claim) Claim { return ClaimOf(c, v.Prices) }),
		Deliveries: v.deliveries, Pause: PauseOf(v.state.Pause), Hosts: hostsDown(v.downHosts()),
		Days:     List(v.state.Days, func(d schedule.Day) Day { return DayOf(d, v.Prices) }),
		Reserved: v.state.Reserved(), Ticks: List(v.state.History, pastTickOf), RateLimits: v.state.RateLimits,
	})
}

type stateJSON struct {
	Claims     []Claim           `json:"claims"`
	Deliveries []Delivery        `json:"deliveries"`
	Pause      *Pause            `json:"pause"`
	Hosts      []HostDown        `json:"hosts_down,omitempty"`
	Days       []Day             `json:"days"`
	Reserved   schedule.Reserved `json:"reserved"`
	Ticks      []pastTickJSON    `json:"ticks"`
	RateLimits json.RawMessage   `json:"rate_limits"`
}

// pastTickJSON repeats names of reportJSON. Each document is written out, because its
// names are a contract of its own.
type pastTickJSON struct {
	Run       string  `json:"run"`
	Attempt   int     `json:"attempt"`
	StartedAt Time    `json:"started_at"`
	EndedAt   Time    `json:"ended_at"`
	Seconds   float64 `json:"seconds"`
	Stopped   string  `json:"stopped"`
	Sessions  int     `json:"sessions"`
	Completed int     `json:"completed"`
	Failed    int     `json:"failed"`
	Parked    int     `json:"parked"`
	Tokens    int64   `json:"total_tokens"`
}

func pastTickOf(t schedule.TickRecord) pastTickJSON {
	return pastTickJSON{
		Run: t.Run, Attempt: t.Attempt, StartedAt: Time{t.Started}, EndedAt: Time{t.Ended}, Seconds: Seconds(t.Ended.Sub(t.Started)),
		Stopped: t.Stopped, Sessions: t.Sessions, Completed: t.Done, Failed: t.Failed, Parked: t.Parked, Tokens: t.Tokens,
	}
}

// encode returns a document as JSON in which no text reads as a command to the log
// of a workflow run: `##[` begins one. A number sign occurs in strings only.
func encode(doc any) ([]byte, error) {
	text, err := json.Marshal(doc)
	return bytes.ReplaceAll(text, []byte("##["), []byte(`#\u0023[`)), err
}
