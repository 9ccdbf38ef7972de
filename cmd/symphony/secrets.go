package main

import (
	"regexp"
	"strings"

	"github.com/symphony-runner/symphony/runner/redact"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// secretName is a name that environment variables with secrets usually have.
var secretName = regexp.MustCompile(`(?i)(token|secret|passw(or)?d|api_?key|private_?key|credential)`)

// secrets are the values that must never leave the program: those of the
// environment that are called so, and the tracker's own.
func (a *app) secrets() *redact.Redactor {
	r := redact.New()
	for _, entry := range a.environ {
		if name, value, _ := strings.Cut(entry, "="); secretName.MatchString(name) {
			a.hide(r, value)
		}
	}
	return r
}

// learn adds the credential of a workflow, which need not come from the environment.
func (a *app) learn(wf workflow.Workflow) {
	if key, ok := wf.Settings.Tracker.Provider["api_key"].(string); ok {
		a.hide(a.redactor, key)
	}
}

// hide keeps a secret out of what we print, and asks the runner to see to it too.
func (a *app) hide(r *redact.Redactor, secret string) {
	if r.Add(secret) == nil { // too short to be one: then it is none
		a.actions.Mask(secret)
	}
}
