package wiring

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/symphony-runner/symphony/runner/identity"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace"
)

// The environment variables that name an identity provider of OpenAI and its service account.
// Inside Actions they are inputs. They are no secrets.
const (
	identityProviderVariable = "OPENAI_IDENTITY_PROVIDER_ID"
	serviceAccountVariable   = "OPENAI_SERVICE_ACCOUNT_ID"
)

// Identity returns the settings by which sessions of a workflow get tokens for the model; the zero
// value if they get none. Outside Actions no job has an identity, so there it is the command
// alone. The error is about settings that contradict each other.
func (p Process) Identity(wf workflow.Workflow) (identity.Config, error) {
	config := wf.Settings.Identity
	provider, account := p.Value(identityProviderVariable), p.Value(serviceAccountVariable)
	setting := func(variable, input string) string {
		if p.Actions.InActions() {
			return "the input " + input
		}
		return variable
	}
	providerName, accountName := setting(identityProviderVariable, "openai-identity-provider"), setting(serviceAccountVariable, "openai-service-account")
	file := filepath.Base(wf.Path)
	switch {
	case provider == "" && account != "":
		return identity.Config{}, fmt.Errorf("%w: %s is set without %s: set both, or neither", ErrUsage, accountName, providerName)
	case provider != "" && account == "":
		return identity.Config{}, fmt.Errorf("%w: %s is set without %s: set both, or neither", ErrUsage, providerName, accountName)
	case config.Command != "" && provider != "":
		return identity.Config{}, fmt.Errorf("%w: %s is set, and %s has identity.command: remove one of them", ErrUsage, providerName, file)
	case config.Command != "" && config.TokenURL != "":
		return identity.Config{}, fmt.Errorf("%w: %s has identity.command and identity.token_url: remove one of them", ErrUsage, file)
	case config.Command != "":
		return config, nil
	case !p.Actions.InActions():
		return identity.Config{}, nil
	case provider != "":
		return config.ForOpenAI(provider, account), nil
	case config.TokenURL == "":
		return identity.Config{}, nil
	case p.Value("OPENAI_BASE_URL") == "":
		return identity.Config{}, fmt.Errorf("%w: identity.token_url of %s gives tokens of a gateway, which must not go to OpenAI: set OPENAI_BASE_URL to the gateway's address in the env of the job", ErrUsage, file)
	}
	return config, nil
}

// NamesIdentity reports whether a job, or the settings of a workflow, name an identity.
func (p Process) NamesIdentity(wf workflow.Workflow) bool {
	s := wf.Settings.Identity
	return s.Command+s.TokenURL+p.Value(identityProviderVariable)+p.Value(serviceAccountVariable) != ""
}

// IdentityOfJob returns the access of this job to its identity token.
func (p Process) IdentityOfJob() identity.Job {
	return identity.Job{URL: p.Value("ACTIONS_ID_TOKEN_REQUEST_URL"), Token: p.Value("ACTIONS_ID_TOKEN_REQUEST_TOKEN")}
}

// ModelTokens makes the source of the model's tokens that all sessions of the program share. Any
// number of goroutines may use it.
type ModelTokens struct {
	Secret func(string) // hides a token everywhere

	mu     sync.Mutex
	config identity.Config
	made   *identity.Source // of config; nil before the first
}

// Source returns the source of these settings, the same one each time; nil if there are none.
func (m *ModelTokens) Source(p Process, wf workflow.Workflow, config identity.Config) *identity.Source {
	if m == nil || config.Command == "" && config.TokenURL == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil || !reflect.DeepEqual(m.config, config) {
		issue := identity.Exchange{Config: config, Job: p.IdentityOfJob(), Secret: m.Secret}.Issue
		if config.Command != "" {
			issue = identity.Of(func(ctx context.Context) (string, error) {
				text, err := workspace.Output(ctx, config.Command, filepath.Dir(wf.Path), p.Environ)
				if err != nil {
					return "", fmt.Errorf("run identity.command: %w: %w: fix it in WORKFLOW.md, or what it needs", identity.ErrRefused, err)
				}
				return text, nil
			})
		}
		m.config, m.made = config, identity.NewSource(issue, m.Secret)
	}
	return m.made
}

// ModelTokenName is the name of the command that Codex starts to get a token.
const ModelTokenName = "model-token"
