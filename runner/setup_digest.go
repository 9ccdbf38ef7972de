package runner

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// setupDigests returns the digests of what sessions work with now. The state may
// be public. Its salt is the key of the digests, so they must not be made of
// values that can be guessed; see Runner.Login.
func (l *loop) setupDigests(salt string) schedule.Setup {
	digest := func(values ...any) string {
		text, err := json.Marshal(values)
		if err != nil {
			return "" // not known
		}
		h := hmac.New(sha256.New, []byte(salt))
		h.Write(text)
		return hex.EncodeToString(h.Sum(nil)[:16])
	}
	var login []string
	if l.Login != nil {
		login = l.Login(l.wf.Settings.Codex)
	}
	settings := l.wf.Settings
	settings.Tracker.Config, settings.Tracker.Credentials = nil, nil // may hold a short password
	settings.Workspace.Root = ""                                     // may be another one in every run
	if repository := settings.Repository; repository != nil {
		withoutToken := *repository
		withoutToken.Token = ""
		settings.Repository = &withoutToken
	}
	return schedule.Setup{
		Agent:    digest(settings.Codex, login),
		Workflow: digest(settings, l.wf.Prompt),
	}
}

// updateSetup computes what sessions work with now. It uses the salt of the
// state; a state that has none gets the salt of this run with its first digest.
func (l *loop) updateSetup(s *schedule.State) {
	l.salt = cmp.Or(s.Salt, l.salt, rand.Text())
	l.setup = l.setupDigests(l.salt)
}

// resumeIfChanged ends a pause that began with another key, login, setting or hook. A pause
// because the project could not be prepared ends with the next run: to try it again costs no
// tokens, and the first session does.
func (l *loop) resumeIfChanged(now time.Time) {
	l.updateSetup(l.state)
	if l.state.ResumeIfChanged(l.setup, now) {
		l.Log.Info("the pause is over: the login or WORKFLOW.md has changed", "reason", l.state.Pause.Why)
	}
	pause := l.state.Pause
	isEarlier := l.Once && !l.isShard() && pause.Since.Before(l.tick.Started)
	if isEarlier && pause.Cause == schedule.CauseSetup && l.state.Resume(now) {
		l.Log.Info("the pause is over: the project is prepared again", "reason", pause.Why)
	}
}
