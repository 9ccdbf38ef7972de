package runner

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// setupDigest holds digests of the settings and tools of sessions: when a digest changes, a
// pause can be over.
type setupDigest struct {
	*core
	login   func(codex.Config) []string // Login of [Runner]; may be nil
	renews  bool                        // the run ends a pause that began because the project could not be prepared
	started func() time.Time            // begin of the tick

	now  schedule.Setup // digests as of the last poll
	salt string         // key of the digests
}

// digests returns the digests of the present settings and tools of sessions. The state may be
// public. Its salt is the key of the digests, so they must not be made of values that can be
// guessed; see Runner.Login.
func (s *setupDigest) digests(salt string) schedule.Setup {
	digest := func(values ...any) string {
		text, err := json.Marshal(values)
		if err != nil {
			return "" // an unknown digest
		}
		h := hmac.New(sha256.New, []byte(salt))
		h.Write(text)
		return hex.EncodeToString(h.Sum(nil)[:16])
	}
	var login []string
	if s.login != nil {
		login = s.login(s.wf.Settings.Codex)
	}
	settings := s.wf.Settings
	settings.Tracker.Config, settings.Tracker.Credentials = nil, nil // may hold a short password
	settings.Notify = workflow.Notify{}                              // no session depends on it, and it holds addresses
	settings.Workspace.Root = ""                                     // may be another one in every run
	if repository := settings.Repository; repository != nil {
		withoutToken := *repository
		withoutToken.Token = ""
		settings.Repository = &withoutToken
	}
	return schedule.Setup{
		Agent:    digest(settings.Codex, login),
		Workflow: digest(settings, s.wf.Prompt),
	}
}

// update computes the digests of the present settings and tools. It uses the salt of the state;
// a state that has none gets the salt of this run with its first digest.
func (s *setupDigest) update(state *schedule.State) {
	s.salt = cmp.Or(state.Salt, s.salt, rand.Text())
	s.now = s.digests(s.salt)
}

// resumeIfChanged ends a pause that began with another key, login, setting or hook. A pause
// because the project could not be prepared ends with the next run: to try it again costs no
// tokens, and the first session does.
func (s *setupDigest) resumeIfChanged(now time.Time) {
	s.update(s.state)
	if s.state.ResumeIfChanged(s.now, now) {
		s.log.Info("the pause is over: the login or WORKFLOW.md has changed", "reason", s.state.Pause.Why)
	}
	pause := s.state.Pause
	isEarlier := s.renews && pause.Since.Before(s.started())
	if isEarlier && pause.Cause == schedule.CauseSetup && s.state.Resume(now) {
		s.log.Info("the pause is over: the project is prepared again", "reason", pause.Why)
	}
}
