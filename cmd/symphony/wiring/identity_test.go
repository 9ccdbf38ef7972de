package wiring

import (
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/identity"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// loginOf returns a process with tokens in an environment, and a workflow with an identity.
func loginOf(config identity.Config, env ...string) (Process, workflow.Workflow) {
	p := Process{Environ: env, Tokens: &ModelTokens{Secret: func(string) {}}}
	p.Actions = action.New(nil, p.Value)
	return p, workflow.Workflow{Path: "/x/WORKFLOW.md", Settings: workflow.Settings{Identity: config}}
}

func TestTokensTakeThePlaceOfAKeyWhereAJobHasAnIdentity(t *testing.T) {
	t.Parallel()
	const job, ids, key = "GITHUB_ACTIONS=true", "OPENAI_IDENTITY_PROVIDER_ID=idp OPENAI_SERVICE_ACCOUNT_ID=user", "OPENAI_API_KEY=sk-0123456789abcdef"
	exchange, command := identity.Config{TokenURL: "https://gateway.example/token"}, identity.Config{Command: "echo token"}
	for name, test := range map[string]struct {
		config identity.Config
		env    string
		want   bool
	}{
		"a job with an account of OpenAI": {env: job + " " + ids, want: true},
		"the same elsewhere":              {env: ids},
		"a job with a gateway":            {config: exchange, env: job + " OPENAI_BASE_URL=https://gateway.example", want: true},
		"a gateway elsewhere":             {config: exchange, env: "OPENAI_BASE_URL=https://gateway.example"},
		"a command":                       {config: command, want: true},
		"a command, and a key":            {config: command, env: key},
		"a job with nothing":              {env: job},
	} {
		p, wf := loginOf(test.config, strings.Fields(test.env)...)
		account := p.Account(wf)
		if got := account.Tokens != nil; got != test.want {
			t.Errorf("%s: tokens %v, want %v", name, got, test.want)
		}
		if account.Tokens != p.Account(wf).Tokens {
			t.Errorf("%s: sessions do not share their tokens", name)
		}
	}
}

func TestThreadsAreSealedWithASecretThatLasts(t *testing.T) {
	t.Parallel()
	const key, app, linear = "OPENAI_API_KEY=sk-0123456789abcdef", "SYMPHONY_APP_PRIVATE_KEY=the-key-of-an-app-0123456789", "LINEAR_API_KEY=lin_api_0123456789"
	for env, want := range map[string]string{
		key + " " + app + " " + linear:            "sk-0123456789abcdef",
		app + " " + linear:                        "the-key-of-an-app-0123456789",
		linear:                                    "lin_api_0123456789",
		"LINEAR_API_KEY=lin_api_short":            "",
		"GITHUB_TOKEN=ghs_of-this-job-0123456789": "", // the next shard has another one
	} {
		p, _ := loginOf(identity.Config{}, strings.Fields(env)...)
		if got := p.ThreadSecret(); got != want {
			t.Errorf("%s: %q, want %q", env, got, want)
		}
	}
}
