package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/identity"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// loginOf returns a process with tokens in an environment, and a workflow with an identity.
func loginOf(config identity.Config, env ...string) (wiring.Process, workflow.Workflow) {
	p := wiring.Process{Environ: env, Tokens: &wiring.ModelTokens{Secret: func(string) {}}}
	p.Actions = action.New(nil, p.Value)
	return p, workflow.Workflow{Path: "/x/WORKFLOW.md", Settings: workflow.Settings{Identity: config}}
}

// TestTokensThatNoSessionWouldUseAreRefused by a run and by validate. The keys of the section identity
// are refused with the file.
func TestTokensThatNoSessionWouldUseAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*workflow.Settings){
		"the app-server of codex.endpoint has a login of its own": func(s *workflow.Settings) { s.Codex.Endpoint.Address = "unix:///run/codex" },
		"do not go to the hosts of worker.ssh_hosts":              func(s *workflow.Settings) { s.Worker.Hosts = []string{"west"} },
	} {
		p, wf := loginOf(identity.Config{}, "GITHUB_ACTIONS=true", "OPENAI_IDENTITY_PROVIDER_ID=idp", "OPENAI_SERVICE_ACCOUNT_ID=user")
		change(&wf.Settings)
		_, invalid := (&validateCommand{app: &app{Process: p}}).checkIdentity(t.Context(), nil, wf)
		for who, err := range map[string]error{"a run": checkLogin(p, wf), "validate": invalid} {
			if !errors.Is(err, wiring.ErrUsage) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s says %v, want %s", who, err, want)
			}
		}
	}
}
