package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// MarshalJSON returns the report for scripts. README.md describes every field; the
// names are a contract and do not change.
func (r Report) MarshalJSON() ([]byte, error) {
	t := r.tick
	doc := reportJSON{
		Outcome: t.outcome(), Work: t.Work(), StartedAt: stamp(t.Started), StartedBy: t.StartedBy, EndedAt: stamp(t.Ended), Seconds: t.Ended.Sub(t.Started).Seconds(),
		Workflow: t.Workflow, Tracker: t.Tracker, DryRun: t.DryRun, Counts: t.Counts(), Assigned: t.Assigned,
		Issues: make([]rowJSON, 0, len(t.Rows)), Earlier: t.Earlier.Issues, Verdicts: make([]verdictJSON, 0, len(t.Verdicts)), Pause: pauseOf(t.Pause),
		Spent: spentJSON{Sessions: t.Spent.Sessions, Tokens: TokensOf(t.Spent.Usage), Seconds: t.Spent.Time.Seconds()},
		Today: dayOf(t.Today), Budgets: budgetsJSON(t.Budget), Reserved: reservedJSON(t.Reserved), NextDueAt: stamp(t.NextDue),
		Delivers: t.Delivers, Deliveries: deliveriesOf(latestFirst(t.Deliveries), t.checksOf),
		Notices: append([]string{}, t.Notices...), Warnings: append([]string{}, t.Warnings...), Errors: append([]string{}, t.Errors...),
	}
	for _, row := range t.Rows {
		doc.Issues = append(doc.Issues, t.rowOf(row))
	}
	for _, v := range t.Verdicts {
		doc.Verdicts = append(doc.Verdicts, verdictOf(v))
	}
	return encode(doc)
}

// PullRequests returns the pull requests that the tick opened, updated or found as they
// should be, as a list in JSON. The names are a contract too.
func (t Tick) PullRequests() string {
	list := []pullRequestJSON{}
	for _, row := range t.Rows {
		if d := row.Delivery; row.PullRequest != "" && d.Number > 0 {
			list = append(list, pullRequestJSON{row.Identifier, d.Number, d.URL, d.Branch, d.Head, row.PullRequest})
		}
	}
	text, _ := encode(list) // numbers and strings can always be encoded
	return string(text)
}

type pullRequestJSON struct {
	Issue  string `json:"issue"`
	Number int    `json:"number"`
	URL    string `json:"url"`
	Branch string `json:"branch"`
	Head   string `json:"head"`
	State  string `json:"state"`
}

type reportJSON struct {
	Outcome    string         `json:"outcome"`
	Work       bool           `json:"work"`
	StartedAt  *string        `json:"started_at"`
	EndedAt    *string        `json:"ended_at"`
	StartedBy  string         `json:"started_by"`
	Seconds    float64        `json:"seconds"`
	Workflow   string         `json:"workflow"`
	Tracker    string         `json:"tracker"`
	DryRun     bool           `json:"dry_run"`
	Counts     Counts         `json:"counts"`
	Assigned   Assigned       `json:"assigned"`
	Issues     []rowJSON      `json:"issues"`
	Earlier    int            `json:"earlier_issues,omitempty"`
	Verdicts   []verdictJSON  `json:"verdicts"`
	Pause      *pauseJSON     `json:"pause"`
	Spent      spentJSON      `json:"spent"`
	Today      dayJSON        `json:"today"`
	Budgets    budgetsJSON    `json:"budgets"`
	Reserved   reservedJSON   `json:"reserved"`
	NextDueAt  *string        `json:"next_due_at"`
	Delivers   bool           `json:"delivers"`
	Deliveries []deliveryJSON `json:"deliveries"`
	Notices    []string       `json:"notices"`
	Warnings   []string       `json:"warnings"`
	Errors     []string       `json:"errors"`
}

// IssueNames names an issue, in the words of SPEC §13.7, in every document.
type IssueNames struct {
	ID         tracker.ID `json:"issue_id"`
	Identifier string     `json:"issue_identifier"`
	URL        string     `json:"issue_url"`
}

// Tokens holds token counts in the words of SPEC §13.7.
type Tokens struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
}

// TokensOf returns the counts of a usage with their sum.
func TokensOf(u schedule.Usage) Tokens { return Tokens{u.Input, u.Output, u.Total()} }

// issueJSON begins the members of everything that is about one issue.
type issueJSON struct {
	IssueNames
	Title string `json:"title"`
	State string `json:"state"`
}

