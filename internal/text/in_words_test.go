package text

import "testing"

func TestAReasonForPeopleHasNoCategories(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"turn: turn_failed: other: no such model: name another":                                                  "no such model: name another",
		"turn_failed: usageLimitExceeded: buy credits":                                                           "buy credits",
		"5 failures in a row (budget.max_attempts_per_issue), the last: turn: turn_failed: other: no such model": "5 failures in a row (budget.max_attempts_per_issue), the last: no such model",
		"waits until 2026-01-02T12:00:00Z: hook: hook_failed: after 3s: exit status 1":                           "waits until 2026-01-02T12:00:00Z: after 3s: exit status 1",
		"workflow /a b/W.md: invalid_workflow_config:\n  line 2: tracker.kind: is missing":                       "workflow /a b/W.md: line 2: tracker.kind: is missing",
		"preflight: sandbox_unavailable: bubblewrap: no permissions":                                             "bubblewrap: no permissions",
		"stalled: silent for 5m": "stalled: silent for 5m",
		"asks: Which colour?":    "asks: Which colour?",
		"the first issues of the tick fail in the same way: hook after_create: hook_failed: exit status 128": "the first issues of the tick fail in the same way: hook after_create: exit status 128",
		"a: b c: d e: turn_failed: x":               "a: b c: d e: turn_failed: x",
		"set the variable: API_KEY: it is empty":    "set the variable: API_KEY: it is empty",
		"https://a.example/some_path: no such host": "https://a.example/some_path: no such host",
		"turn_failed: ":                             "turn_failed: ",
		"turn_failed":                               "turn_failed",
		"":                                          "",
	} {
		if got := InWords(reason); got != want {
			t.Errorf("InWords(%q) = %q, want %q", reason, got, want)
		}
	}
}
