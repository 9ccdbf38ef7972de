package schedule

import "time"

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

// clearPause ends the pause because a session works that began at this time. A session
// that began before the pause proves nothing about a failure after its start.
func (s *State) clearPause(began time.Time) {
	if !s.Tick.Paused && !began.Before(s.Pause.Since) {
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
