package schedule

import (
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Phase is the phase of a claim; see the diagram in the package documentation.
type Phase string

// The phases of a claim.
const (
	Running  Phase = "running"
	Stopping Phase = "stopping"
	Waiting  Phase = "waiting"
	Parked   Phase = "parked"
)

// HasSession reports whether a session works on the issue of a claim in this phase.
func (p Phase) HasSession() bool { return p == Running || p == Stopping }

// Claim represents the reservation of one issue, with its history.
type Claim struct {
	ID         tracker.ID `json:"id" bound:"keep whole=256"`
	Identifier string     `json:"identifier,omitempty" bound:"line=256"`
	Title      string     `json:"title,omitempty" bound:"line=200"`
	URL        string     `json:"url,omitempty" bound:"whole=2000"`
	State      string     `json:"state,omitempty" bound:"line=256"`    // state of the issue when last read
	Content    string     `json:"content,omitempty" bound:"whole=256"` // tracker.Issue.Content of the issue, as last read; empty when a session may have changed it since

	Phase Phase     `json:"phase" bound:"word"`
	Since time.Time `json:"since,omitzero"`                 // start of the phase
	Why   string    `json:"why,omitempty" bound:"line=500"` // reason why it waits, is parked or is being stopped

	Owner      Owner     `json:"owner,omitzero" bound:"keep"`  // the run that works on it; zero unless running or stopping
	Lease      time.Time `json:"lease,omitzero"`               // end of the time in which an owner that cannot be asked counts as alive
	StopReason Reason    `json:"cause,omitempty" bound:"word"` // reason of a stopping claim; empty otherwise
	Heard      time.Time `json:"heard,omitzero"`               // last sign of life of the session; zero before the first
	// TurnSince is the start of the current turn; zero when no turn runs. A session can stall
	// in a turn only: hooks and the start of a session have their own timeouts.
	TurnSince time.Time `json:"turn_since,omitzero"`
	// Host is the worker host of the session; while there is none, the one of the last session. It
	// is empty for this machine.
	Host string `json:"host,omitempty" bound:"whole=256"`
	// Left holds the worker hosts of earlier sessions, on which a workspace of the issue may be left.
	Left []string `json:"left,omitempty" bound:"list=200 whole=256"`
	// LostUntil is the time until which the agent of the last session may still work on a host
	// that is cut off; zero if the last session has ended for certain.
	LostUntil time.Time `json:"lost_until,omitzero"`
	Turns     int       `json:"turns,omitempty"` // turns of the live session
	Live      Usage     `json:"live,omitzero"`   // tokens of the live session, already counted below

	Attempt  int       `json:"attempt,omitempty"`                  // SPEC §4.1.5: 0 in the first run, 1 and more in retries and continuations
	Due      time.Time `json:"due,omitzero"`                       // time from which a waiting claim may be dispatched
	Thread   string    `json:"thread,omitempty" bound:"whole=256"` // the agent's thread to resume; empty for a new one
	Sessions int       `json:"sessions,omitempty"`                 // sessions started so far
	Failures int       `json:"failures,omitempty"`                 // failures in a row
	Idle     int       `json:"idle,omitempty"`                     // sessions in a row that changed nothing
	Tokens   int64     `json:"tokens,omitempty"`                   // input and output, over all sessions
	Tariffs  Tariffs   `json:"tariffs,omitempty" bound:"list=32"`  // the same tokens by tariff
	Feedback bool      `json:"feedback,omitempty"`                 // it is claimed for feedback: see [Policy.Answering]
	Setup    Setup     `json:"setup,omitzero"`                     // setup of its last session, if that failed by a fault of WORKFLOW.md; zero otherwise
	Fault    string    `json:"fault,omitempty" bound:"line=500"`   // the kind of the fault for which its last session was charged; empty for none
	// Unsettled says that its last session ended well and its work is on the branch. Only the
	// pull request or the hand-over is missing, for which no agent is needed.
	Unsettled bool   `json:"unsettled,omitempty"`
	Course    Course `json:"course,omitzero"`
}

// Spent returns the tokens of all sessions.
func (c Claim) Spent() Usage { return Usage{Input: c.Tokens, Tariffs: c.Tariffs} }

// observe stores the fields of an issue; a zero one was not read.
func (c *Claim) observe(issue tracker.Issue) {
	if issue.ID == "" {
		return
	}
	c.Identifier, c.Title, c.URL = issue.Identifier, issue.Title, issue.URL
	c.State, c.Content = issue.State, issue.ContentDigest()
}

// setPhase moves the claim to a phase and clears the fields that belong to the
// old phase only.
func (c *Claim) setPhase(phase Phase, why string, now time.Time) {
	c.Phase, c.Why, c.Since = phase, why, now
	c.Due, c.StopReason, c.TurnSince = time.Time{}, "", time.Time{}
	if !c.Phase.HasSession() {
		c.Owner, c.Lease, c.Heard, c.Turns, c.Live = Owner{}, time.Time{}, time.Time{}, 0, Usage{}
	}
}

// watched reports whether the session of the claim can stall now.
func (c Claim) watched(p Policy) bool {
	return p.Stall > 0 && c.Phase == Running && !c.TurnSince.IsZero()
}

// silentSince returns the time of the last sign of life in the current turn.
func (c Claim) silentSince() time.Time { return later(c.TurnSince, c.Heard) }

// knows reports whether the claim agrees with the issue in everything that people
// see. It does not compare contents: settle does, for parked claims.
func (c Claim) knows(issue *tracker.Issue) bool {
	return c.Content != "" && c.State == issue.State && c.Title == issue.Title &&
		c.URL == issue.URL && c.Identifier == issue.Identifier
}

// remembered returns the issue as far as its claim stores it.
func (c Claim) remembered() tracker.Issue {
	return tracker.Issue{ID: c.ID, Identifier: c.Identifier, Title: c.Title, URL: c.URL, State: c.State}
}

// Owner identifies a run of this program, or a shard of a fleet. The zero value
// stands for no owner.
type Owner struct {
	Run     string `json:"run,omitempty" bound:"whole=256"` // the workflow run's id; empty outside Actions
	Attempt int    `json:"attempt,omitempty"`               // attempt of the workflow run
	Job     string `json:"job,omitempty" bound:"whole=256"`
	Host    string `json:"host,omitempty" bound:"whole=256"`
	PID     int    `json:"pid,omitempty"`
	Started int64  `json:"started,omitempty" bound:"max=9223372036854775807"` // time in Unix milliseconds, to distinguish two processes with the same pid; for a shard the time of its plan
	Shard   int    `json:"shard,omitempty" bound:"max=256"`                   // number of the shard, from 1; 0 for a run that is not a shard
	// Limit is the time from the start of a shard's job until it has ended its sessions by
	// itself, in seconds; 0: not known.
	Limit int64 `json:"limit,omitempty" bound:"max=604800"`
}

// OfShard returns the owner of the claims of a shard, if o is the owner of its fleet.
func (o Owner) OfShard(number int) Owner {
	o.Shard = number
	return o
}

// Name returns the owner as messages name it: "run 123", "shard 3 of run 123".
func (o Owner) Name() string {
	run := "the run that worked on it"
	if o.Run != "" {
		run = "run " + o.Run
	}
	switch {
	case o.Shard == 0:
		return run
	case o.Run == "":
		return fmt.Sprintf("shard %d", o.Shard)
	}
	return fmt.Sprintf("shard %d of %s", o.Shard, run)
}

// whereUntil returns " in shard 3 of run 123" for a claim of a shard, and "" for others. If
// nobody can be asked whether the shard lives, it also tells until when it counts as alive.
func (c Claim) whereUntil() string {
	switch {
	case c.Owner.Shard == 0:
		return ""
	case c.Owner.Run == "" && !c.Lease.IsZero():
		return " in " + c.Owner.Name() + ", until " + c.Lease.UTC().Format(time.RFC3339) + " unless its result is collected before"
	}
	return " in " + c.Owner.Name()
}
