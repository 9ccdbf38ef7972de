package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnknownKeysAreOneWarningThatNamesTheNearestKnownOnes(t *testing.T) {
	t.Parallel()
	wf := parse(t, `
tracker: {kind: file, repo: a/b, requird_labels: [], provider: {whatever: 1}}
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
