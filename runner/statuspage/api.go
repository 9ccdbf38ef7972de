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

// The documents of the API. Fields that SPEC §13.7 names come first, then ours. Every
// field is always there: without a value it is "", 0, an empty list, or null if it is a
// time or an object.

// stateJSON answers GET /api/v1/state.
type stateJSON struct {
	GeneratedAt time.Time       `json:"generated_at"`
	Counts      countsJSON      `json:"counts"`
	Running     []runningJSON   `json:"running"`
	Retrying    []retryingJSON  `json:"retrying"`
	Totals      totalsJSON      `json:"codex_totals"` // of this process
	RateLimits  json.RawMessage `json:"rate_limits"`

	Queue      queueJSON       `json:"queue"`
	Elsewhere  []elsewhereJSON `json:"elsewhere"`
	Parked     []parkedJSON    `json:"parked"`
	Deliveries []deliveryJSON  `json:"deliveries"`
	Completed  []string        `json:"completed"` // by this process; active again, they are worked on again
	Events     []runEventJSON  `json:"recent_events"`
	Trouble    []troubleJSON   `json:"trouble"`
	Pause      *pauseJSON      `json:"pause"`
	Today      todayJSON       `json:"today"` // all processes, in UTC
	Slots      int             `json:"max_concurrent_agents"`
	NextPollAt *time.Time      `json:"next_poll_at"`
	DeadlineAt *time.Time      `json:"deadline_at"`
	StartedAt  *time.Time      `json:"started_at"`
	Workflow   string          `json:"workflow"`
	Tracker    string          `json:"tracker"`
}

// elsewhereJSON is the claim of another process.
type elsewhereJSON struct {
	report.IssueNames
	State string     `json:"state"`
	Since *time.Time `json:"since"`
	Place string     `json:"place"`
}

// queueJSON holds the candidates without a claim that lack nothing but room.
type queueJSON struct {
	Length   int          `json:"length"`
	Why      string       `json:"waits_for"` // in words
	ListedAt *time.Time   `json:"listed_at"` // when the tracker was last asked for them
	Next     []queuedJSON `json:"next"`
}

type queuedJSON struct {
	report.IssueNames
	Title string `json:"title"`
	State string `json:"state"`
}

type countsJSON struct {
	Running  int `json:"running"`
	Retrying int `json:"retrying"`
	Parked   int `json:"parked"`
	Queued   int `json:"queued"` // candidates that lack nothing but room
	// Completed issues are among the others too while they are claimed.
	Completed int `json:"completed"`
}

type totalsJSON struct {
	report.Tokens
	Seconds float64 `json:"seconds_running"`
}

type todayJSON struct {
	totalsJSON
	Date     string `json:"date"`
	Sessions int    `json:"sessions"`
}

// claimJSON holds the fields that we add to the row of every claim.
type claimJSON struct {
	Title    string `json:"title"`
	Phase    string `json:"phase"`
	Tokens   int64  `json:"issue_total_tokens"` // of all sessions on it
	Sessions int    `json:"sessions"`           // that were started on it
}

// sessionJSON is a session in progress.
type sessionJSON struct {
	State       string        `json:"state"`
	SessionID   string        `json:"session_id"`
	Turns       int           `json:"turn_count"`
	LastEvent   string        `json:"last_event"`
	LastMessage string        `json:"last_message"`
	StartedAt   *time.Time    `json:"started_at"`
	LastEventAt *time.Time    `json:"last_event_at"`
	Tokens      report.Tokens `json:"tokens"` // of the session

	Attempt int    `json:"attempt"`
	Status  string `json:"attempt_status"` // a phase of SPEC §7.2
	PID     int    `json:"codex_app_server_pid"`
	Doing   string `json:"doing"`
}

type runningJSON struct {
	report.IssueNames
	sessionJSON
	claimJSON
}

// retryJSON says when and why a claim is tried again.
type retryJSON struct {
	Attempt int        `json:"attempt"`
	DueAt   *time.Time `json:"due_at"`
	Error   string     `json:"error"` // why it waits: while it is due, why it does not start

	State     string `json:"state"`
	LastError string `json:"last_error"` // how its last session ended
}

type retryingJSON struct {
	report.IssueNames
	retryJSON
	claimJSON
}

// parkJSON says why a claim waits for a person.
type parkJSON struct {
	State    string     `json:"state"`
	Attempt  int        `json:"attempt"`
	Error    string     `json:"error"`
	ParkedAt *time.Time `json:"parked_at"`
	Question string     `json:"question"` // of the agent
	GoOn     string     `json:"go_on"`    // what a person does to let it go on
}

