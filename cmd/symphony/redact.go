package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// secretWords are in the names that environment variables with secrets usually have.
var secretWords = []string{"token", "secret", "passwd", "password", "apikey", "api_key", "privatekey", "private_key", "credential"}

// namesSecret reports whether an environment variable of this name usually holds a
// secret.
func namesSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// environmentSecrets returns a redactor of the values of the environment variables
// that are named like secrets.
func (p process) environmentSecrets() *redact.Redactor {
	r := redact.New()
	for _, entry := range p.environ {
		if name, value, _ := strings.Cut(entry, "="); namesSecret(name) {
			p.addSecret(r, value)
		}
	}
	for _, secret := range p.collectorSecrets() {
		p.addSecret(r, secret)
	}
	if key, ok := p.getenv(appKeyVariable); ok { // people may have pasted the key as one line
		for _, line := range client.KeyLines(key) {
			p.addSecret(r, line)
		}
	}
	return r
}

// addWorkflowSecrets adds the credentials of a workflow, which need not come from the
// environment.
func (o opener) addWorkflowSecrets(wf workflow.Workflow) {
	for _, secret := range wf.Settings.Credentials() {
		o.addSecret(o.redactor, secret)
	}
}

// addSecret hides a secret in the output of the program, and asks the runner of Actions to mask
// it.
func (p process) addSecret(r *redact.Redactor, secret string) {
	if r.Add(secret) == nil { // an error means that it is too short to be a secret
		p.actions.Mask(secret)
	}
}

// redacted returns a deep copy of v without secrets, see [redact.Copy]. An owner stays as it is:
// runs compare it with their own.
func redacted[T any](v T, r *redact.Redactor) T {
	return redact.Copy(v, r, reflect.TypeFor[schedule.Owner]())
}
