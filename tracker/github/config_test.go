package github

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

func TestSettingsHaveDefaults(t *testing.T) {
	t.Parallel()
	cfg := decode(t, map[string]any{"repo": "acme/shop", "api_key": "k"})
	want := Config{
		Repo: "acme/shop", Token: "k", APIURL: "https://api.github.com",
		PriorityLabels: map[string]int{"p0": 1, "p1": 2, "p2": 3, "p3": 4},
		Trust:          TrustMembers,
	}
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Error(diff)
	}
	states := tracker.States{Active: []string{"open"}, Terminal: []string{"closed"}, Only: []string{"open", "closed"}, Reason: cfg.States().Reason}
	if diff := cmp.Diff(states, cfg.States()); diff != "" {
		t.Error(diff)
	}
}

func TestEverySettingIsDecoded(t *testing.T) {
	t.Parallel()
	cfg := decode(t, map[string]any{
		"repo": "acme/shop", "api_key": "k", "api_url": "https://ghe.example.org/api/v3/",
		"project": map[string]any{"number": 3}, "state_label_prefix": "status:", "priority_labels": map[string]any{"Urgent": 1},
		"trust": "anyone", "trust_label": "OK To Work", "tool_labels": []any{"Needs Review "},
	})
	want := Config{
		Repo: "acme/shop", Token: "k", APIURL: "https://ghe.example.org/api/v3", Project: &Project{"", 3, "Status"},
		StateLabelPrefix: "status:", PriorityLabels: map[string]int{"urgent": 1},
		Trust: TrustAnyone, TrustLabel: "ok to work", ToolLabels: []string{"needs review"},
	}
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Error(diff)
	}
	if states := cfg.States(); states.Active != nil || states.Only != nil || states.Reason == "" {
		t.Errorf("states %+v: want none, and why", states)
	}
	cfg.TerminalStates = []string{"Done"}
	if got := cfg.warnings(); len(got) != 2 || !strings.Contains(got[0], "anyone") || !strings.Contains(got[1], "closed") {
		t.Errorf("warnings %q: want one on trust and one on closed issues", got)
	}
}

func TestABoardWithoutAnOwnerIsThatOfTheRepositorysOwner(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	cfg := f.config(map[string]any{"project": map[string]any{"number": 3}}, nil, nil)
	if got := f.openConfig(cfg).cfg.Project; got.Owner != "acme" || cfg.Project.Owner != "" {
		t.Errorf("the board is of %q; the settings, which others read too, say %q", got.Owner, cfg.Project.Owner)
	}
}

func TestWrongSettingsAreRefusedWithWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		key   string
		value any
		want  string // the reason, or its beginning
	}{
		{"repo", "shop", "must be owner/name"},
		{"repo", "acme/..", "must be owner/name"},
		{"repo", "acme/shop/x", "must be owner/name"},
		{"repo", "acme/shop?x=", "must be owner/name"},
		{"repo", 7, "must be owner/name"},
		{"repo", "", "is missing; write owner/name"},
		{"api_key", "", "is missing"},
		{"api_key", "s3cr3t\nX-Other: 1", "must be a token without space"},
		{"api_url", "http://ghe.example.org/api/v3", "must be the root of the REST API"},
		{"api_url", "ftp://127.0.0.1", "must be the root of the REST API"},
		{"api_url", "https://user:pass@ghe.example.org", "must be the root of the REST API"},
		{"api_url", "https://ghe.example.org?x=1", "must be the root of the REST API"},
		{"api_url", "https://", "must be the root of the REST API"},
		{"api_url", "", "is missing; write the root of the REST API"},
		{"project", "acme/3", "must be number, owner and field, as in {owner: acme, number: 3"},
		{"project", map[string]any{"owner": "acme"}, "must be number, owner and field"},
		{"project", map[string]any{"number": "3"}, "must be number, owner and field"},
		{"project", map[string]any{"number": 3, "fields": "x"}, "must be number, owner and field"},
		{"project", map[string]any{"number": 3, "field": ""}, "must be number, owner and field"},
		{"priority_labels", map[string]any{"p0": 0}, "must be labels with their priority, a whole number from 1"},
		{"priority_labels", []any{"p0"}, "must be labels with their priority, a whole number from 1"},
		{"trust", "everyone", "must be members or anyone"},
		{"trust", "", "must be members or anyone"},
		{"tool_labels", []any{7}, "must be a list of labels"},
		{"tool_labels", []any{" "}, "must be a list of labels"},
		{"tool_labels", "x", "must be a list of labels"},
		{"trust_label", 1, "must be the name of a label"},
		{"state_label_prefix", true, "must be text"},
		{"endpoint", "x", "is unknown; write api_url"},
		{"trust_labels", "x", "is unknown; did you mean trust_label?"},
		{"zzzzzzzz", "x", "is unknown; the settings of github are repo, api_key, api_url"},
	} {
		written := map[string]any{"repo": "acme/shop", "api_key": "s3cr3t"}
		maps.Copy(written, map[string]any{test.key: test.value})
		_, problems := trackertest.Decode(Kind(), written)
		if len(problems) != 1 || problems[0].Setting != test.key || !strings.HasPrefix(problems[0].Reason, test.want) {
			t.Errorf("%s: %v: got %+v, want %q", test.key, test.value, problems, test.want)
		}
	}
}

func TestAMissingTokenHasACategoryOfItsOwn(t *testing.T) {
	t.Parallel()
	_, problems := trackertest.Decode(Kind(), map[string]any{"repo": "acme/shop"})
	if len(problems) != 1 || !errors.Is(problems[0].Category, tracker.ErrMissingSecret) || !problems[0].Missing {
		t.Errorf("%+v", problems)
	}
}

func TestLoopbackMayDoWithoutEncryption(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:1/api/v3"} {
		if cfg := decode(t, map[string]any{"repo": "acme/shop", "api_key": "k", "api_url": url}); cfg.APIURL != url {
			t.Errorf("%s: %q", url, cfg.APIURL)
		}
	}
}
