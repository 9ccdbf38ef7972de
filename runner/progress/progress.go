// Package progress describes the work of a run at one moment (SPEC §13.3): the runner
// fills a [Progress], and the displays draw it, on a terminal and on the status page.
//
// Its text is as the tracker and the agent wrote it. A display makes it fit for its
// medium, and hides secrets in it.
package progress

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/tracker"
)

// Progress describes the work of a run at one moment. It is a copy that does not change, except
// for a session's Live. Lists of issues are in the natural order of their identifiers.
type Progress struct {
	At       time.Time // the moment
	Started  time.Time // start of the run
	Workflow string    // path of WORKFLOW.md
	Tracker  string    // kind of the tracker
	Slots    int       // sessions at a time at most
	Root     string    // path of the folder of the workspaces
	Logs     string    // path of the folder of the event logs; empty for none
	Program  string    // the words of a shell that start this program; empty for symphony
	State    string    // place of the state, as --state takes it; empty for the default
	NextPoll time.Time // zero until the first poll
	Deadline time.Time // end of all sessions; zero for never

	Trouble []Trouble      // errors and budgets that keep work from starting
	Pause   schedule.Pause // pause of all work; zero for none

	Sessions   []Session
	Elsewhere  []schedule.Claim            // claims of another process: a run, or a shard of a fleet
	Waiting    []schedule.Claim            // claims waiting for Due or for room
	NoRoom     schedule.Why                // reason why nothing more can start now; zero if something can
	Held       map[tracker.ID]schedule.Why // reasons why claims that are due do not start yet
	Queue      Queue
	Parked     []schedule.Claim
	Asked      map[tracker.ID]string // questions of the agent that nobody has answered
	Comments   schedule.Comments     // place where people write comments to the run
	Deliveries map[tracker.ID]schedule.Delivery
	Checks     map[tracker.ID]schedule.Checks // checks of the heads of pull requests, as read last

	Spent  schedule.Spent  // spending of this run
	Today  schedule.Day    // spending of all runs
	Prices schedule.Prices // budget.prices; nil for none
	Limits []byte          // the agent's rate limits, JSON as it sent them; nil for none
	// Completed lists the issues of which a session ended normally in this run,
	// the latest last; see [schedule.State].
	Completed []tracker.ID

	Events Events // the latest of the run, the oldest first
}

// Operator names who gives commands and answers at a display.
const Operator = "the operator of this machine"

// Request is a command that a person gives at a display while the run lasts.
type Request struct {
	ID    tracker.ID
	Order schedule.Order
	// Done gets the error for a command that cannot be obeyed, nil for one that was noted. It
	// must be buffered.
	Done chan<- error
}

// ErrNoClaim is the error for a request on an issue that has neither a claim nor a delivery.
var ErrNoClaim = errors.New("nothing is to be done for the issue any more: load the page again")

// waits has the words for the thing that keeps more from starting, by its reason. Reasons that are
// not in it end with the run.
var waits = map[schedule.Reason]struct{ turn, queue string }{
	"":                   {"for its turn", "for a slot"}, // no reason for all issues: the slots of their states are taken
	schedule.NoSlots:     {"for a slot", "for a slot"},
	schedule.NoHostSlots: {"for a slot", "for a slot"},
	schedule.HostsDown:   {"for a host", "for a worker host that works"},
	schedule.BatchSpent:  {"next tick", "for the next tick"},
	schedule.TickBudget:  {"next tick", "for the next tick"},
	schedule.DayBudget:   {"tomorrow", "for the budget of tomorrow"},
	schedule.Unpriced:    {"for a price", "for a price of a model"},
	schedule.Paused:      {"after pause", "for the end of the pause"},
	schedule.OnHold:      {"when fixed", "until the trouble is fixed"},
}

// Turn returns the time when a claim that is due gets its turn, in words. Every display says it like
// this.
func (p *Progress) Turn() string { return cmp.Or(waits[p.NoRoom.Reason].turn, "next run") }

// MaxNext bounds how many issues of the queue are named.
const MaxNext = 50

