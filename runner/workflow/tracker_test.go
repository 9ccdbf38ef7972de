package workflow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/linear"
)

func TestTheKindMustBeAKnownOne(t *testing.T) {
	t.Parallel()
	const must, missing = "unsupported_tracker_kind: must be one of file, github, linear", "unsupported_tracker_kind: is missing; write one of file, github, linear"
	for front, problem := range map[string]string{
		"":                          "tracker.kind: " + missing,
		"tracker: {kind: jira}":     `line 2: tracker.kind is "jira": ` + must,
		"tracker: {kind: Linear}":   `line 2: tracker.kind is "Linear": ` + must,
		"tracker: {kind: [linear]}": `line 2: tracker.kind is a list: ` + must,
		"tracker: {kind: }":         "line 2: tracker.kind: " + missing,
	} {
		if diff := cmp.Diff([]string{problem}, problems(t, front, with(nil))); diff != "" {
			t.Errorf("%s\n%s", front, diff)
		}
		if _, err := workflow.Parse(path, []byte("---\n"+front+"\n---\n"), with(nil)); !errors.Is(err, tracker.ErrUnsupportedKind) {
			t.Errorf("%s\n%v", front, err)
		}
	}
}

func TestTrackerSettingsComeFromBothPlacesAndTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		front string
		env   map[string]string
		want  workflow.Tracker
	}{
		"linear defaults": {
			`tracker: {kind: linear, project_slug: web}`,
			map[string]string{"LINEAR_API_KEY": "lin_1\n"},
			workflow.Tracker{
				Kind:        "linear",
				Config:      &linear.Config{APIKey: "lin_1", ProjectSlug: "web", Endpoint: "https://api.linear.app/graphql"},
				Credentials: []string{"lin_1"}, SecretEnv: []string{"LINEAR_API_KEY"},
			},
		},
		"linear in provider": {
			`tracker: {kind: linear, provider: {api_key: "${MY_KEY}", project_slug: $SLUG, endpoint: "https://x/$SLUG"}}`,
			map[string]string{"MY_KEY": "lin_2", "SLUG": "app", "LINEAR_API_KEY": "lin_1"},
			workflow.Tracker{
				Kind:        "linear",
				Config:      &linear.Config{APIKey: "lin_2", ProjectSlug: "app", Endpoint: "https://x/$SLUG"},
				Credentials: []string{"lin_2"}, SecretEnv: []string{"LINEAR_API_KEY", "MY_KEY"},
			},
		},
		"the assignee of the environment": {
			`tracker: {kind: linear, project_slug: web}`,
			map[string]string{"LINEAR_API_KEY": "lin_1", "LINEAR_ASSIGNEE": "me"},
			workflow.Tracker{
				Kind:        "linear",
				Config:      &linear.Config{APIKey: "lin_1", ProjectSlug: "web", Endpoint: "https://api.linear.app/graphql", Assignee: "me"},
				Credentials: []string{"lin_1"}, SecretEnv: []string{"LINEAR_API_KEY"},
			},
		},
		"an assignee directly below tracker": {
			`tracker: {kind: linear, project_slug: web, assignee: kim}`,
			map[string]string{"LINEAR_API_KEY": "lin_1", "LINEAR_ASSIGNEE": "me"},
			workflow.Tracker{
				Kind:        "linear",
				Config:      &linear.Config{APIKey: "lin_1", ProjectSlug: "web", Endpoint: "https://api.linear.app/graphql", Assignee: "kim"},
				Credentials: []string{"lin_1"}, SecretEnv: []string{"LINEAR_API_KEY"},
			},
		},
		"a key by the name token": {
			`tracker: {kind: github, provider: {repo: a/b, token: $TRACKER_TOKEN}}`,
			map[string]string{"TRACKER_TOKEN": "ghs_2", "GITHUB_TOKEN": "ghs_1"},
			workflow.Tracker{
				Kind: "github",
				Config: &github.Config{
					Token: "ghs_2", Repo: "a/b", APIURL: "https://api.github.com",
					PriorityLabels: map[string]int{"p0": 1, "p1": 2, "p2": 3, "p3": 4}, Trust: "members",
				},
				Credentials: []string{"ghs_2"}, SecretEnv: []string{"GITHUB_TOKEN", "TRACKER_TOKEN"},
			},
		},
		"the key of Linear by the name token, and flat with the same value": {
			`tracker: {kind: linear, api_key: $K, project_slug: web, provider: {token: "${K}"}}`,
			map[string]string{"K": "lin_1"},
			workflow.Tracker{
				Kind:        "linear",
				Config:      &linear.Config{APIKey: "lin_1", ProjectSlug: "web", Endpoint: "https://api.linear.app/graphql"},
				Credentials: []string{"lin_1"}, SecretEnv: []string{"LINEAR_API_KEY", "K"},
			},
		},
		"a literal key": {
			`tracker: {kind: linear, api_key: lin_$3, project_slug: web, provider: {project_slug: web}}`, nil,
			workflow.Tracker{
				Kind:        "linear",
				Config:      &linear.Config{APIKey: "lin_$3", ProjectSlug: "web", Endpoint: "https://api.linear.app/graphql"},
				Credentials: []string{"lin_$3"}, SecretEnv: []string{"LINEAR_API_KEY"},
			},
		},
		"the same value in two spellings": {
			`tracker: {kind: linear, api_key: $K, project_slug: web, provider: {api_key: "${K}"}}`,
			map[string]string{"K": "lin_1"},
			workflow.Tracker{
				Kind:        "linear",
				Config:      &linear.Config{APIKey: "lin_1", ProjectSlug: "web", Endpoint: "https://api.linear.app/graphql"},
				Credentials: []string{"lin_1"}, SecretEnv: []string{"LINEAR_API_KEY", "K"},
			},
		},
		"github defaults": {
			`tracker: {kind: github}`,
			map[string]string{"GITHUB_TOKEN": "ghs_1", "GITHUB_REPOSITORY": "o/r", "GITHUB_API_URL": "https://ghe/api/v3"},
			workflow.Tracker{
				Kind: "github",
				Config: &github.Config{
					Token: "ghs_1", Repo: "o/r", APIURL: "https://ghe/api/v3",
					PriorityLabels: map[string]int{"p0": 1, "p1": 2, "p2": 3, "p3": 4}, Trust: "members",
				},
				Credentials: []string{"ghs_1"}, SecretEnv: []string{"GITHUB_TOKEN"},
			},
		},
		"github with nested settings": {
			`tracker: {kind: github, active_states: [Ready], terminal_states: [closed], provider: {repo: a/b, project: {owner: $OWNER, number: 3, field: $NONE}, priority_labels: {hot: 1}}}`,
			map[string]string{"GITHUB_TOKEN": "ghs_1", "GITHUB_REPOSITORY": "o/r", "OWNER": "acme"},
			workflow.Tracker{
				Kind: "github",
				Config: &github.Config{
					Token: "ghs_1", Repo: "a/b", APIURL: "https://api.github.com",
					Project:        &github.Project{Owner: "acme", Number: 3, Field: "Status"},
					PriorityLabels: map[string]int{"hot": 1}, Trust: "members",
				},
				Credentials: []string{"ghs_1"}, SecretEnv: []string{"GITHUB_TOKEN"},
			},
		},
	} {
		if diff := cmp.Diff(c.want, parse(t, c.front, with(c.env)).Settings.Tracker); diff != "" {
			t.Errorf("%s\n%s", name, diff)
		}
	}
}

