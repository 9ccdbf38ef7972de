package linear

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/symphony-runner/symphony/tracker"
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
			return Config{}, invalid("tracker.provider.%s is unknown: did you mean %s? The keys are %s",
				key, nearest(key, names), strings.Join(names, ", "))
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

// checkEndpoint makes sure that the credential travels encrypted, or not at all.
func checkEndpoint(endpoint string) error {
	address, err := url.Parse(endpoint)
	if err != nil || address.Host == "" || address.User != nil {
		return invalid("tracker.endpoint is no address that can be used: write one like %s", defaultEndpoint)
	}
	if address.Scheme == "https" || address.Scheme == "http" && isLoopback(address.Hostname()) {
		return nil
	}
	return invalid("tracker.endpoint %q would send the key in the clear: write an https address", endpoint)
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("linear tracker: %w: %s", tracker.ErrInvalidConfig, fmt.Sprintf(format, args...))
}

// nearest is the known name that is most like another.
func nearest(name string, known []string) string {
	return slices.MinFunc(known, func(a, b string) int { return distance(name, a) - distance(name, b) })
}

// distance is the number of single-byte edits between two names (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
