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

// setup returns the digests of what sessions work with now. The state may be
// public: the salt in it is the key of the digests, so what goes into them must
// not be guessed; see Runner.Login.
func (l *loop) setup(salt string) schedule.Setup {
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
	settings.Tracker.Provider = nil // may hold a short password
	settings.Workspace.Root = ""    // may be another one in every run
	return schedule.Setup{
		Agent:    digest(settings.Codex, login),
		Workflow: digest(settings, l.wf.Prompt),
	}
}

// learnSetup learns what sessions work with now. The state's salt goes on; one
// that has none gets this run's with its first digest.
func (l *loop) learnSetup(s *schedule.State) {
	l.salt = cmp.Or(s.Salt, l.salt, rand.Text())
	l.fit = l.setup(l.salt)
}

// refit ends a pause that was begun with another key, login, setting or hook.
func (l *loop) refit(now time.Time) {
	l.learnSetup(l.state)
	if l.state.Refit(l.fit, now) {
		l.Log.Info("the pause is over: the login or WORKFLOW.md has changed", "reason", l.state.Pause.Why)
	}
}
