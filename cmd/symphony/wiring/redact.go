package wiring

import (
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace"
)

// secretWords are in the names that environment variables with secrets usually have.
var secretWords = []string{"token", "secret", "passwd", "password", "apikey", "api_key", "privatekey", "private_key", "credential"}

// namesSecret reports whether an environment variable of this name usually holds a
// secret.
func namesSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// EnvironmentSecrets returns a redactor of the values of the environment variables
// that are named like secrets.
func (p Process) EnvironmentSecrets() *redact.Redactor {
	r := redact.New()
	for _, entry := range p.Environ {
		if name, value, _ := strings.Cut(entry, "="); namesSecret(name) {
			p.AddSecret(r, value)
		}
	}
	for _, secret := range p.collectorSecrets() {
		p.AddSecret(r, secret)
	}
	if key, ok := p.Getenv(AppKeyVariable); ok { // people may have pasted the key as one line
		for _, line := range client.KeyLines(key) {
			p.AddSecret(r, line)
		}
	}
	return r
}

// AddWorkflowSecrets adds the credentials of a workflow, which need not come from the
// environment.
func (o Opener) AddWorkflowSecrets(wf workflow.Workflow) {
	for _, secret := range wf.Settings.Credentials() {
		o.AddSecret(o.Redactor, secret)
	}
}

// AddSecret hides a secret in the output of the program, and asks the runner of Actions to mask
// it.
func (p Process) AddSecret(r *redact.Redactor, secret string) {
	if r.Add(secret) == nil { // an error means that it is too short to be a secret
		p.Actions.Mask(secret)
	}
}

// Redacted returns a deep copy of v without secrets, see [redact.Copy]. An owner stays as it is:
// runs compare it with their own.
func Redacted[T any](v T, r *redact.Redactor) T {
	return redact.Copy(v, r, reflect.TypeFor[schedule.Owner]())
}

// collectorHeaders are the environment variables whose values hold the credentials for a
// collector, as NAME=VALUE,….
var collectorHeaders = []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"}

// collectorSecrets returns the values of the headers for a collector.
func (p Process) collectorSecrets() (secrets []string) {
	for _, name := range collectorHeaders {
		value, _ := p.Getenv(name)
		for _, header := range strings.Split(value, ",") {
			_, secret, _ := strings.Cut(header, "=")
			secrets = append(secrets, strings.TrimSpace(secret))
			if plain, err := url.PathUnescape(strings.TrimSpace(secret)); err == nil {
				secrets = append(secrets, plain)
			}
		}
	}
	return secrets
}

// ChildEnv returns the part of the environment that the children of a workflow may see.
func (p Process) ChildEnv(wf workflow.Workflow) workspace.Env {
	return workspace.Env{Parent: p.Environ, Deny: slices.Concat(wf.Settings.SecretEnv(), keyNames, collectorHeaders)}
}
