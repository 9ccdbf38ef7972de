package linear

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
)

const defaultEndpoint = "https://api.linear.app/graphql"

// me is the assignee that stands for the owner of the credential.
const me = "me"

// Kind returns the kind of tracker that a project of Linear is.
func Kind() tracker.Kind {
	return tracker.Kind{Name: "linear", New: func() tracker.Config { return new(Config) }}
}

// Config holds the workflow's settings for this adapter, with the credential.
type Config struct {
	Endpoint    string // https, or http on this machine
	APIKey      string // sent as it is in the Authorization header
	ProjectSlug string // the slugId of the one project
	Assignee    string // a user's id, "me", or "" for everybody's issues

	tracker.Options // set by Open
}

// Settings describes the settings; see [tracker.Config].
func (c *Config) Settings() []tracker.Setting {
	return []tracker.Setting{
		{
			Name: "api_key", Defaults: []any{"$LINEAR_API_KEY"}, Required: true, Credential: true, Missing: errMissingKey, Aliases: []string{"token"}, Export: "lin_api_…",
			Meaning: "the key, sent as it is in the Authorization header; write \"Bearer \" before an OAuth token; `token` is another name of this setting",
			Want:    "the key alone, without a line break or another control character",
			Decode:  decodeText(&c.APIKey, func(key string) bool { return !strings.ContainsFunc(key, unicode.IsControl) }),
		},
		{
			Name: "project_slug", Required: true, Missing: errMissingSlug,
			Meaning: "the project whose issues are worked on",
			Want:    "the project's slugId, in quotes when it looks like a number",
			Decode:  decodeText(&c.ProjectSlug),
		},
		{
			Name: "endpoint", Defaults: []any{defaultEndpoint}, Required: true,
			Meaning: "the address of Linear's GraphQL API, which alone gets the key",
			Want:    "an https address, such as " + defaultEndpoint + " (http is for a loopback address alone)",
			Decode:  decodeText(&c.Endpoint, isSafeEndpoint),
		},
		{
			Name: "assignee", Defaults: []any{"$LINEAR_ASSIGNEE"},
			Meaning: "work on this user's issues only; without it everybody's count",
			Want:    "a user's id, or me for the owner of the key",
			Decode:  decodeText(&c.Assignee),
		},
	}
}

// decodeText decodes text without the space around it; see [tracker.DecodeText].
func decodeText(to *string, checks ...func(string) bool) func(any) bool {
	decode := tracker.DecodeText(to, checks...)
	return func(value any) bool {
		if text, ok := value.(string); ok {
			value = strings.TrimSpace(text)
		}
		return decode(value)
	}
}

// Scope returns the project.
func (c *Config) Scope() string { return "project " + c.ProjectSlug }

// IDScope returns nothing: ids are unique everywhere.
func (c *Config) IDScope(string) string { return "" }

// Folder returns nothing: no issue is a file.
func (c *Config) Folder() string { return "" }

// States returns the default states: the teams of a workspace define their own.
func (c *Config) States() tracker.States { return tracker.DefaultStates() }

// isSafeEndpoint reports whether the credential travels encrypted to an endpoint, or
// stays on this machine.
func isSafeEndpoint(endpoint string) bool {
	_, err := transport.ParseAddress(endpoint)
	return err == nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("linear tracker: %w: %s", tracker.ErrInvalidConfig, fmt.Sprintf(format, args...))
}
