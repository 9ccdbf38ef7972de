package linear

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/transport"
)

const defaultEndpoint = "https://api.linear.app/graphql"

// me is the assignee that stands for the owner of the credential.
const me = "me"

// Config is what the workflow says to this adapter. It holds the credential.
type Config struct {
	Endpoint    string // https, or http on this machine
	APIKey      string // sent as it is in the Authorization header
	ProjectSlug string // the slugId of the one project
	Assignee    string // a user's id, "me", or "" for everybody's issues

	// The states of the workflow, which [Check] compares with the board's.
	ActiveStates, TerminalStates []string

	// RequiredLabels are labels that every candidate must carry, in normal form;
	// a blank one is carried by none.
	RequiredLabels []string
}

// ConfigFrom reads tracker.provider. Errors are [tracker.ErrMissingSecret] when
// there is no key and [tracker.ErrInvalidConfig] otherwise; none shows the key.
func ConfigFrom(provider map[string]any, activeStates, terminalStates []string) (Config, error) {
	cfg := Config{Endpoint: defaultEndpoint, ActiveStates: activeStates, TerminalStates: terminalStates}
	settings := map[string]*string{
		"endpoint": &cfg.Endpoint, "api_key": &cfg.APIKey, "project_slug": &cfg.ProjectSlug, "assignee": &cfg.Assignee,
	}
	for _, key := range slices.Sorted(maps.Keys(provider)) {
		setting, known := settings[key]
		if !known {
			names := slices.Sorted(maps.Keys(settings))
			hint := ""
			if near := tracker.Nearest(key, names); near != "" {
				hint = "did you mean " + near + "? "
			}
			return Config{}, invalid("tracker.provider.%s is unknown: %sthe keys are %s", key, hint, strings.Join(names, ", "))
		}
		text, ok := provider[key].(string)
		if !ok {
			return Config{}, invalid("tracker.provider.%s is not text: write it in quotes", key)
		}
		if text = strings.TrimSpace(text); text != "" {
			*setting = text
		}
	}
	return cfg, cfg.check()
}

// check refuses what cannot work whatever Linear says.
func (c Config) check() error {
	switch {
	case c.APIKey == "":
		return fmt.Errorf("linear tracker: %w: set the environment variable LINEAR_API_KEY, or name another in tracker.api_key", errMissingKey)
	case strings.ContainsFunc(c.APIKey, unicode.IsControl):
		return invalid("tracker.api_key holds a line break or another control character: write the key alone")
	case c.ProjectSlug == "":
		return fmt.Errorf("linear tracker: %w: write the project's slugId in tracker.project_slug", errMissingSlug)
	}
	return checkEndpoint(c.Endpoint)
}

// checkEndpoint refuses an endpoint to which the credential would not travel
// encrypted.
func checkEndpoint(endpoint string) error {
	if _, err := transport.ParseAddress(endpoint); err != nil {
		return invalid("tracker.endpoint %v: write an https address such as %s", err, defaultEndpoint)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("linear tracker: %w: %s", tracker.ErrInvalidConfig, fmt.Sprintf(format, args...))
}
