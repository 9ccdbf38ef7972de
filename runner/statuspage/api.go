package statuspage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// The documents of the API. Every field is always there: without a value it is "", 0, an empty
// list, or null if it is a time or an object. SPEC §13.7 names the first fields of a struct;
// the fields of a claim are in package report.

// stateJSON answers GET /api/v1/state.
type stateJSON struct {
	GeneratedAt report.Time     `json:"generated_at"`
	Counts      countsJSON      `json:"counts"`
	Running     []*runningJSON  `json:"running"`
	Retrying    []*retryingJSON `json:"retrying"`
	Totals      report.Spent    `json:"codex_totals"` // of this process
	RateLimits  json.RawMessage `json:"rate_limits"`

	Queue      queueJSON          `json:"queue"`
	Elsewhere  []*elsewhereJSON   `json:"elsewhere"`
	Parked     []*parkedJSON      `json:"parked"`
	Deliveries []*report.Delivery `json:"deliveries"`
	Completed  []string           `json:"completed"` // by this process; active again, they are worked on again
	Events     []event            `json:"recent_events"`
	Trouble    []trouble          `json:"trouble"`
	Pause      *report.Pause      `json:"pause"`
	Today      report.Day         `json:"today"` // all processes, in UTC
	Slots      int                `json:"max_concurrent_agents"`
	NextPollAt report.Time        `json:"next_poll_at"`
	DeadlineAt report.Time        `json:"deadline_at"`
	StartedAt  report.Time        `json:"started_at"`
	Workflow   string             `json:"workflow"`
	Tracker    string             `json:"tracker"`
}

type countsJSON struct {
	Running  int `json:"running"`
	Retrying int `json:"retrying"`
	Parked   int `json:"parked"`
	Queued   int `json:"queued"` // candidates that lack nothing but room
	// Completed issues are among the others too while they are claimed.
	Completed int `json:"completed"`
}

// queueJSON holds the candidates without a claim that lack nothing but room.
type queueJSON struct {
	Length   int            `json:"length"`
	Why      string         `json:"waits_for"` // in words
	ListedAt report.Time    `json:"listed_at"` // when the tracker was last asked for them
	Next     []report.Issue `json:"next"`
}

// runningJSON is a claim with a session in progress.
type runningJSON struct {
	report.Claim
	SessionID   string        `json:"session_id"`
	Turns       int           `json:"turn_count"`
	LastEvent   string        `json:"last_event"`
	LastMessage string        `json:"last_message"`
	StartedAt   report.Time   `json:"started_at"`
	LastEventAt report.Time   `json:"last_event_at"`
	Tokens      report.Tokens `json:"tokens"` // of the session

	Status schedule.AttemptStatus `json:"attempt_status"` // a phase of SPEC §7.2
	PID    int                    `json:"codex_app_server_pid"`
	Doing  string                 `json:"doing"`
}

// retryingJSON is a claim that is tried again. While it is due, its error says why it does not start.
type retryingJSON struct {
	report.Claim
	LastError string `json:"last_error"` // how its last session ended
}

// parkedJSON is a claim that waits for a person.
type parkedJSON struct {
	report.Claim
	Question string `json:"question"` // of the agent
	GoOn     string `json:"go_on"`    // what a person does to let it go on
}

// elsewhereJSON is the claim of another process.
type elsewhereJSON struct {
	report.Claim
	Place string `json:"place"`
}

// detailJSON answers GET /api/v1/<issue>.
type detailJSON struct {
	report.Claim
	Status    string        `json:"status"` // running, retrying, parked, or delivered if there is no claim
	Workspace workspaceJSON `json:"workspace"`
	Attempts  attemptsJSON  `json:"attempts"`
	Running   *runningJSON  `json:"running"`
	Retry     *retryingJSON `json:"retry"`
	Logs      logsJSON      `json:"logs"`
	Events    []event       `json:"recent_events"`
	LastError string        `json:"last_error"`
	Tracked   struct{}      `json:"tracked"`

	AsOf     string           `json:"as_of"` // that a command names
	Parked   *parkedJSON      `json:"parked"`
	Delivery *report.Delivery `json:"delivery"`
}

type workspaceJSON struct {
	Path string `json:"path"`
}

type attemptsJSON struct {
	Restarts int `json:"restart_count"`         // sessions after the first
	Current  int `json:"current_retry_attempt"` // 0 in the first
}

type logsJSON struct {
	Sessions []logJSON `json:"codex_session_logs"`
}

type logJSON struct {
	Label string `json:"label"`
	Path  string `json:"path"`
	URL   string `json:"url"` // of the page that shows it
}

// refreshJSON answers POST /api/v1/refresh.
type refreshJSON struct {
	Queued      bool        `json:"queued"`
	Coalesced   bool        `json:"coalesced"` // with an earlier request that is not served yet
	RequestedAt report.Time `json:"requested_at"`
	Operations  []string    `json:"operations"`
}

type errorJSON struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (s *Server) serveState(w http.ResponseWriter, _ *http.Request, snap *snapshot) {
	writeJSON(w, http.StatusOK, snap.view().stateJSON(time.Now()))
}

func (s *Server) serveIssueState(w http.ResponseWriter, r *http.Request, snap *snapshot) {
	v, name := snap.view(), r.PathValue("issue")
	i := v.find(name)
	if i == nil {
		s.fail(w, r, http.StatusNotFound, "issue_not_found", unknownIssue(clean(s.redactor, name, maxName)))
		return
	}
	writeJSON(w, http.StatusOK, v.detailJSON(i, "http://"+r.Host))
}

func unknownIssue(name string) string {
	return "this run knows no claim or delivery of " + name
}

