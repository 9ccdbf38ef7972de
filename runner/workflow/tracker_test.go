package workflow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

func TestTheKindMustBeAKnownOne(t *testing.T) {
	t.Parallel()
	const want = "unsupported_tracker_kind: must be one of file, github, linear"
	for front, problem := range map[string]string{
		"":                          "tracker.kind: " + want,
		"tracker: {kind: jira}":     `line 2: tracker.kind is "jira": ` + want,
		"tracker: {kind: Linear}":   `line 2: tracker.kind is "Linear": ` + want,
		"tracker: {kind: [linear]}": `line 2: tracker.kind is a list: ` + want,
		"tracker: {kind: }":         "tracker.kind: " + want,
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
				Kind:      "linear",
				Provider:  map[string]any{"api_key": "lin_1", "project_slug": "web", "endpoint": "https://api.linear.app/graphql"},
				SecretEnv: []string{"LINEAR_API_KEY"},
			},
		},
		"linear in provider": {
			`tracker: {kind: linear, provider: {api_key: "${MY_KEY}", project_slug: $SLUG, endpoint: "https://x/$SLUG"}}`,
			map[string]string{"MY_KEY": "lin_2", "SLUG": "app", "LINEAR_API_KEY": "lin_1"},
			workflow.Tracker{
				Kind:      "linear",
				Provider:  map[string]any{"api_key": "lin_2", "project_slug": "app", "endpoint": "https://x/$SLUG"},
				SecretEnv: []string{"MY_KEY"},
			},
		},
		"a literal key": {
			`tracker: {kind: linear, api_key: lin_$3, project_slug: web, provider: {project_slug: web}}`, nil,
			workflow.Tracker{
				Kind:     "linear",
				Provider: map[string]any{"api_key": "lin_$3", "project_slug": "web", "endpoint": "https://api.linear.app/graphql"},
			},
		},
		"the same value in two spellings": {
			`tracker: {kind: linear, api_key: $K, project_slug: web, provider: {api_key: "${K}"}}`,
			map[string]string{"K": "lin_1"},
			workflow.Tracker{
				Kind:      "linear",
				Provider:  map[string]any{"api_key": "lin_1", "project_slug": "web", "endpoint": "https://api.linear.app/graphql"},
				SecretEnv: []string{"K"},
			},
		},
		"github defaults": {
			`tracker: {kind: github}`,
			map[string]string{"GITHUB_TOKEN": "ghs_1", "GITHUB_REPOSITORY": "o/r", "GITHUB_API_URL": "https://ghe/api/v3"},
			workflow.Tracker{
				Kind:      "github",
				Provider:  map[string]any{"api_key": "ghs_1", "repo": "o/r", "api_url": "https://ghe/api/v3"},
				SecretEnv: []string{"GITHUB_TOKEN"},
			},
		},
		"github with nested settings": {
			`tracker: {kind: github, active_states: [Ready], terminal_states: [closed], provider: {repo: a/b, project: {owner: $OWNER, number: 3, field: $NONE}, extra: [$OWNER, $NONE, x]}}`,
			map[string]string{"GITHUB_TOKEN": "ghs_1", "GITHUB_REPOSITORY": "o/r", "OWNER": "acme"},
			workflow.Tracker{
				Kind: "github",
				Provider: map[string]any{
					"api_key": "ghs_1", "repo": "a/b",
					"project": map[string]any{"owner": "acme", "number": 3},
					"extra":   []any{"acme", "x"},
				},
				SecretEnv: []string{"GITHUB_TOKEN"},
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
	linear := map[string]string{"LINEAR_API_KEY": "lin_1"}
	for front, c := range map[string]struct {
		env      map[string]string
		category error
		want     string
	}{
		`tracker: {kind: linear, project_slug: x}`: {
			map[string]string{"LINEAR_API_KEY": " "}, tracker.ErrMissingSecret,
			"tracker.api_key: missing_tracker_secret: is missing; set the environment variable LINEAR_API_KEY",
		},
		`tracker: {kind: linear, project_slug: x, api_key: $OTHER}`: {
			linear, tracker.ErrMissingSecret,
			"line 2: tracker.api_key: missing_tracker_secret: is missing; set the environment variable OTHER",
		},
		`tracker: {kind: linear, project_slug: x, api_key: ""}`: {
			linear, tracker.ErrMissingSecret,
			"line 2: tracker.api_key: missing_tracker_secret: is missing; write it",
		},
		`tracker: {kind: linear, project_slug: x, provider: {api_key: $OTHER}}`: {
			linear, tracker.ErrMissingSecret,
			"line 2: tracker.provider.api_key: missing_tracker_secret: is missing; set the environment variable OTHER",
		},
		`tracker: {kind: linear}`: {
			linear, tracker.ErrInvalidConfig,
			"tracker.project_slug: invalid_tracker_config: is missing; write it",
		},
		`tracker: {kind: linear, project_slug: 12}`: {
			linear, tracker.ErrInvalidConfig,
			"line 2: tracker.project_slug: invalid_tracker_config: must be text; put it in quotes if it is",
		},
		`tracker: {kind: linear, project_slug: x, endpoint: $NONE}`: {
			linear, tracker.ErrInvalidConfig,
			"line 2: tracker.endpoint: invalid_tracker_config: is missing; set the environment variable NONE",
		},
		`tracker: {kind: github}`: {
			map[string]string{"GITHUB_TOKEN": "ghs_1"}, tracker.ErrInvalidConfig,
			"tracker.provider.repo: invalid_tracker_config: is missing; set the environment variable GITHUB_REPOSITORY",
		},
		`tracker: {kind: file, provider: {path: $NONE}}`: {
			nil, tracker.ErrInvalidConfig,
			"line 2: tracker.provider.path: invalid_tracker_config: is missing; set the environment variable NONE",
		},
		`tracker: {kind: file, provider: {path: 3}}`: {
			nil, tracker.ErrInvalidConfig,
			"line 2: tracker.provider.path: invalid_tracker_config: must be text; put it in quotes if it is",
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

func TestAnOptionalTrackerSettingWithoutAValueIsLeftOutWithAWarning(t *testing.T) {
	t.Parallel()
	wf := parse(t, `tracker: {kind: file, provider: {assignee: $NOBODY}}`, with(nil))
	if diff := cmp.Diff(map[string]any{"path": "/repo/issues"}, wf.Settings.Tracker.Provider); diff != "" {
		t.Error(diff)
	}
	want := []string{"tracker.provider.assignee counts as missing: the environment variable NOBODY is not set or empty"}
	if diff := cmp.Diff(want, wf.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestFlatAndProviderSettingsThatDifferAreAProblem(t *testing.T) {
	t.Parallel()
	front := "tracker:\n  kind: linear\n  api_key: sk-one\n  project_slug: x\n  provider:\n    api_key: sk-two"
	want := []string{"line 4: tracker.api_key: invalid_tracker_config: differs from tracker.provider.api_key on line 7; keep one of them"}
	if diff := cmp.Diff(want, problems(t, front, with(nil))); diff != "" {
		t.Error(diff)
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
	} {
		wf, err := workflow.Parse(path, []byte("---\n"+front+"\n---\n"), env)
		if err == nil || strings.Contains(err.Error()+strings.Join(wf.Warnings, "\n"), "secret-value") {
			t.Errorf("%s\n%v\n%q", front, err, wf.Warnings)
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
	const reason = ": invalid_tracker_config: is missing; with state labels or a project the states have no default, so list them"
	for front, want := range map[string][]string{
		`tracker: {kind: github, provider: {state_label_prefix: "status:"}}`:                          {"tracker.active_states" + reason, "tracker.terminal_states" + reason},
		`tracker: {kind: github, active_states: [Ready], provider: {project: {owner: o, number: 1}}}`: {"tracker.terminal_states" + reason},
	} {
		if diff := cmp.Diff(want, problems(t, front, env)); diff != "" {
			t.Errorf("%s\n%s", front, diff)
		}
	}
}
