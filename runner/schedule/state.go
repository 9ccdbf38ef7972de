package schedule

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// State is all that a run leaves to the next one, and what the current one
// knows besides. One goroutine owns it. The zero value is not ready: use [New].
type State struct {
	Claims     map[tracker.ID]Claim
	Pause      Pause
	Days       []Day           // oldest first, at most keepDays
	RateLimits json.RawMessage // the agent's latest snapshot, nil when none was seen
	Wait       TrackerWait     // until when the tracker asked to be left alone
	Salt       string          // of the digests in it; empty as long as there was none
	History    []TickRecord    // the last ticks that did something, oldest first, at most keepPast

	Self Owner // who is planning; not kept
	// Completed are the issues of which a session came to a normal end in this run
	// (SPEC §4.1.8), the latest last, at most keepCompleted. It is for people: no
	// plan depends on it, since an issue that is active again is worked on again.
	// Not kept: the next run has what it needs in Past and the claims.
	Completed []tracker.ID
	Tick      Spent   // what this tick has used so far; not kept
	Faults    []Fault // of this tick; not kept
}

// New is an empty state, planned for by self.
func New(self Owner) *State {
	return &State{Claims: map[tracker.ID]Claim{}, Self: self}
}

// Clone is a copy that shares nothing that changes.
func (s *State) Clone() *State {
	c := *s
	c.Claims = maps.Clone(s.Claims)
	c.Days = slices.Clone(s.Days)
	c.History = slices.Clone(s.History)
	return &c
}

// Phase is where a claim is in its life; see the diagram in the package doc.
type Phase string

// The phases of a claim.
const (
	Running  Phase = "running"
	Stopping Phase = "stopping"
	Waiting  Phase = "waiting"
	Parked   Phase = "parked"
)

// Claim is the reservation of one issue, and its history while it lasts.
type Claim struct {
	ID         tracker.ID
	Identifier string
	Title      string
	URL        string
	State      string // of the issue, as last seen
	Content    string // its tracker.Issue.Content, as last seen; empty when a session may have changed it since

	Phase Phase
	Since time.Time // when the phase began
	Why   string    // why it waits, is parked or is being stopped

	Owner      Owner     // who runs it; zero unless running or stopping
	Lease      time.Time // until when an owner that cannot be asked counts as alive
	StopReason Reason    // of a stopping claim; empty otherwise
	Heard      time.Time // last sign of life of the session; zero before the first
	// TurnSince is when its turn began, zero when no turn runs. Silence counts only
	// in a turn: hooks and the start of a session have timeouts of their own.
	TurnSince time.Time
	Turns     int   // of the live session
	Live      Usage // tokens of the live session, already counted below

	Attempt  int       // SPEC §4.1.5: 0 in the first run, 1 and more in retries and continuations
	Due      time.Time // when a waiting claim may go on
	Thread   string    // the agent's thread to resume, empty for a new one
	Sessions int       // started so far
	Failures int       // in a row
	Idle     int       // sessions in a row that changed nothing
	Tokens   int64     // input and output, over all sessions
	Setup    Setup     // in which its last session failed by a fault of WORKFLOW.md; zero when it did not
}

// holdsSlot reports whether the claim counts against the concurrency limits.
func (c Claim) holdsSlot() bool { return c.Phase == Running || c.Phase == Stopping }

// observe takes over what a read says of the issue.
func (c *Claim) observe(issue tracker.Issue) {
	c.Identifier, c.Title, c.URL = issue.Identifier, issue.Title, issue.URL
	c.State, c.Content = issue.State, issue.Content()
}

// setPhase moves the claim to a phase; what belongs to the old one alone is cleared.
func (c *Claim) setPhase(phase Phase, why string, now time.Time) {
	c.Phase, c.Why, c.Since = phase, why, now
	c.Due, c.StopReason, c.TurnSince = time.Time{}, "", time.Time{}
	if !c.holdsSlot() {
		c.Owner, c.Lease, c.Heard, c.Turns, c.Live = Owner{}, time.Time{}, time.Time{}, 0, Usage{}
	}
}

// Owner is a run of this program. The zero value is nobody.
type Owner struct {
	Run     string `json:"run,omitempty"`     // the workflow run's id; empty outside Actions
	Attempt int    `json:"attempt,omitempty"` // of the workflow run
	Job     string `json:"job,omitempty"`
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Started int64  `json:"started,omitempty"` // Unix milliseconds: tells two processes of one pid apart
}