func (v *view) stateJSON(now time.Time) stateJSON {
	spent, today, pause := v.Spent, v.Today, v.raw.Pause
	spent.Time, today.Time, pause.Why = spent.Time+v.uncounted(now), today.Time+v.uncounted(now), v.Pause
	return stateJSON{
		GeneratedAt: report.Time{Time: now},
		Counts:      countsJSON{len(v.Running), len(v.Waiting), len(v.Parked), v.QueueLength, len(v.Completed)},
		Running:     report.List(v.Running, (*issue).running), Retrying: report.List(v.Waiting, (*issue).retrying),
		Totals: report.SpentOf(spent, v.raw.Prices), RateLimits: v.Limits,
		Queue:     queueJSON{v.QueueLength, v.QueueWords, report.Time{Time: v.Listed}, report.List(v.Queue, (*issue).issue)},
		Elsewhere: report.List(v.Elsewhere, (*issue).elsewhere), Parked: report.List(v.Parked, (*issue).parked),
		Deliveries: report.List(v.Delivered, (*issue).Delivery), Completed: v.Completed, Events: v.Events, Trouble: v.Trouble,
		Pause: report.PauseOf(pause), Today: report.DayOf(today, v.raw.Prices), Slots: v.Slots,
		NextPollAt: report.Time{Time: v.NextPoll}, DeadlineAt: report.Time{Time: v.Deadline}, StartedAt: report.Time{Time: v.Started},
		Workflow: v.Workflow, Tracker: v.Tracker,
	}
}

// detailJSON returns the document of one issue. base is the address of the server.
func (v *view) detailJSON(i *issue, base string) detailJSON {
	doc := detailJSON{
		Claim: i.row(), Status: "delivered", Workspace: workspaceJSON{v.workspaceOf(i)},
		Attempts: attemptsJSON{Restarts: max(i.claim.Sessions-1, 0), Current: i.claim.Attempt},
		Logs:     logsJSON{Sessions: []logJSON{}}, Events: i.Events(), AsOf: i.AsOf(), Delivery: i.Delivery(),
	}
	switch {
	case i.session != nil:
		doc.Status, doc.Running = "running", i.running()
		if i.claim.Phase == schedule.Stopping {
			doc.LastError = i.why()
		}
	case i.claim.Phase == schedule.Waiting:
		doc.Status, doc.Retry, doc.LastError = "retrying", i.retrying(), i.why()
	case i.claim.Phase == schedule.Parked:
		doc.Status, doc.Parked, doc.LastError = "parked", i.parked(), i.why()
	}
	if log := i.Log(); log != "" {
		doc.Logs.Sessions = append(doc.Logs.Sessions, logJSON{"latest", log, base + i.Path})
	}
	for _, log := range v.logsOf(i, "") {
		label, path := fmt.Sprintf("session %d", log.Number), v.line(filepath.Join(v.raw.Logs, filepath.FromSlash(log.Name)), maxLine)
		if len(doc.Logs.Sessions) == 0 {
			label = "latest"
		}
		if path != i.Log() {
			doc.Logs.Sessions = append(doc.Logs.Sessions, logJSON{label, path, base + log.Path})
		}
	}
	return doc
}

// workspaceOf returns the path of the workspace of an issue, whether it exists or not.
func (v *view) workspaceOf(i *issue) string {
	if v.raw.Root == "" || i.claim.Identifier == "" {
		return ""
	}
	return filepath.Join(v.raw.Root, workspace.Key(i.claim.Identifier))
}

// retryCommand returns the command that lets a parked issue go on; empty if none reaches the
// state.
func (v *view) retryCommand(id string) string {
	return v.line(report.StateCommand(v.raw.Program, v.raw.State, "retry "+id), maxLine)
}

// GoOn returns the way in which people let a parked issue go on.
func (v *view) GoOn() string { return v.raw.Comments.GoOn() }

func issuePath(name string) string { return "/issues/" + url.PathEscape(name) }

// issue returns the issue itself, with texts that are fit to be shown.
func (i *issue) issue() report.Issue {
	return report.Issue{IssueNames: report.IssueNames{ID: tracker.ID(i.ID), Identifier: i.Name, URL: i.URL()}, Title: i.Title(), State: i.State()}
}

// row returns the claim of the issue, with texts that are fit to be shown.
func (i *issue) row() report.Claim {
	c, line := report.ClaimOf(i.claim, i.view.raw.Prices), i.view.line
	c.Issue, c.Why, c.Thread, c.Host = i.issue(), i.why(), line(c.Thread, maxName), i.Host()
	c.Owner.Run, c.Owner.Job, c.Owner.Host = line(c.Owner.Run, maxName), line(c.Owner.Job, maxName), line(c.Owner.Host, maxName)
	return c
}

func (i *issue) running() *runningJSON {
	return &runningJSON{
		Claim: i.row(), SessionID: i.Session(), Turns: i.claim.Turns, LastEvent: i.Event(), LastMessage: i.Summary(),
		StartedAt: report.Time{Time: i.session.Started}, LastEventAt: report.Time{Time: i.heard()}, Tokens: report.TokensOf(i.claim.Live, i.view.raw.Prices),
		Status: i.session.Status, PID: i.session.PID, Doing: i.Doing(),
	}
}

func (i *issue) retrying() *retryingJSON {
	r := retryingJSON{i.row(), i.why()}
	r.Why = cmp.Or(i.Held(), r.Why)
	return &r
}

func (i *issue) parked() *parkedJSON { return &parkedJSON{i.row(), i.Question(), i.view.GoOn()} }

func (i *issue) elsewhere() *elsewhereJSON { return &elsewhereJSON{i.row(), i.Place()} }