func TestAMissingTrackerSettingIsAProblemWithItsCategory(t *testing.T) {
	t.Parallel()
	key := map[string]string{"LINEAR_API_KEY": "lin_1"}
	for front, c := range map[string]struct {
		env      map[string]string
		category error
		want     string
	}{
		`tracker: {kind: linear, project_slug: x}`: {
			map[string]string{"LINEAR_API_KEY": " "}, tracker.ErrMissingSecret,
			"line 2: tracker.api_key: missing_tracker_api_key: is missing; set the environment variable LINEAR_API_KEY: export LINEAR_API_KEY=lin_api_…",
		},
		`tracker: {kind: linear, project_slug: x, api_key: $OTHER}`: {
			key, tracker.ErrMissingSecret,
			"line 2: tracker.api_key: missing_tracker_api_key: is missing; set the environment variable OTHER: export OTHER=lin_api_…",
		},
		`tracker: {kind: linear, project_slug: x, api_key: ""}`: {
			key, tracker.ErrMissingSecret,
			"line 2: tracker.api_key: missing_tracker_api_key: is missing; write the key alone, without a line break or another control character",
		},
		`tracker: {kind: linear, project_slug: x, provider: {api_key: $OTHER}}`: {
			key, tracker.ErrMissingSecret,
			"line 2: tracker.provider.api_key: missing_tracker_api_key: is missing; set the environment variable OTHER: export OTHER=lin_api_…",
		},
		`tracker: {kind: linear}`: {
			key, tracker.ErrInvalidConfig,
			"line 2: tracker.project_slug: missing_tracker_project_slug: is missing; write the project's slugId, in quotes when it looks like a number",
		},
		`tracker: {kind: linear, project_slug: 12}`: {
			key, tracker.ErrInvalidConfig,
			"line 2: tracker.project_slug is 12: invalid_tracker_config: must be the project's slugId, in quotes when it looks like a number",
		},
		`tracker: {kind: linear, project_slug: x, endpoint: $NONE}`: {
			key, tracker.ErrInvalidConfig,
			"line 2: tracker.endpoint: invalid_tracker_config: is missing; set the environment variable NONE",
		},
		`tracker: {kind: github} `: {
			map[string]string{"GITHUB_REPOSITORY": "o/r"}, tracker.ErrMissingSecret,
			"line 2: tracker.api_key: missing_tracker_secret: is missing; set the environment variable GITHUB_TOKEN: export GITHUB_TOKEN=$(gh auth token)",
		},
		`tracker: {kind: github}`: {
			map[string]string{"GITHUB_TOKEN": "ghs_1"}, tracker.ErrInvalidConfig,
			"line 2: tracker.provider.repo: invalid_tracker_config: is missing; set the environment variable GITHUB_REPOSITORY: export GITHUB_REPOSITORY=OWNER/NAME",
		},
		`tracker: {kind: github, provider: {api_url: $NONE}}`: { // a token of another server must not go to github.com
			map[string]string{"GITHUB_TOKEN": "ghs_1", "GITHUB_REPOSITORY": "o/r"}, tracker.ErrInvalidConfig,
			"line 2: tracker.provider.api_url: invalid_tracker_config: is missing; set the environment variable NONE",
		},
		`tracker: {kind: file, provider: {path: $NONE}}`: {
			nil, tracker.ErrInvalidConfig,
			"line 2: tracker.provider.path: invalid_tracker_config: is missing; set the environment variable NONE",
		},
		`tracker: {kind: file, provider: {path: 3}}`: {
			nil, tracker.ErrInvalidConfig,
			"line 2: tracker.provider.path is 3: invalid_tracker_config: must be the name of a folder",
		},
	} {
		if diff := cmp.Diff([]string{c.want}, problems(t, front, with(c.env))); diff != "" {
			t.Errorf("%s\n%s", front, diff)
		}
		if _, err := workflow.Parse(path, []byte("---\n"+front+"\n---\n"), with(c.env)); !errors.Is(err, c.category) {
			t.Errorf("%s\n%v", front, err)
		}
	}
}

