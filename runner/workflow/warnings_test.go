package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/workflow"
)

func TestUnknownKeysAreOneWarningThatNamesTheNearestKnownOnes(t *testing.T) {
	t.Parallel()
	wf := parse(t, `
tracker: {kind: file, repo: a/b, requird_labels: [], path: y, provider: {path: x}}
agent: {max_turn: 3, 7: x, max_concurrent_agents_by_state: {nonsense: 1}}
codex: {efort: high, max_turns: 3}
poling: {interval_ms: 1}
polling: {interval: 1}
max_issues_per_tick: 3
hooks.env: [A]
zebra: null
`, with(nil))
	want := []string{"unknown keys are ignored: agent.7" +
		", agent.max_turn (did you mean agent.max_turns?)" +
		", codex.efort (did you mean codex.effort?)" +
		", codex.max_turns (did you mean agent.max_turns?)" +
		", hooks.env (write env inside hooks)" +
		", max_issues_per_tick (did you mean agent.max_issues_per_tick?)" +
		", poling (did you mean polling?)" +
		", polling.interval (did you mean polling.interval_ms?)" +
		", tracker.path (did you mean tracker.provider.path?)" +
		", tracker.repo (did you mean tracker.provider.repo?)" +
		", tracker.requird_labels (did you mean tracker.required_labels?)" +
		", zebra"}
	if diff := cmp.Diff(want, wf.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestManyUnknownKeysAreCounted(t *testing.T) {
	t.Parallel()
	var front strings.Builder
	for i := range 25 {
		fmt.Fprintf(&front, "%s%02d: 1\n", strings.Repeat("x", 70), i)
	}
	warnings := parse(t, front.String()+"tracker: {kind: file}", with(nil)).Warnings
	if len(warnings) != 1 || !strings.HasSuffix(warnings[0], "…, and 5 more") {
		t.Errorf("%q", warnings)
	}
}

func TestACredentialInTheFileIsWarnedOfAndNeverShown(t *testing.T) {
	t.Parallel()
	const key = "lin_api_0123456789abcdefghijABCDEFGHIJ0123456789"
	for name, test := range map[string]struct {
		file string
		want []string // beginnings of the warnings
	}{
		"in tracker.api_key": {
			"---\ntracker: {kind: linear, project_slug: p,\n  api_key: " + key + "}\n---\n",
			[]string{"tracker.api_key on line 3 is the credential itself"},
		},
		"in tracker.provider": {
			"---\ntracker:\n  kind: linear\n  provider:\n    project_slug: p\n    api_key: plain words\n---\n",
			[]string{"tracker.provider.api_key on line 6 is the credential itself"},
		},
		"by another name": {
			"---\ntracker:\n  kind: linear\n  provider:\n    project_slug: p\n    token: plain words\n---\n",
			[]string{"tracker.provider.token on line 6 is the credential itself"},
		},
		"in a hook and in the prompt": {
			"---\ntracker: {kind: file}\nhooks: {before_run: 'KEY=" + key + " make'}\n---\nUse the key\n" + key + "\n",
			[]string{"line 3 looks as if it held a credential", "line 6 looks as if it held a credential"},
		},
		"on too many lines": {
			"---\ntracker: {kind: file}\n---\n" + strings.Repeat(key+"\n", 100),
			[]string{"line 4 looks", "line 5 looks", "line 6 looks", "line 7 looks", "line 8 looks"},
		},
		"nowhere: the environment has it": {
			"---\ntracker: {kind: linear, project_slug: p, api_key: $LINEAR_API_KEY}\nhooks: {env: [REPO_TOKEN], before_run: 'curl -H \"Authorization: Bearer $REPO_TOKEN\" https://example.org'}\n---\n",
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wf, err := workflow.Parse("/repo/WORKFLOW.md", []byte(test.file), workflow.Env{
				Trackers: trackers(), TempDir: "/tmp", Lookup: func(string) (string, bool) { return "from the environment", true },
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, warning := range wf.Warnings {
				if strings.Contains(warning, key) || strings.Contains(warning, "plain words") {
					t.Errorf("shown: %s", warning)
				}
				if i < len(test.want) {
					warning = warning[:min(len(warning), len(test.want[i]))]
				}
				got = append(got, warning)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
