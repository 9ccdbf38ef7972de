package schedule

import (
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Pause describes a systemic failure: no session can work until it is fixed. It
// outlives the run; when it ends, one session is started first to check.
type Pause struct {
	Why   string // empty when there is none
	Since time.Time
	Until time.Time
	Setup Setup // in which it began: only the part whose change may fix the failure
}

// Setup identifies what sessions work with, by digests that depend on
// [State.Salt]. An empty field is not known. After a failure in one setup,
// another setup is worth a try.
type Setup struct {
	Agent    string // how Codex is started and logs in
	Workflow string // WORKFLOW.md: its prompt, hooks and settings
}

// differs reports whether both setups know a field and disagree about it.
func (s Setup) differs(other Setup) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	return differ(s.Agent, other.Agent) || differ(s.Workflow, other.Workflow)
}

// pause records a systemic failure. If no reset time is given, the pause lasts
// for the longest backoff.
func (s *State) pause(o Outcome, p Policy, now time.Time) {
	s.Tick.Paused = true
	until := o.RetryAt
	if !until.After(now) {
		until = now.Add(p.MaxBackoff)
	}
	s.Salt = p.Salt
	fixedBy := Setup{Agent: p.Setup.Agent}
	if o.Fault != "" {
		fixedBy = Setup{Workflow: p.Setup.Workflow}
	}
	s.Pause = Pause{Why: orElse(o.Why, string(Systemic)), Since: now, Until: later(until, s.Pause.Until), Setup: fixedBy}
}

// clearPause ends the pause because the session of c works. A session that began
// before the pause proves nothing about a failure after its start.
func (s *State) clearPause(c Claim) {
	if !s.Tick.Paused && !c.Since.Before(s.Pause.Since) {
		s.Pause = Pause{}
	}
}

// Resume ends the pause at the request of an operator, so that one session checks
// whether the failure is over. It reports whether there was a pause to end.
func (s *State) Resume(now time.Time) bool {
	if s.Pause.Why == "" || !s.Pause.Until.After(now) {
		return false
	}
	s.Pause.Until = now
	return true
}

// ResumeIfChanged ends the pause if it began in another setup, and reports
// whether it did.
func (s *State) ResumeIfChanged(setup Setup, now time.Time) bool {
	if !s.Pause.Setup.differs(setup) || !s.Resume(now) {
		return false
	}
	s.Pause.Setup = setup
	return true
}

// Fault is a failure of this tick that may be the workflow's and not the issue's.
type Fault struct {
	Kind    string // see [Outcome.Fault]
	Why     string // of the outcome
	Before  Claim  // as it was before the failure was charged
	Excused bool   // the charge is taken back, or was not made
}

// Reclassify returns an outcome in the light of the tick's other failures, and the
// claims whose charges [State.Excuse] must take back. A hook that fails in the same way for the first two issues of
// a tick, before any session has had a turn, fails for the whole board: nothing
// more starts, and none of its issues is charged. It is called once for each end
// of a session, before Exit.
func (s *State) Reclassify(id tracker.ID, o Outcome) (Outcome, []Claim) {
	if o.Turns > 0 {
		s.Tick.HadTurn = true
	}
	c, claimed := s.Claims[id]
	if o.Fault == "" || o.Class != IssueFailed || !claimed || s.Tick.HadTurn || s.hasTurn() {
		return o, nil
	}
	var excused []Claim
	why := ""
	for i, f := range s.Faults {
		if f.Kind != o.Fault || f.Before.ID == id {
			continue
		}
		if why == "" {
			why = f.Why
		}
		if !f.Excused {
			excused = append(excused, f.Before)
			s.Faults[i].Excused = true
		}
	}
	s.Faults = append(s.Faults, Fault{o.Fault, o.Why, c, why != ""})
	if why == "" {
		return o, nil
	}
	o.Class, o.Why = Systemic, "the first issues of the tick fail in the same way: "+why
	return o, excused
}

// hasTurn reports whether a session that runs has begun a turn, so that what the
// workflow does before one works.
func (s *State) hasTurn() bool {
	for _, c := range s.Claims {
		if c.holdsSlot() && c.Owner == s.Self && c.Turns > 0 {
			return true
		}
	}
	return false
}

// Excuse takes back the charge of a failure that turned out not to be the issue's,
// and reports whether it did. The claim is given as it was before the charge.
func (s *State) Excuse(before Claim, why string, now time.Time) bool {
	c, claimed := s.Claims[before.ID]
	if !claimed || c.holdsSlot() {
		return false // it is gone, or tried again already
	}
	c.Attempt, c.Failures, c.Thread = before.Attempt, before.Failures, before.Thread
	c.setPhase(Waiting, why, now)
	c.Due = now
	s.Claims[before.ID] = c
	return true
}