// Everything that a file alone can say wrongly about a tracker is said at once, with
// its line, before anything is opened.
func TestEveryWrongTrackerSettingIsAProblemOfTheFile(t *testing.T) {
	t.Parallel()
	front := strings.TrimPrefix(`
tracker:
  kind: github
  endpoint: https://ghe.example.org/api/v3
  active_states: [Todo, OPEN]
  provider:
    repo: shop
    api_url: http://ghe.example.org/api/v3
    trust: everyone
    trust_labels: [ok]
    priority_labels: {urgent: 0}
    tool_scope: $SCOPE`, "\n")
	want := []string{
		"line 2: tracker.api_key: missing_tracker_secret: is missing; set the environment variable GITHUB_TOKEN: export GITHUB_TOKEN=$(gh auth token)",
		"line 4: tracker.endpoint: invalid_tracker_config: is unknown; write api_url",
		`line 5: tracker.active_states is "Todo": invalid_tracker_config: is not a state that an issue can have; without tracker.provider.state_label_prefix or project there are open and closed alone`,
		`line 7: tracker.provider.repo is "shop": invalid_tracker_config: must be owner/name`,
		`line 8: tracker.provider.api_url is "http://ghe.example.org/api/v3": invalid_tracker_config: must be the root of the REST API, as in https://ghe.example.org/api/v3 (http is for a loopback address alone)`,
		`line 9: tracker.provider.trust is "everyone": invalid_tracker_config: must be members or anyone`,
		"line 10: tracker.provider.trust_labels: invalid_tracker_config: is unknown; did you mean trust_label?",
		"line 11: tracker.provider.priority_labels is a map: invalid_tracker_config: must be labels with their priority, a whole number from 1, as in {urgent: 1, low: 4}",
		"line 12: tracker.provider.tool_scope: invalid_tracker_config: is unknown; the settings of github are repo, api_key, api_url, project, state_label_prefix, priority_labels, trust, trust_label, tool_labels",
	}
	if diff := cmp.Diff(want, problems(t, front, with(map[string]string{"SCOPE": "hidden-value"}))); diff != "" {
		t.Error(diff)
	}
}

