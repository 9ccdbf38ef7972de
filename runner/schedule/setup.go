package schedule

import "time"

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
