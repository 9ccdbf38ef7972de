package linear

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
)

func TestSettingsAreRead(t *testing.T) {
	t.Parallel()
	active, terminal := []string{"Todo"}, []string{"Done"}
	for _, test := range []struct {
		provider map[string]any
		want     Config
	}{
		{map[string]any{"api_key": apiKey, "project_slug": slug},
			Config{Endpoint: "https://api.linear.app/graphql", APIKey: apiKey, ProjectSlug: slug}},
		{map[string]any{"api_key": " " + apiKey + "\n", "project_slug": slug, "endpoint": "", "assignee": " me "},
			Config{Endpoint: "https://api.linear.app/graphql", APIKey: apiKey, ProjectSlug: slug, Assignee: "me"}},
		{map[string]any{"api_key": "Bearer " + apiKey, "project_slug": slug, "endpoint": "https://proxy.example.com/linear"},
			Config{Endpoint: "https://proxy.example.com/linear", APIKey: "Bearer " + apiKey, ProjectSlug: slug}},
	} {
		test.want.ActiveStates, test.want.TerminalStates = active, terminal
		got, err := ConfigFrom(test.provider, active, terminal)
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.provider, diff)
		}
	}
}

func TestAWrongSettingIsNamedAndTheKeyIsNotShown(t *testing.T) {
	t.Parallel()
	with := func(key string, value any) map[string]any {
		provider := map[string]any{"api_key": apiKey, "project_slug": slug}
		provider[key] = value
		return provider
	}
	for _, test := range []struct {
		provider map[string]any
		category error
		words    []string
	}{
		{nil, tracker.ErrMissingSecret, []string{"missing_tracker_api_key", "LINEAR_API_KEY"}},
		{with("api_key", " "), tracker.ErrMissingSecret, []string{"missing_tracker_api_key"}},
		{with("api_key", apiKey+"\nnext"), tracker.ErrInvalidConfig, []string{"tracker.api_key", "line break"}},
		{with("api_key", 7), tracker.ErrInvalidConfig, []string{"tracker.provider.api_key", "not text"}},
		{with("project_slug", ""), tracker.ErrInvalidConfig, []string{"missing_tracker_project_slug", "slugId"}},
		{with("project_slog", slug), tracker.ErrInvalidConfig, []string{"tracker.provider.project_slog", "did you mean project_slug?"}},
		{with("asignee", me), tracker.ErrInvalidConfig, []string{"did you mean assignee?", "api_key, assignee, endpoint, project_slug"}},
		{with("assignee", []any{"a"}), tracker.ErrInvalidConfig, []string{"tracker.provider.assignee"}},
		{with("endpoint", "http://api.linear.app/graphql"), tracker.ErrInvalidConfig, []string{"tracker.endpoint", "in the clear"}},
		{with("endpoint", "http://127.0.0.1.example.com/"), tracker.ErrInvalidConfig, []string{"in the clear"}},
		{with("endpoint", "https://user:"+apiKey+"@linear.app/"), tracker.ErrInvalidConfig, []string{"tracker.endpoint"}},
		{with("endpoint", "api.linear.app"), tracker.ErrInvalidConfig, []string{"tracker.endpoint"}},
		{with("endpoint", "https://%zz/"), tracker.ErrInvalidConfig, []string{"tracker.endpoint"}},
	} {
		_, err := ConfigFrom(test.provider, nil, nil)
		mentions(t, err, test.category, test.words...)
		if err != nil && strings.Contains(err.Error(), apiKey) {
			t.Errorf("the key is in: %v", err)
		}
	}
}

func TestWhatWasNotReadFromSettingsIsCheckedToo(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	_, err := Open(Config{Endpoint: defaultEndpoint, ProjectSlug: slug}, http.DefaultClient, log)
	mentions(t, err, tracker.ErrMissingSecret, "missing_tracker_api_key")
	_, err = Open(Config{Endpoint: "http://example.com", APIKey: apiKey, ProjectSlug: slug}, http.DefaultClient, log)
	mentions(t, err, tracker.ErrInvalidConfig, "in the clear")
}

func TestAnEndpointOnThisMachineNeedsNoEncryption(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"http://127.0.0.1:8080/graphql", "http://127.8.8.8/", "http://[::1]:80/", "http://localhost/"} {
		if err := checkEndpoint(endpoint); err != nil {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}