func TestAnUnknownTrackerSettingIsNamedWithTheNearestKnownOne(t *testing.T) {
	t.Parallel()
	for front, want := range map[string]string{
		`tracker: {kind: file, provider: {pth: x}}`:                                      "line 2: tracker.provider.pth: invalid_tracker_config: is unknown; did you mean path?",
		`tracker: {kind: file, provider: {token: x}}`:                                    "line 2: tracker.provider.token: invalid_tracker_config: is unknown; the settings of file are path",
		`tracker: {kind: file, api_key: x}`:                                              "line 2: tracker.api_key: invalid_tracker_config: is unknown; the settings of file are path",
		`tracker: {kind: linear, project_slug: x, provider: {asignee: me}}`:              "line 2: tracker.provider.asignee: invalid_tracker_config: is unknown; did you mean assignee?",
		`tracker: {kind: linear, project_slug: x, provider: {asignee: $LINEAR_API_KEY}}`: "line 2: tracker.provider.asignee: invalid_tracker_config: is unknown; did you mean assignee?",
	} {
		if diff := cmp.Diff([]string{want}, problems(t, front, with(map[string]string{"LINEAR_API_KEY": "lin_1"}))); diff != "" {
			t.Errorf("%s\n%s", front, diff)
		}
	}
}

func TestAnOptionalTrackerSettingWithoutAValueIsLeftOutWithAWarning(t *testing.T) {
	t.Parallel()
	wf := parse(t, `tracker: {kind: linear, project_slug: x, provider: {assignee: $NOBODY}}`, with(map[string]string{"LINEAR_API_KEY": "lin_1"}))
	if cfg := wf.Settings.Tracker.Config.(*linear.Config); cfg.Assignee != "" {
		t.Errorf("assignee %q", cfg.Assignee)
	}
	want := []string{"tracker.provider.assignee counts as missing: the environment variable NOBODY is not set or empty"}
	if diff := cmp.Diff(want, wf.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestFlatAndProviderSettingsThatDifferAreAProblem(t *testing.T) {
	t.Parallel()
	for front, want := range map[string]string{
		"tracker:\n  kind: linear\n  api_key: sk-one\n  project_slug: x\n  provider:\n    api_key: sk-two": "line 4: tracker.api_key: invalid_tracker_config: differs from tracker.provider.api_key on line 7; keep one of them",
		"tracker:\n  kind: linear\n  api_key: sk-one\n  project_slug: x\n  provider:\n    token: sk-two":   "line 4: tracker.api_key: invalid_tracker_config: differs from tracker.provider.token on line 7; keep one of them",
		"tracker:\n  kind: github\n  provider:\n    repo: a/b\n    api_key: sk-one\n    token: sk-two":     "line 7: tracker.provider.token: invalid_tracker_config: differs from tracker.provider.api_key on line 6; keep one of them",
	} {
		if diff := cmp.Diff([]string{want}, problems(t, front, with(nil))); diff != "" {
			t.Errorf("%s\n%s", front, diff)
		}
	}
}

func TestNoErrorShowsASecret(t *testing.T) {
	t.Parallel()
	env := with(map[string]string{"K": "sk-secret-value", "LINEAR_API_KEY": "sk-secret-value"})
	for _, front := range []string{
		"tracker: sk-secret-value",
		"tracker: {kind: linear, provider: sk-secret-value}",
		"tracker: {kind: linear, api_key: sk-secret-value, provider: {api_key: other}}",
		"tracker: {kind: linear, api_key: [sk-secret-value]}",
		"tracker: {kind: linear, api_key: {sk-secret-value: x}}",
		"tracker: {kind: linear, api_key: !!int sk-secret-value}",
		"tracker: {kind: linear, api_key: $K}",
		"tracker: {kind: linear, api_key: sk-secret-value",
		"tracker:\n  kind: linear\n  api_key: sk-secret-value: x",
		"tracker: {kind: github, repo: x, api_key: sk-secret-value, unknown: {}}",
		"tracker: {kind: github, api_key: 'sk secret-value'}",
		"tracker: {kind: github, provider: {token: sk-secret-value}}",
		"tracker: {kind: github, provider: {repo: $K}}",
		"tracker: {kind: github, provider: {api_url: 'https://ada:secret-value@ghe.example.org'}}",
		"tracker: {kind: linear, endpoint: 'https://ada:secret-value@linear.example.org'}",
	} {
		wf, err := workflow.Parse(path, []byte("---\n"+front+"\n---\n"), env)
		if err == nil || strings.Contains(err.Error()+strings.Join(wf.Warnings, "\n"), "secret-value") {
			t.Errorf("%s\n%v\n%q", front, err, wf.Warnings)
		}
	}
}

// A token has a shape that is found wherever somebody put it, also where a long text
// is shown in part.
func TestATokenInTheWrongPlaceIsNotShown(t *testing.T) {
	t.Parallel()
	const pat = "github_pat_0123456789abcdefghijABCDEFGHIJ0123456789"
	jwt := "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9." + strings.Repeat("cGF5bG9hZA", 9) + ".c2lnbmF0dXJlc2lnbmF0dXJl"
	for _, token := range []string{pat, jwt} {
		for _, front := range []string{
			"tracker: {kind: " + token + "}",
			"tracker: {kind: github, provider: {repo: " + token + "}}",
			"tracker: {kind: linear, endpoint: " + token + "}",
			"tracker: {kind: file}\nagent: {max_turns: " + token + "}",
			"tracker: {kind: file}\nhooks: {timeout_ms: " + token + "}\nagent: {max_turns: 0}",
			"tracker: {kind: file}\nagent: {max_concurrent_agents_by_state: {todo: " + token + "}, max_turns: 0}",
		} {
			if text := strings.Join(problems(t, front, with(nil)), "\n"); strings.Contains(text, token[:30]) {
				t.Errorf("%s\n%s", front, text)
			}
			if _, err := workflow.Parse(path, []byte("---\n"+front+"\n---\n"), with(nil)); strings.Contains(err.Error(), token[:30]) {
				t.Errorf("%s\n%v", front, err)
			}
		}
	}
}

func TestGitHubHasStatesOfItsOwn(t *testing.T) {
	t.Parallel()
	env := with(map[string]string{"GITHUB_TOKEN": "t", "GITHUB_REPOSITORY": "o/r"})
	for _, front := range []string{`tracker: {kind: github}`, `tracker: {kind: github, provider: {state_label_prefix: "", project: null}}`} {
		policy := parse(t, front, env).Settings.Policy
		if diff := cmp.Diff([][]string{{"open"}, {"closed"}}, [][]string{policy.ActiveStates, policy.TerminalStates}); diff != "" {
			t.Errorf("%s\n%s", front, diff)
		}
	}
	const active, terminal, reason = "line 2: tracker.active_states", "line 2: tracker.terminal_states", ": invalid_tracker_config: is missing; with state labels or a project the states have no default, so list them"
	for front, want := range map[string][]string{
		`tracker: {kind: github, provider: {state_label_prefix: "status:"}}`:                          {active + reason, terminal + reason},
		`tracker: {kind: github, active_states: [Ready], provider: {project: {owner: o, number: 1}}}`: {terminal + reason},
	} {
		if diff := cmp.Diff(want, problems(t, front, env)); diff != "" {
			t.Errorf("%s\n%s", front, diff)
		}
	}
}