// MaxTrackerWait is the longest that the tracker is left alone because it said
// so: the windows of its limits last an hour.
const MaxTrackerWait = time.Hour

// TrackerWait is the time before which the tracker asked not to be asked again.
// One that is over means nothing.
type TrackerWait struct {
	Tracker string // its kind; a wait for another tracker does not count
	Until   time.Time
}

// Pause is a failure that is everyone's: no session can work until it is
// mended. It survives the run; once it is over one session tries first.
type Pause struct {
	Why   string // empty when there is none
	Since time.Time
	Until time.Time
	Setup Setup // in which it was begun, as far as another one may fix it
}

// Setup identifies what sessions work with, by digests that depend on
// [State.Salt]. A field that is not known is empty. What failed for a reason in
// one setup is worth another try in another.
type Setup struct {
	Agent    string // how Codex is started and logs in
	Workflow string // WORKFLOW.md: its prompt, hooks and settings
}

// differs reports whether anything that both setups know is not the same.
func (s Setup) differs(other Setup) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	return differ(s.Agent, other.Agent) || differ(s.Workflow, other.Workflow)
}

// Resume ends the pause, so that one session tries first whether the failure is
// over: an operator's word. It reports whether there was a pause to end.
func (s *State) Resume(now time.Time) bool {
	if s.Pause.Why == "" || !s.Pause.Until.After(now) {
		return false
	}
	s.Pause.Until = now
	return true
}

// ResumeIfChanged ends the pause if it was begun in another setup than this one, and
// reports whether it did.
func (s *State) ResumeIfChanged(setup Setup, now time.Time) bool {
	if !s.Pause.Setup.differs(setup) || !s.Resume(now) {
		return false
	}
	s.Pause.Setup = setup
	return true
}

const (
	// maxImposedWait is the longest wait that a server can impose: the longest window
	// of a usage limit is a week, and clocks differ.
	maxImposedWait = 8 * 24 * time.Hour
	// maxSkew is how far the clocks of two runs may be apart.
	maxSkew = 10 * time.Minute
)

// longestWait returns the longest wait that a run decides on.
func (p Policy) longestWait() time.Duration { return max(p.MaxBackoff, maxImposedWait) }

// notBefore returns the time that a server told to wait for, or the longest wait
// from now when it told a later one.
func (p Policy) notBefore(told, now time.Time) time.Time {
	if latest := now.Add(p.longestWait()); told.After(latest) {
		return latest
	}
	return told
}

// BoundTimes replaces the times of a loaded state that no run can have written by
// now, and returns a description of each. They come from a forged state or a
// wrong clock, so they decide as little as possible: a wait ends after the
// longest backoff (an issue is tried again soon, and not at once or never), a
// lease lasts as long as one that begins now, the past is not later than now,
// and spending of days to come is dropped.
func (s *State) BoundTimes(p Policy, now time.Time) []string {
	var wrong []string
	bound := func(what string, t *time.Time, latest time.Duration, instead time.Time) {
		if ahead := t.Sub(now); ahead > latest && ahead-latest > maxSkew { // sums could overflow
			wrong = append(wrong, fmt.Sprintf("%s %s", what, t.UTC().Format(time.RFC3339)))
			*t = instead
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Claims)) {
		c := s.Claims[id]
		name := orElse(c.Identifier, string(id))
		bound(name+" is due", &c.Due, p.longestWait(), now.Add(p.MaxBackoff))
		bound(name+" has a lease until", &c.Lease, leaseTime, now.Add(leaseTime))
		bound(name+" is "+string(c.Phase)+" since", &c.Since, 0, now)
		bound(name+" was heard of", &c.Heard, 0, now)
		bound(name+" is in a turn since", &c.TurnSince, 0, now)
		s.Claims[id] = c
	}
	bound("the pause lasts until", &s.Pause.Until, p.longestWait(), now.Add(p.MaxBackoff))
	bound("the tracker is left alone until", &s.Wait.Until, MaxTrackerWait, now)
	bound("the pause began", &s.Pause.Since, 0, now)
	tomorrow := nextDay(now.Add(maxSkew)).Format(time.DateOnly)
	s.Days = slices.DeleteFunc(slices.Clone(s.Days), func(d Day) bool {
		future := d.Date >= tomorrow
		if future {
			wrong = append(wrong, "spending of "+d.Date)
		}
		return future
	})
	return wrong
}
