package schedule

import (
	"cmp"
	"slices"
	"time"
)

// Pause describes a systemic failure: no session can work until it is fixed. It
// outlives the run; when it ends, one session is started first to check.
type Pause struct {
	Why   string    `json:"why" bound:"line=500"` // empty when there is none
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	Setup Setup     `json:"setup,omitzero"`                   // setup when it began: only the part whose change may fix the failure
	Cause Cause     `json:"cause,omitempty" bound:"word"`     // decides how the pause can end before its time
	Fault string    `json:"fault,omitempty" bound:"line=500"` // the kind of the [Fault] that began it; empty for other failures
	// Passed says that the test of the cause passed, and no session has worked since. If one
	// fails for the same cause, the test does not see the failure, and does not end the pause
	// again.
	Passed bool `json:"passed,omitempty"`
}

// Cause is the area of a systemic failure. Two causes can be tested without an issue, and a
// test that passes ends the pause.
type Cause string

// The causes. A pause without one ends when Codex is started or logs in in another way.
const (
	CauseStart    Cause = "start"    // no session comes to its first turn: Codex, its settings or its login; tested
	CauseMachine  Cause = "machine"  // the disk, the processes or the open files of this machine; tested
	CauseDelivery Cause = "delivery" // the repository or its server; another WORKFLOW.md ends the pause
	CauseSetup    Cause = "setup"    // the project cannot be prepared; another WORKFLOW.md ends the pause
)

// Known reports whether this program has the cause.
func (c Cause) Known() bool {
	return slices.Contains([]Cause{"", CauseStart, CauseMachine, CauseDelivery, CauseSetup}, c)
}

// Setup identifies the settings and tools of sessions, by digests that depend on [State.Salt].
// An empty field is not known. After a failure in one setup, another setup is worth a try.
type Setup struct {
	Agent    string `json:"agent,omitempty" bound:"whole=256"`    // command and login of Codex
	Workflow string `json:"workflow,omitempty" bound:"whole=256"` // WORKFLOW.md: its prompt, hooks and settings
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
		if o.Cause == CauseDelivery && o.Fault != "" {
			until = later(until, now.Add(refusedPause))
		}
	}
	s.Salt = p.Salt
	fixedBy := Setup{Agent: p.Setup.Agent}
	if o.Fault != "" || o.Cause == CauseDelivery || o.Cause == CauseSetup {
		fixedBy = Setup{Workflow: p.Setup.Workflow}
	}
	s.Pause = Pause{
		Why: cmp.Or(o.Why, string(Systemic)), Since: now, Until: later(until, s.Pause.Until), Setup: fixedBy,
		Cause: o.Cause, Fault: o.Fault, Passed: s.Pause.Passed && s.Pause.Cause == o.Cause,
	}
}

// refusedPause is the shortest pause after a server has refused pushes in the same way: people
// change its rules, and the session that looks whether they have costs like any other.
const refusedPause = time.Hour

// clearPause ends the pause because a session works that began at this time. A session
// that began before the pause proves nothing about a failure after its start, and one that
// has not delivered nothing about a failure of deliveries.
func (s *State) clearPause(began time.Time, delivered bool, now time.Time) {
	if s.Pause.Cause == CauseDelivery && !delivered {
		return
	}
	if !s.Tick.Paused && !began.Before(s.Pause.Since) {
		s.freeCharged(now)
		s.Pause = Pause{}
	}
}

// freeCharged makes the claims due at once that earlier ticks charged for the fault of the
// pause: no issue was the cause of it.
func (s *State) freeCharged(now time.Time) {
	if s.Pause.Fault == "" {
		return
	}
	for id, c := range s.Claims {
		if c.Fault != s.Pause.Fault || c.Phase.HasSession() {
			continue
		}
		c.setPhase(Waiting, "its failure was not its own: "+s.Pause.Why, now)
		c.Due, c.Fault, c.Setup = now, "", Setup{}
		c.Attempt, c.Failures = attemptOn(c.Thread), 0
		s.Claims[id] = c
	}
}

// ToTest returns the cause of the pause if a test of it can end the pause now, and the time
// at which the pause began.
func (p Pause) ToTest(now time.Time) (cause Cause, began time.Time, ok bool) {
	testable := p.Cause == CauseStart || p.Cause == CauseMachine
	return p.Cause, p.Since, testable && p.Why != "" && !p.Passed && p.Until.After(now)
}

// TestPassed ends the pause that began at this time because the test of its cause passed. It
// reports whether there was such a pause.
func (s *State) TestPassed(began, now time.Time) bool {
	if !s.Pause.Since.Equal(began) || !s.Resume(now) {
		return false
	}
	s.Pause.Passed = true
	return true
}

// Resume ends the pause at the request of an operator, so that one session checks
// whether the failure is over. It reports whether there was a pause to end.
func (s *State) Resume(now time.Time) bool {
	if s.Pause.Why == "" || !s.Pause.Until.After(now) {
		return false
	}
	s.freeCharged(now)
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
