package report

import (
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// Tick describes what happened in one tick, or would happen in a dry run.
type Tick struct {
	Started  time.Time
	Ended    time.Time
	Workflow string // path of WORKFLOW.md
	Tracker  string // its kind
	DryRun   bool
	Service  bool              // a run of many ticks, one after the other: the report is about all of them
	Comments schedule.Comments // where people write what the program reads
	// Scheduled says that a schedule or an event starts each tick, as in Actions: what is due
	// waits for the next run.
	Scheduled bool
	State     string // where the state is, as --state takes it; empty for the default of every command
	Program   string // the words of a shell that start this program; empty for symphony

	Ordered   bool   // a command of a person was taken that may be for another run
	Noted     bool   // the state has to be saved, so that no later run reports the same again
	StartedBy string // the event that started the run, and of whom, as the runner reports it; empty outside Actions

	// Collects says that the tick took over what the shards of a fleet left, and could start
	// nothing. Recollected is the number of results that had been taken over before, and Late
	// that of results of which only the spending counts.
	Collects          bool
	Recollected, Late int

	Assigned Assigned           // what the plan of a fleet gave to its shards; zero for nothing
	Rows     []Row              // issues that were worked on, in the order of their first session
	Earlier  Earlier            // issues of a service whose rows are no longer in Rows
	Verdicts []schedule.Verdict // what is planned (dry run), or was left alone, and why
	Listed   bool               // the tracker's candidates were read at least once
	Unread   string             // why the tracker could not be read when it was last asked; empty when it could
	Pause    schedule.Pause     // a systemic failure, if there is one
	Spent    schedule.Spent     // spending of this tick; of all ticks for a service
	Today    schedule.Day       // over all runs; without a date when the state was not read
	Budget   schedule.Budget
	Reserved schedule.Reserved   // reserves of the budgets for shards without a result
	NextDue  time.Time           // when the next waiting issue may continue; zero when none waits
	Hosts    []schedule.DownHost // worker hosts that are left alone at the end
	Acted    int                 // decisions that were performed, without observations, and claims taken over; the latter alone in a dry run
	Parked   []tracker.ID        // issues that were parked in this tick, in that order; see Earlier
	Stopped  string              // why the tick ended early, a [schedule.Reason]; empty when it did not
	Notices  []string            // what people should know that is not a failure
	Warnings []string            // failures that did not stop the tick
	Errors   []string            // what a person must fix

	// Claims holds the claims that are left at the end: due times, tokens and
	// sessions, which a verdict does not hold.
	Claims map[tracker.ID]schedule.Claim

	// Delivers says that the workflow publishes the agents' work. Then an issue is
	// completed when its work is published.
	Delivers   bool
	Deliveries map[tracker.ID]schedule.Delivery // those of all runs that are left at the end
	Checks     map[tracker.ID]schedule.Checks   // checks of the heads of pull requests, as read last

	// Asked holds what agents ask people and nobody has answered, in several lines: a question
	// and its choices, which are a list in Markdown.
	Asked map[tracker.ID]string

	// Ignored holds what was said about issues and does not count, and why: one sentence each,
	// as last read. Warnings has each as well.
	Ignored map[tracker.ID][]string
}

// Assigned says how many issues a plan gave to how many shards of a fleet.
type Assigned struct {
	Issues int `json:"issues"`
	Shards int `json:"shards"`
}

// Earlier holds the totals of the issues that [Tick.Trim] has left out of a tick. An issue
// that is worked on again after that counts again.
type Earlier struct {
	Issues   int
	Sessions int
	Outcomes map[string]int // numbers of issues by outcome, as a table shows them
	Warned   int            // issues with warnings
	Parked   int            // entries of Tick.Parked
}

// Row is one issue that was worked on in the tick, over all its sessions. Its tags are the form
// in which a shard leaves it, and its bounds there: see package fleet. The report in JSON has the
// names of the status page.
type Row struct {
	ID         tracker.ID             `json:"id" bound:"keep whole=256"`
	Identifier string                 `json:"identifier,omitempty" bound:"shown=256"`
	Title      string                 `json:"title,omitempty" bound:"shown=1000"`
	URL        string                 `json:"url,omitempty" bound:"plain=2000"`
	State      string                 `json:"state,omitempty" bound:"shown=256"` // state of the issue as last seen
	Attempt    int                    `json:"attempt,omitempty"`                 // attempt of the last session; 0 is the first run
	Sessions   int                    `json:"sessions,omitempty"`                // ended in this tick
	Class      schedule.Class         `json:"class,omitempty" bound:"word"`      // how the last one ended
	Status     schedule.AttemptStatus `json:"status,omitempty" bound:"word"`
	Why        string                 `json:"why,omitempty" bound:"shown=4000"`              // why it ended so, when it did not end well
	Warnings   []string               `json:"warnings,omitempty" bound:"list=20 shown=2000"` // failures that do not change how its sessions ended, such as one of after_run
	Host       string                 `json:"-"`                                             // worker host of the last session; empty for this machine
	Turns      int                    `json:"turns,omitempty"`
	Usage      schedule.Usage         `json:"usage,omitzero"`
	Choice     Choice                 `json:"choice,omitzero"` // of the last session
	Took       time.Duration          `json:"took_ns,omitempty" bound:"max=9676800000000000"`
	Next       schedule.Next          `json:"next,omitzero"` // what becomes of the issue
	Ended      time.Time              `json:"-"`             // when the last session ended

	Delivered   bool              `json:"delivered,omitempty"`                      // whether its work is published, by the last session or before
	Refused     string            `json:"refused,omitempty" bound:"lines=16384"`    // why the work of the last session was not published, a list in Markdown; empty unless it was refused
	Delivery    schedule.Delivery `json:"-"`                                        // where this tick published its work; zero for nowhere
	PullRequest string            `json:"pull_request,omitempty" bound:"shown=256"` // what this tick did: "opened", "updated" (its text, or by a push) or "unchanged"; empty without one
	Kept        Kept              `json:"kept,omitzero"`                            // work that was not published
	Log         Log               `json:"log,omitzero"`                             // log of the last session
	Shard       int               `json:"-"`                                        // shard of the fleet that worked on it; 0 without one
	Run         string            `json:"-"`                                        // id of the workflow run of the shard; empty outside of one
	Job         string            `json:"-"`                                        // id of the shard's job at the provider; empty if it is not known
	JobURL      string            `json:"-"`                                        // page of that job; empty for none

	// Lost says that the process of the last session ended before the session did. Turns and
	// Usage are what it had saved, or zero if they are not known, and Took is not known.
	Lost bool `json:"-"`
}

// Kept holds where work that was not published is kept for a person, and how to use it
// there. The zero value is for work that is not kept.
type Kept struct {
	Folder   string   `json:"folder,omitempty" bound:"plain=2000"`
	Artifact string   `json:"artifact" bound:"plain=256"`                  // artifact of the workflow run that holds the folder; empty when it is on this machine
	Commands []string `json:"commands,omitzero" bound:"list=8 whole=4000"` // shell commands for a clone of the repository that has the files
	Secret   bool     `json:"secret,omitempty"`                            // it is not kept, because the files would hold a secret
}

// Log says where the event log of a session is. The zero value is for a session without one.
type Log struct {
	File     string `json:"file,omitempty" bound:"plain=2000"`
	Artifact string `json:"artifact" bound:"plain=256"` // artifact of the workflow run that holds the file; empty when it is on this machine
	Command  string `json:"-"`                          // shell command that shows it; empty for none
}

// whatHappened lists what a tick can do to a pull request. If it did several of these,
// the last one in the list is reported.
var whatHappened = []string{"", "unchanged", "updated", "opened"}

func (r Row) knowsTurns() bool { return !r.Lost || r.Turns > 0 }

func (r Row) knowsTokens() bool { return !r.Lost || r.Usage.Total() > 0 }

// Publish records where the work on the issue was published, and what that did to its
// pull request. One that was opened in this tick stays so.
func (r *Row) Publish(d schedule.Delivery, pullRequest string) {
	r.Delivery, r.Kept = d, Kept{}
	if slices.Index(whatHappened, pullRequest) > slices.Index(whatHappened, r.PullRequest) {
		r.PullRequest = pullRequest
	}
}

func (t Tick) ways() ways { return ways{t.Comments, t.Program, t.State} }

// Work reports whether there was something to do besides looking: whether the tick
// started, stopped, released, parked or took over an issue, or a dry run would.
func (t Tick) Work() bool { return t.Acted > 0 || t.Ordered || t.Noted || t.DryRun && t.planned() > 0 }

// Counts holds the totals that scripts ask for.
type Counts struct {
	Dispatched int `json:"dispatched"` // sessions started
	Completed  int `json:"completed"`  // issues whose work was published, or if nothing is published, that left the active states
	Failed     int `json:"failed"`     // issues whose last session failed, or whose work was refused
	Parked     int `json:"parked"`     // issues left to a person, worked on or not
	Retrying   int `json:"retrying"`   // issues that wait for another session
}

// Counts returns the totals of the tick.
func (t Tick) Counts() Counts {
	n := t.outcomes()
	c := Counts{Dispatched: t.Spent.Sessions, Completed: n[completed] + n[handedOver], Failed: n[failed] + n[refused]}
	for _, v := range t.Verdicts {
		switch v.Phase {
		case schedule.Parked:
			c.Parked++
		case schedule.Waiting:
			c.Retrying++
		}
	}
	return c
}

// place returns the place of the work on the issue of a row, published by this tick or by
// one before.
func (t Tick) place(r Row) schedule.Delivery {
	if isPublished(r.Delivery) {
		return r.Delivery
	}
	return t.Deliveries[r.ID]
}

// shards returns the number of shards of a fleet that have worked on the issues of the rows.
func (t Tick) shards() int {
	numbers := map[int]bool{}
	for _, row := range t.Rows {
		if row.Shard > 0 {
			numbers[row.Shard] = true
		}
	}
	return len(numbers)
}

// Row returns the row of an issue, and adds it if there is none.
func (t *Tick) Row(id tracker.ID) *Row {
	for i := range t.Rows {
		if t.Rows[i].ID == id {
			return &t.Rows[i]
		}
	}
	t.Rows = append(t.Rows, Row{ID: id})
	return &t.Rows[len(t.Rows)-1]
}

// Trim bounds the rows of a run that has no end. It keeps those of the issues that are still
// claimed, and of the others the most rows whose sessions ended last. What it leaves out of
// Rows and Parked is counted in Earlier.
func (t *Tick) Trim(most int, claimed func(tracker.ID) bool) {
	var over []Row
	for _, row := range t.Rows {
		if !claimed(row.ID) {
			over = append(over, row)
		}
	}
	if len(over) <= most {
		return
	}
	slices.SortStableFunc(over, func(a, b Row) int { return a.Ended.Compare(b.Ended) })
	drop := make(map[tracker.ID]bool, len(over)-most)
	for _, row := range over[:len(over)-most] {
		drop[row.ID] = true
		row.Next.Phase = "" // its claim was released, perhaps after its session
		if t.Earlier.Outcomes == nil {
			t.Earlier.Outcomes = map[string]int{}
		}
		t.Earlier.Outcomes[t.issueOutcome(row)]++
		t.Earlier.Issues++
		t.Earlier.Sessions += row.Sessions
		t.Earlier.Warned += min(len(row.Warnings), 1)
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(row Row) bool { return drop[row.ID] })
	before := len(t.Parked)
	t.Parked = slices.DeleteFunc(t.Parked, func(id tracker.ID) bool { return !claimed(id) })
	t.Earlier.Parked += before - len(t.Parked)
}

// Worked returns the number of issues that were worked on.
func (t Tick) Worked() int { return t.Earlier.Issues + len(t.Rows) }

// Sessions returns the number of sessions on them that have ended.
func (t Tick) Sessions() int {
	n := t.Earlier.Sessions
	for _, row := range t.Rows {
		n += row.Sessions
	}
	return n
}

// ParkedCount returns the number of times that an issue was parked.
func (t Tick) ParkedCount() int { return t.Earlier.Parked + len(t.Parked) }