type parkedJSON struct {
	report.IssueNames
	parkJSON
	claimJSON
}

type deliveryJSON struct {
	report.IssueNames
	deliveredJSON
}

type deliveredJSON struct {
	Branch   string     `json:"branch"`
	Base     string     `json:"base"`
	Head     string     `json:"head"`
	Number   int        `json:"pull_request"`
	URL      string     `json:"pull_request_url"`
	Patch    string     `json:"patch"`
	PushedAt *time.Time `json:"pushed_at"`
	Pushing  bool       `json:"pushing"`
	Refused  string     `json:"refused"`
}

type eventJSON struct {
	At      *time.Time `json:"at"`
	Event   string     `json:"event"`
	Message string     `json:"message"`
}

type runEventJSON struct {
	eventJSON
	ID         string `json:"issue_id"`
	Identifier string `json:"issue_identifier"`
}

type troubleJSON struct {
	Source string `json:"source"`
	Text   string `json:"message"`
}

type pauseJSON struct {
	Since *time.Time `json:"since"`
	Until *time.Time `json:"until"`
	Why   string     `json:"error"`
}

// detailJSON answers GET /api/v1/<issue>.
type detailJSON struct {
	Identifier string        `json:"issue_identifier"`
	ID         string        `json:"issue_id"`
	Status     string        `json:"status"` // running, retrying, parked, or delivered if there is no claim
	Workspace  workspaceJSON `json:"workspace"`
	Attempts   attemptsJSON  `json:"attempts"`
	Running    *sessionJSON  `json:"running"`
	Retry      *retryJSON    `json:"retry"`
	Logs       logsJSON      `json:"logs"`
	Events     []eventJSON   `json:"recent_events"`
	LastError  string        `json:"last_error"`
	Tracked    struct{}      `json:"tracked"`

	claimJSON
	URL      string         `json:"issue_url"`
	State    string         `json:"state"`
	AsOf     string         `json:"as_of"` // that a command names
	Parked   *parkJSON      `json:"parked"`
	Delivery *deliveredJSON `json:"delivery"`
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
	Queued      bool      `json:"queued"`
	Coalesced   bool      `json:"coalesced"` // with an earlier request that is not served yet
	RequestedAt time.Time `json:"requested_at"`
	Operations  []string  `json:"operations"`
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

// stateJSON returns the document of the whole run at now.
func (v *view) stateJSON(now time.Time) stateJSON {
	doc := stateJSON{
		GeneratedAt: now.UTC(),
		Counts:      countsJSON{Running: len(v.Running), Retrying: len(v.Waiting), Parked: len(v.Parked), Queued: v.QueueLength(), Completed: len(v.Completed)},
		Running:     make([]runningJSON, 0, len(v.Running)), Retrying: make([]retryingJSON, 0, len(v.Waiting)),
		Totals: totalsJSON{report.TokensOf(v.raw.Spent.Usage), inSeconds(v.runningFor(now))}, RateLimits: v.Limits,
		Queue: queueJSON{v.QueueLength(), v.QueueWords(), stamp(v.Listed()), make([]queuedJSON, 0, len(v.Queue))}, Elsewhere: make([]elsewhereJSON, 0, len(v.raw.Elsewhere)),
		Parked: make([]parkedJSON, 0, len(v.Parked)), Deliveries: make([]deliveryJSON, 0, len(v.Delivered)),
		Completed: append([]string{}, v.Completed...), Events: make([]runEventJSON, 0, len(v.Events)), Trouble: make([]troubleJSON, 0, len(v.Trouble)),
		Today: todayJSON{totalsJSON{report.TokensOf(v.raw.Today.Usage), inSeconds(v.raw.Today.Time + v.uncounted(now))}, v.raw.Today.Date, v.raw.Today.Sessions},
		Slots: v.raw.Slots, NextPollAt: stamp(v.raw.NextPoll), DeadlineAt: stamp(v.raw.Deadline), StartedAt: stamp(v.raw.Started),
		Workflow: v.Workflow, Tracker: v.Tracker,
	}
	for _, i := range v.Running {
		doc.Running = append(doc.Running, runningJSON{i.names(), i.sessionJSON(), i.claimJSON()})
	}
	for _, i := range v.Waiting {
		doc.Retrying = append(doc.Retrying, retryingJSON{i.names(), i.retryJSON(), i.claimJSON()})
	}
	for _, i := range v.Queue {
		doc.Queue.Next = append(doc.Queue.Next, queuedJSON{i.names(), i.Title(), i.State()})
	}
	for _, e := range v.Elsewhere() {
		doc.Elsewhere = append(doc.Elsewhere, elsewhereJSON{report.IssueNames{ID: tracker.ID(e.ID), Identifier: e.Name, URL: e.URL}, e.State, stamp(e.Since), e.Place})
	}
	for _, i := range v.Parked {
		doc.Parked = append(doc.Parked, parkedJSON{i.names(), i.parkJSON(v.GoOn()), i.claimJSON()})
	}
	for _, i := range v.Delivered {
		doc.Deliveries = append(doc.Deliveries, deliveryJSON{i.names(), i.Delivery().json()})
	}
	for _, e := range v.Events {
		doc.Events = append(doc.Events, runEventJSON{e.json(), e.ID, e.Name})
	}
	for _, t := range v.Trouble {
		doc.Trouble = append(doc.Trouble, troubleJSON(t))
	}
	if v.Pause != "" {
		doc.Pause = &pauseJSON{stamp(v.raw.Pause.Since), stamp(v.raw.Pause.Until), v.Pause}
	}
	return doc
}

// detailJSON returns the document of one issue. base is the address of the server.
func (v *view) detailJSON(i *issue, base string) detailJSON {
	doc := detailJSON{
		Identifier: i.Name, ID: i.ID, Status: "delivered", Workspace: workspaceJSON{v.workspaceOf(i)},
		Attempts: attemptsJSON{Restarts: max(i.claim.Sessions-1, 0), Current: i.claim.Attempt},
		Logs:     logsJSON{Sessions: []logJSON{}}, Events: []eventJSON{},
		claimJSON: i.claimJSON(), URL: i.URL(), State: i.State(), AsOf: i.AsOf(),
	}
	switch {
	case i.session != nil:
		session := i.sessionJSON()
		doc.Status, doc.Running = "running", &session
		if i.claim.Phase == schedule.Stopping {
			doc.LastError = i.why()
		}
	case i.claim.Phase == schedule.Waiting:
		retry := i.retryJSON()
		doc.Status, doc.Retry, doc.LastError = "retrying", &retry, i.why()
	case i.claim.Phase == schedule.Parked:
		park := i.parkJSON(v.GoOn())
		doc.Status, doc.Parked, doc.LastError = "parked", &park, i.why()
	}
	if d := i.Delivery(); d != nil {
		delivered := d.json()
		doc.Delivery = &delivered
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
	for _, e := range i.Events() {
		doc.Events = append(doc.Events, e.json())
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

// issuePath returns the path of the page of an issue.
func issuePath(name string) string { return "/issues/" + url.PathEscape(name) }

func (i *issue) names() report.IssueNames {
	return report.IssueNames{ID: tracker.ID(i.ID), Identifier: i.Name, URL: i.URL()}
}

func (i *issue) claimJSON() claimJSON {
	return claimJSON{i.Title(), string(i.claim.Phase), i.claim.Tokens, i.claim.Sessions}
}

func (i *issue) sessionJSON() sessionJSON {
	return sessionJSON{
		State: i.State(), SessionID: i.Session(), Turns: i.claim.Turns, LastEvent: i.Event(), LastMessage: i.Summary(),
		StartedAt: stamp(i.session.Started), LastEventAt: stamp(i.heard()), Tokens: report.TokensOf(i.claim.Live),
		Attempt: i.claim.Attempt, Status: string(i.session.Status), PID: i.session.PID, Doing: i.Doing(),
	}
}

func (i *issue) retryJSON() retryJSON {
	return retryJSON{Attempt: i.claim.Attempt, DueAt: stamp(i.claim.Due), Error: cmp.Or(i.Held(), i.why()), State: i.State(), LastError: i.why()}
}

func (i *issue) parkJSON(goOn string) parkJSON {
	return parkJSON{State: i.State(), Attempt: i.claim.Attempt, Error: i.why(), ParkedAt: stamp(i.claim.Since), Question: i.Question(), GoOn: goOn}
}

func (d *delivery) json() deliveredJSON {
	return deliveredJSON{d.Branch, d.Base, d.Head, d.Number, d.URL, d.Patch, stamp(d.At), d.Pushing, d.Refused}
}

func (e event) json() eventJSON { return eventJSON{stamp(e.At), e.Kind, e.Text} }

// inSeconds returns d in seconds, to the millisecond.
func inSeconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond).Milliseconds()) / 1000
}

// stamp returns t in UTC, nil if it is zero.
func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
