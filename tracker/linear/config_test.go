package linear

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

func TestSettingsAreRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		written map[string]any
		want    Config
	}{
		{map[string]any{"api_key": apiKey, "project_slug": slug},
			Config{Endpoint: "https://api.linear.app/graphql", APIKey: apiKey, ProjectSlug: slug}},
		{map[string]any{"api_key": " " + apiKey + "\n", "project_slug": slug, "assignee": " me "},
			Config{Endpoint: "https://api.linear.app/graphql", APIKey: apiKey, ProjectSlug: slug, Assignee: "me"}},
		{map[string]any{"api_key": "Bearer " + apiKey, "project_slug": slug, "endpoint": "https://proxy.example.com/linear"},
			Config{Endpoint: "https://proxy.example.com/linear", APIKey: "Bearer " + apiKey, ProjectSlug: slug}},
	} {
		got, problems := trackertest.Decode(Kind(), test.written)
		if problems != nil {
			t.Error(problems)
		}
		if diff := cmp.Diff(&test.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.written, diff)
		}
	}
}

func TestAWrongSettingIsNamedAndTheKeyIsNotShown(t *testing.T) {
	t.Parallel()
	with := func(key string, value any) map[string]any {
		written := map[string]any{"api_key": apiKey, "project_slug": slug}
		written[key] = value
		return written
	}
	for _, test := range []struct {
		written  map[string]any
		setting  string
		category error
		text     string // of the category
		reason   string // in the problem
	}{
		{map[string]any{"project_slug": slug}, "api_key", tracker.ErrMissingSecret, "missing_tracker_api_key", "is missing"},
		{with("api_key", " "), "api_key", tracker.ErrMissingSecret, "missing_tracker_api_key", "is missing"},
		{with("api_key", apiKey+"\nnext"), "api_key", tracker.ErrInvalidConfig, "invalid_tracker_config", "line break"},
		{with("api_key", 7), "api_key", tracker.ErrInvalidConfig, "invalid_tracker_config", "must be the key alone"},
		{with("project_slug", ""), "project_slug", tracker.ErrInvalidConfig, "missing_tracker_project_slug", "write the project's slugId"},
		{with("project_slug", 12), "project_slug", tracker.ErrInvalidConfig, "invalid_tracker_config", "in quotes"},
		{with("project_slog", slug), "project_slog", tracker.ErrInvalidConfig, "invalid_tracker_config", "did you mean project_slug?"},
		{with("asignee", me), "asignee", tracker.ErrInvalidConfig, "invalid_tracker_config", "did you mean assignee?"},
		{with("zzzzzzzz", me), "zzzzzzzz", tracker.ErrInvalidConfig, "invalid_tracker_config", "api_key, project_slug, endpoint, assignee"},
		{with("assignee", []any{"a"}), "assignee", tracker.ErrInvalidConfig, "invalid_tracker_config", "a user's id"},
		{with("endpoint", ""), "endpoint", tracker.ErrInvalidConfig, "invalid_tracker_config", "is missing"},
		{with("endpoint", "http://api.linear.app/graphql"), "endpoint", tracker.ErrInvalidConfig, "invalid_tracker_config", "must be an https address"},
		{with("endpoint", "http://127.0.0.1.example.com/"), "endpoint", tracker.ErrInvalidConfig, "invalid_tracker_config", "must be an https address"},
		{with("endpoint", "https://user:"+apiKey+"@linear.app/"), "endpoint", tracker.ErrInvalidConfig, "invalid_tracker_config", "must be an https address"},
		{with("endpoint", "api.linear.app"), "endpoint", tracker.ErrInvalidConfig, "invalid_tracker_config", "must be an https address"},
		{with("endpoint", "https://%zz/"), "endpoint", tracker.ErrInvalidConfig, "invalid_tracker_config", "must be an https address"},
	} {
		_, problems := trackertest.Decode(Kind(), test.written)
		if len(problems) != 1 {
			t.Errorf("%v: got %v, want one problem", test.written, problems)
			continue
		}
		p := problems[0]
		if p.Setting != test.setting || !errors.Is(p.Category, test.category) || p.Category.Error() != test.text || !strings.Contains(p.Reason, test.reason) {
			t.Errorf("%v: got %+v, want %s: %s: %s", test.written, p, test.setting, test.text, test.reason)
		}
		if strings.Contains(p.Reason, apiKey) {
			t.Errorf("the key is in: %v", p)
		}
	}
}

func TestAnEndpointOnThisMachineNeedsNoEncryption(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"http://127.0.0.1:8080/graphql", "http://127.8.8.8/", "http://[::1]:80/", "http://localhost/"} {
		if !isSafeEndpoint(endpoint) {
			t.Errorf("%s is refused", endpoint)
		}
	}
}
