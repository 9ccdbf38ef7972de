package github

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
)

func TestSettingsHaveDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := ConfigFrom(map[string]any{"repo": "acme/shop", "api_key": "k"}, []string{"open"}, []string{"closed"})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Repo: "acme/shop", Token: "k", APIURL: "https://api.github.com",
		PriorityLabels: map[string]int{"p0": 1, "p1": 2, "p2": 3, "p3": 4},
		Trust:          TrustMembers, ToolScope: ScopeRepo, StateBranch: "symphony-state",
		Active: []string{"open"}, Terminal: []string{"closed"},
	}
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Error(diff)
	}
}

func TestEverySettingIsTaken(t *testing.T) {
	t.Parallel()
	cfg, err := ConfigFrom(map[string]any{
		"repo": "acme/shop", "api_key": "k", "api_url": "https://ghe.example.org/api/v3/",
		"project": map[string]any{"number": 3}, "state_label_prefix": "status:", "priority_labels": map[string]any{"Urgent": 1},
		"trust": "anyone", "trust_label": "OK To Work", "tool_scope": "token",
	}, []string{"Todo"}, []string{"Done"})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Repo: "acme/shop", Token: "k", APIURL: "https://ghe.example.org/api/v3", Project: &Project{"acme", 3, "Status"},
		StateLabelPrefix: "status:", PriorityLabels: map[string]int{"urgent": 1},
		Trust: TrustAnyone, TrustLabel: "ok to work", ToolScope: ScopeToken, StateBranch: "symphony-state",
		Active: []string{"Todo"}, Terminal: []string{"Done"},
	}
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Error(diff)
	}
	if got, want := graphqlURL(cfg.APIURL), "https://ghe.example.org/api/graphql"; got != want {
		t.Errorf("GraphQL at %s, want %s", got, want)
	}
	if got := cfg.warnings(); len(got) != 2 || !strings.Contains(got[0], "anyone") || !strings.Contains(got[1], "closed") {
		t.Errorf("warnings %q: want one on trust and one on closed issues", got)
	}
}

func TestWrongSettingsAreRefusedWithWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		key   string
		value any
		want  string // in the error
	}{
		{"repo", "shop", `repo is "shop": write owner/name`},
		{"repo", "acme/..", `repo is "acme/..": write owner/name`},
		{"repo", "acme/shop/x", "write owner/name"},
		{"repo", "acme/shop?x=", "write owner/name"},
		{"repo", 7, "repo is 7: write owner/name"},
		{"api_url", "http://ghe.example.org/api/v3", "http is for a loopback address alone"},
		{"api_url", "ftp://127.0.0.1", "api_url is"},
		{"api_url", "https://user:pass@ghe.example.org", "api_url is"},
		{"api_url", "https://ghe.example.org?x=1", "api_url is"},
		{"api_url", "https://", "api_url is"},
		{"project", "acme/3", "as in {owner: acme, number: 3"},
		{"project", map[string]any{"owner": "acme"}, "as in {owner: acme, number: 3"},
		{"project", map[string]any{"number": "3"}, "as in {owner: acme, number: 3"},
		{"project", map[string]any{"number": 3, "fields": "x"}, "as in {owner: acme, number: 3"},
		{"project", map[string]any{"number": 3, "field": ""}, "as in {owner: acme, number: 3"},
		{"priority_labels", map[string]any{"p0": 0}, "a whole number from 1"},
		{"priority_labels", []any{"p0"}, "a whole number from 1"},
		{"trust", "everyone", `trust is "everyone": write one of ["members" "anyone"]`},
		{"tool_scope", "all", `one of ["repo" "token"]`},
		{"trust_label", 1, "the name of a label"},
		{"state_label_prefix", true, "state_label_prefix is true: write text"},
		{"token", "k", "token is unknown: write api_key"},
		{"endpoint", "x", "endpoint is unknown: write api_url"},
		{"trust_labels", "x", "did you mean trust_label?"},
		{"zzzzzzzz", "x", "the keys are api_key, api_url"},
	} {
		provider := map[string]any{"repo": "acme/shop", "api_key": "s3cr3t"}
		maps.Copy(provider, map[string]any{test.key: test.value})
		_, err := ConfigFrom(provider, []string{"open"}, []string{"closed"})
		if !errors.Is(err, tracker.ErrInvalidConfig) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v: %v, want %q", test.key, test.value, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("the error holds the credential: %v", err)
		}
	}
}

func TestACredentialThatCannotBeSentIsRefusedAndNotShown(t *testing.T) {
	t.Parallel()
	for value, want := range map[any]error{"": tracker.ErrInvalidConfig, "s3cr3t\nX-Other: 1": tracker.ErrInvalidConfig, nil: tracker.ErrMissingSecret} {
		provider := map[string]any{"repo": "acme/shop"}
		if value != nil {
			provider["api_key"] = value
		}
		_, err := ConfigFrom(provider, nil, nil)
		if !errors.Is(err, want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%q: %v, want %v without the credential", value, err, want)
		}
	}
}

func TestStatesThatCanNeverBeAreRefused(t *testing.T) {
	t.Parallel()
	_, err := ConfigFrom(map[string]any{"repo": "acme/shop", "api_key": "k"}, []string{"Todo"}, []string{"closed"})
	if !errors.Is(err, tracker.ErrInvalidConfig) || !strings.Contains(err.Error(), `"Todo"`) || !strings.Contains(err.Error(), `only "open" and "closed"`) {
		t.Errorf("%v: want the state and those that there are", err)
	}
}

func TestLoopbackMayDoWithoutEncryption(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:1/api/v3"} {
		cfg, err := ConfigFrom(map[string]any{"repo": "acme/shop", "api_key": "k", "api_url": url}, nil, nil)
		if err != nil || cfg.APIURL != url {
			t.Errorf("%s: %q, %v", url, cfg.APIURL, err)
		}
	}
}

func TestAConfigByHandIsRefusedWhenItIsIncomplete(t *testing.T) {
	t.Parallel()
	if _, err := Open(Config{Repo: "acme/shop"}, http.DefaultClient, nil); !errors.Is(err, tracker.ErrInvalidConfig) {
		t.Errorf("%v, want %v", err, tracker.ErrInvalidConfig)
	}
}