type rowJSON struct {
	issueJSON
	Outcome  string        `json:"outcome"`
	Attempt  int           `json:"attempt"`
	Sessions int           `json:"sessions"`
	Class    string        `json:"class"`
	Status   string        `json:"attempt_status"`
	Why      string        `json:"error"`
	Warnings []string      `json:"warnings"`
	Turns    *int          `json:"turns"`   // null if it is not known
	Tokens   *Tokens       `json:"tokens"`  // the same
	Seconds  *float64      `json:"seconds"` // the same
	Next     nextJSON      `json:"next"`
	Delivery *rowPlaceJSON `json:"delivery"`
	Refused  string        `json:"refused"`
	Kept     *keptJSON     `json:"kept"`
	Log      *logJSON      `json:"log"`
	Shard    int           `json:"shard"`
	JobURL   string        `json:"job_url"`
}

type logJSON struct {
	File     string `json:"file"`
	Artifact string `json:"artifact"`
}

// placeJSON holds where work was published.
type placeJSON struct {
	Branch string  `json:"branch"`
	Base   string  `json:"base"`
	Head   string  `json:"head"`
	Number int     `json:"number"`
	URL    string  `json:"url"`
	At     *string `json:"at"`
	Checks string  `json:"checks"`
}

type rowPlaceJSON struct {
	placeJSON
	PullRequest string `json:"pull_request"`
}

type deliveryJSON struct {
	IssueNames
	placeJSON
	Refused string `json:"refused"`
	Title   string `json:"title"`
}

type keptJSON struct {
	Folder   string   `json:"folder"`
	Artifact string   `json:"artifact"`
	Commands []string `json:"commands"`
}

type nextJSON struct {
	Phase string  `json:"phase"`
	Why   string  `json:"why"`
	DueAt *string `json:"due_at"`
}

type verdictJSON struct {
	issueJSON
	Phase  string `json:"phase"`
	Action string `json:"action"`
	Reason string `json:"reason"`
	Why    string `json:"why"`
}

type pauseJSON struct {
	Why   string  `json:"error"`
	Since *string `json:"since"`
	Until *string `json:"until"`
}

type spentJSON struct {
	Sessions int     `json:"sessions"`
	Tokens   Tokens  `json:"tokens"`
	Seconds  float64 `json:"seconds"`
}

type dayJSON struct {
	Date     string  `json:"date"`
	Sessions int     `json:"sessions"`
	Tokens   Tokens  `json:"tokens"`
	Seconds  float64 `json:"seconds"`
}

type budgetsJSON struct {
	Attempts       int   `json:"max_attempts_per_issue"`
	IdleSessions   int   `json:"max_idle_sessions"`
	TokensPerIssue int64 `json:"max_tokens_per_issue"`
	TokensPerTick  int64 `json:"max_tokens_per_tick"`
	TokensPerDay   int64 `json:"max_tokens_per_day"`
}

type reservedJSON struct {
	Shards int   `json:"shards"`
	Tokens int64 `json:"total_tokens"`
}

func (t Tick) rowOf(row Row) rowJSON {
	phase := string(row.Next.Phase)
	if phase == "" {
		phase = "released"
	}
	r := rowJSON{
		issueJSON: issueJSON{IssueNames{row.ID, row.Identifier, row.URL}, row.Title, row.State},
		Outcome:   strings.ReplaceAll(t.issueOutcome(row), " ", "_"),
		Attempt:   row.Attempt, Sessions: row.Sessions, Class: string(row.Class), Status: string(row.Status), Why: row.Why,
		Warnings: append([]string{}, row.Warnings...),
		Next:     nextJSON{Phase: phase, Why: row.Next.Why.String(), DueAt: stamp(row.Next.Due)},
		Refused:  row.Refused, Shard: row.Shard, JobURL: row.JobURL,
	}
	if row.knowsTurns() {
		r.Turns = &row.Turns
	}
	if row.knowsTokens() {
		tokens := TokensOf(row.Usage)
		r.Tokens = &tokens
	}
	if !row.Lost {
		seconds := row.Took.Seconds()
		r.Seconds = &seconds
	}
	if place := t.place(row); isPublished(place) {
		r.Delivery = &rowPlaceJSON{placeOf(place, t.checksOf(row.ID)), row.PullRequest}
	}
	if k := row.Kept; k.Folder != "" {
		r.Kept = &keptJSON{k.Folder, k.Artifact, append([]string{}, k.Commands...)}
	}
	if row.Log.File != "" {
		r.Log = &logJSON{row.Log.File, row.Log.Artifact}
	}
	return r
}

func placeOf(d schedule.Delivery, checks schedule.Checks) placeJSON {
	return placeJSON{d.Branch, d.Base, d.Head, d.Number, d.URL, stamp(d.At), string(checks)}
}