// Queue represents the candidates without a claim that lack nothing but room. The zero value is
// an empty one.
type Queue struct {
	Length int
	Next   []schedule.Claim // the first ones, at most MaxNext, as claims without a phase
	Listed time.Time        // time of the last list of candidates
	Limit  schedule.Why     // limit of open pull requests for which some wait; zero for none
}

// QueueWords returns the number of issues in the queue and the reason why they wait, in words;
// empty for an empty queue. Every display says it like this.
func (p *Progress) QueueWords() string {
	verb := " wait"
	switch p.Queue.Length {
	case 0:
		return ""
	case 1:
		verb = " waits"
	}
	words := text.Count(p.Queue.Length, "issue") + verb
	if p.NoRoom.None() && !p.Queue.Limit.None() {
		return words + ": " + p.Queue.Limit.Detail
	}
	return words + " " + cmp.Or(waits[p.NoRoom.Reason].queue, "for the next run")
}

// Trouble is an error that lasts, and that a person must fix, or a budget that is spent.
type Trouble struct {
	Source Source
	Text   string
}

// Source is the origin of an error.
type Source string

// The sources of errors that last.
const (
	Tracker    Source = "tracker"    // lasts until a poll succeeds
	Workflow   Source = "workflow"   // lasts until WORKFLOW.md can be used
	Repository Source = "repository" // lasts until the repository could be fetched
	Workspaces Source = "workspaces" // lasts until their folder could be made
	Shards     Source = "shards"     // each shard of a fleet has its own
	Agent      Source = "agent"      // lasts until the pause that it began is over
	State      Source = "state"      // lasts until a service could save it
	Hosts      Source = "hosts"      // worker hosts that are left alone after a failure
	Budget     Source = "budget"     // lasts until the budget of all issues is raised, or until the next tick or day
)

// Session describes a session in progress.
type Session struct {
	Claim   schedule.Claim
	ID      string // the thread and the turn
	PID     int    // process id of the agent; 0 before it was started
	Status  schedule.AttemptStatus
	Started time.Time
	Model   string           // the model and how it works; empty for Codex's own settings
	Choice  string           // the same with its reason, in words
	Event   string           // last event of the session
	Summary string           // last event in words
	Doing   string           // latest message, command, tool or file in words; empty before the first
	Log     string           // path of its event log; empty for none
	Live    *transcript.Live // the lines of that log; nil for none
	Events  Events           // latest events, the oldest first
}

// PhaseWords returns the phase of the attempt (SPEC §7.2) in words: a StreamingTurn is
// "streaming turn 2" in the second turn. Every display says it like this.
func (s Session) PhaseWords() string {
	switch {
	case s.Claim.Phase == schedule.Stopping:
		return string(s.Claim.Phase)
	case s.Status == "":
		return "starting"
	case s.Status == schedule.StatusStreamingTurn:
		return s.Status.Words() + " " + strconv.Itoa(max(1, s.Claim.Turns))
	}
	return s.Status.Words()
}

// Place returns the place where another process works on a claim, in words: "shard 3 of run
// 123", "run 123" or "pid 7 on laptop".
func Place(o schedule.Owner) string {
	if o.Run == "" && o.Shard == 0 {
		return "pid " + strconv.Itoa(o.PID) + " on " + o.Host
	}
	return o.Name()
}

// Uncounted returns the time of the session that Progress.Today does not contain
// yet. The time of a session that is being stopped is counted up to the stop.
func (s Session) Uncounted(now time.Time) time.Duration {
	if s.Claim.Since.IsZero() {
		return 0 // another run has taken the claim
	}
	return now.Sub(s.Claim.Since)
}

// Event is something that happened.
type Event struct {
	At         time.Time
	ID         tracker.ID // issue; empty for none
	Identifier string
	Kind       string // an event of SPEC §10.4, a decision of the plan, or the outcome of a session
	Text       string // one line; may be empty
}

// Events holds the latest events, the oldest first.
type Events []Event

// Add returns the events with e, without the oldest where there would be more than limit.
// A copy that was taken before does not change.
func (es Events) Add(e Event, limit int) Events {
	if drop := len(es) + 1 - limit; drop > 0 {
		es = es[drop:]
	}
	return append(es[:len(es):len(es)], e)
}