func deliveriesOf(all []published, checksOf func(tracker.ID) schedule.Checks) []deliveryJSON {
	list := make([]deliveryJSON, 0, len(all))
	for _, p := range all {
		list = append(list, deliveryJSON{IssueNames{p.id, p.Identifier, p.IssueURL}, placeOf(p.Delivery, checksOf(p.id)), p.Refused, p.Title})
	}
	return list
}

func verdictOf(v schedule.Verdict) verdictJSON {
	return verdictJSON{
		issueJSON: issueJSON{IssueNames{v.Issue.ID, v.Issue.Identifier, v.Issue.URL}, v.Issue.Title, v.Issue.State},
		Phase:     string(v.Phase), Action: string(v.Action), Reason: string(v.Why.Reason), Why: v.Why.String(),
	}
}

// MarshalJSON returns the state for scripts, by the rules of [Report.MarshalJSON].
func (v StateView) MarshalJSON() ([]byte, error) {
	doc := stateJSON{
		Claims: make([]claimJSON, 0, len(v.claims)), Pause: pauseOf(v.state.Pause),
		Days: make([]dayJSON, 0, len(v.state.Days)), Reserved: reservedJSON(v.state.Reserved()), RateLimits: v.state.RateLimits,
		Ticks: make([]pastTickJSON, 0, len(v.state.History)), Deliveries: deliveriesOf(v.published, v.checksOf),
	}
	for _, c := range v.claims {
		doc.Claims = append(doc.Claims, claimJSON{
			issueJSON: issueJSON{IssueNames{c.ID, c.Identifier, c.URL}, c.Title, c.State},
			Phase:     string(c.Phase), Since: stamp(c.Since), Why: c.Why, Attempt: c.Attempt, DueAt: stamp(c.Due),
			Thread: c.Thread, Sessions: c.Sessions, Failures: c.Failures, Idle: c.Idle, Tokens: c.Tokens,
			LeaseUntil: stamp(c.Lease), Owner: c.Owner,
		})
	}
	for _, day := range v.state.Days {
		doc.Days = append(doc.Days, dayOf(day))
	}
	for _, tick := range v.state.History {
		doc.Ticks = append(doc.Ticks, pastTickOf(tick))
	}
	return encode(doc)
}

type stateJSON struct {
	Claims     []claimJSON     `json:"claims"`
	Deliveries []deliveryJSON  `json:"deliveries"`
	Pause      *pauseJSON      `json:"pause"`
	Days       []dayJSON       `json:"days"`
	Reserved   reservedJSON    `json:"reserved"`
	Ticks      []pastTickJSON  `json:"ticks"`
	RateLimits json.RawMessage `json:"rate_limits"`
}

type claimJSON struct {
	issueJSON
	Phase      string         `json:"phase"`
	Since      *string        `json:"since"`
	Why        string         `json:"error"`
	Attempt    int            `json:"attempt"`
	DueAt      *string        `json:"due_at"`
	Thread     string         `json:"thread"`
	Sessions   int            `json:"sessions"`
	Failures   int            `json:"failures"`
	Idle       int            `json:"idle_sessions"`
	Tokens     int64          `json:"total_tokens"`
	LeaseUntil *string        `json:"lease_until"`
	Owner      schedule.Owner `json:"owner"`
}

// pastTickJSON repeats names of reportJSON. Each document is written out, because its
// names are a contract of its own.
type pastTickJSON struct {
	Run       string  `json:"run"`
	Attempt   int     `json:"attempt"`
	StartedAt *string `json:"started_at"`
	EndedAt   *string `json:"ended_at"`
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
		Run: t.Run, Attempt: t.Attempt, StartedAt: stamp(t.Started), EndedAt: stamp(t.Ended), Seconds: t.Ended.Sub(t.Started).Seconds(),
		Stopped: t.Stopped, Sessions: t.Sessions, Completed: t.Done, Failed: t.Failed, Parked: t.Parked, Tokens: t.Tokens,
	}
}

func dayOf(d schedule.Day) dayJSON {
	return dayJSON{d.Date, d.Sessions, TokensOf(d.Usage), d.Time.Seconds()}
}

func pauseOf(p schedule.Pause) *pauseJSON {
	if p.Why == "" {
		return nil
	}
	return &pauseJSON{p.Why, stamp(p.Since), stamp(p.Until)}
}

// stamp returns a time in UTC as RFC 3339, or nil for the zero time.
func stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(time.RFC3339)
	return &text
}

// encode returns a document as JSON in which no text reads as a command to the log
// of a workflow run; see [escapeCommand]. A number sign occurs in strings only.
func encode(doc any) ([]byte, error) {
	text, err := json.Marshal(doc)
	return bytes.ReplaceAll(text, []byte("##["), []byte(`#\u0023[`)), err
}
