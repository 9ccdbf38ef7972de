package workflow_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAnIntegerMayBeWrittenAsAString(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`30`, `"30"`, `" 30 "`, `+30`, `"+30"`, `0x1e`} {
		wf := parse(t, "tracker: {kind: file}\nagent: {max_turns: "+text+"}\npolling: {interval_ms: "+text+"}", with(nil))
		if wf.Settings.MaxTurns != 30 || wf.Settings.Poll != 30*time.Millisecond {
			t.Errorf("%s: %d turns, poll %v", text, wf.Settings.MaxTurns, wf.Settings.Poll)
		}
	}
}

func TestAValueThatIsNoIntegerInRangeIsAProblem(t *testing.T) {
	t.Parallel()
	const int32s = "2147483647"
	for front, want := range map[string]string{
		`agent: {max_turns: 1.5}`:                             `agent.max_turns is 1.5: must be an integer from 1 to ` + int32s,
		`agent: {max_turns: 30.0}`:                            `agent.max_turns is 30: must be an integer from 1 to ` + int32s,
		`agent: {max_turns: true}`:                            `agent.max_turns is true: must be an integer from 1 to ` + int32s,
		`agent: {max_turns: ""}`:                              `agent.max_turns is "": must be an integer from 1 to ` + int32s,
		`agent: {max_turns: [1]}`:                             `agent.max_turns is a list: must be an integer from 1 to ` + int32s,
		`agent: {max_turns: "1.5"}`:                           `agent.max_turns is "1.5": must be an integer from 1 to ` + int32s,
		`agent: {max_turns: 2147483648}`:                      `agent.max_turns is 2147483648: must be an integer from 1 to ` + int32s,
		`agent: {max_concurrent_agents: 0}`:                   `agent.max_concurrent_agents is 0: must be an integer from 1 to ` + int32s,
		`agent: {max_issues_per_tick: 0}`:                     `agent.max_issues_per_tick is 0: must be an integer from 1 to ` + int32s,
		`agent: {max_retry_backoff_ms: 0}`:                    `agent.max_retry_backoff_ms is 0: must be an integer from 1 to ` + maxMillis,
		`polling: {interval_ms: -1}`:                          `polling.interval_ms is -1: must be an integer from 1 to ` + maxMillis,
		`polling: {interval_ms: 9223372036855}`:               `polling.interval_ms is 9223372036855: must be an integer from 1 to ` + maxMillis,
		`polling: {interval_ms: 18446744073709551615}`:        `polling.interval_ms is 18446744073709551615: must be an integer from 1 to ` + maxMillis,
		`polling: {interval_ms: "99999999999999999999"}`:      `polling.interval_ms is "99999999999999999999": must be an integer from 1 to ` + maxMillis,
		`codex: {turn_timeout_ms: 0}`:                         `codex.turn_timeout_ms is 0: must be an integer from 1 to ` + maxMillis,
		`codex: {read_timeout_ms: 0}`:                         `codex.read_timeout_ms is 0: must be an integer from 1 to ` + maxMillis,
		`codex: {stall_timeout_ms: -9223372036855}`:           `codex.stall_timeout_ms is -9223372036855: must be an integer from -` + maxMillis + ` to ` + maxMillis,
		`codex: {max_tool_calls: 0}`:                          `codex.max_tool_calls is 0: must be an integer from 1 to ` + int32s,
		`budget: {max_attempts_per_issue: -1}`:                `budget.max_attempts_per_issue is -1: must be an integer from 0 to ` + int32s,
		`budget: {max_idle_sessions: x}`:                      `budget.max_idle_sessions is "x": must be an integer from 0 to ` + int32s,
		`budget: {max_tokens_per_issue: -1}`:                  `budget.max_tokens_per_issue is -1: must be an integer from 0 to 9223372036854775807`,
		`worker: {max_concurrent_agents_per_host: 0}`:         `worker.max_concurrent_agents_per_host is 0: must be an integer from 1 to ` + int32s,
		`server: {port: -1}`:                                  `server.port is -1: must be an integer from 0 to 65535`,
		`server: {port: 65536}`:                               `server.port is 65536: must be an integer from 0 to 65535`,
		`codex: {command: 5}`:                                 `codex.command is 5: must be text; put it in quotes if it is`,
		`codex: {command: ""}`:                                `codex.command is "": must not be empty; remove the key for the default`,
		`codex: {command: "a\0b"}`:                            `codex.command is "a\x00b": must not contain a NUL character`,
		`codex: {model: {name: x}}`:                           `codex.model is a map: must be text; put it in quotes if it is`,
		`hooks: {after_run: [echo]}`:                          `hooks.after_run is a list: must be text; put it in quotes if it is`,
		`agent: {max_turns: "` + string(long('é', 99)) + `"}`: `agent.max_turns is "` + string(long('é', 60)) + `…": must be an integer from 1 to ` + int32s,
	} {
		wantProblem(t, front, "line 3: "+want)
	}
}

func long(r rune, n int) []rune {
	runes := make([]rune, n)
	for i := range runes {
		runes[i] = r
	}
	return runes
}

func TestTheEndsOfARangeAreInIt(t *testing.T) {
	t.Parallel()
	s := parse(t, "tracker: {kind: file}\nserver: {port: 0}\npolling: {interval_ms: "+maxMillis+"}\n"+
		"budget: {max_attempts_per_issue: 0, max_idle_sessions: 0, max_tokens_per_day: 9223372036854775807}", with(nil)).Settings
	if s.Port == nil || *s.Port != 0 || s.Poll <= 0 || s.Policy.Budget.Attempts != 0 || s.Policy.Budget.IdleSessions != 0 || s.Policy.Budget.TokensPerDay != 1<<63-1 {
		t.Errorf("%+v", s)
	}
}

func TestAStallTimeoutThatIsNotPositiveIsTaken(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"0": 0, "-5": -5 * time.Millisecond} {
		s := parse(t, "tracker: {kind: file}\ncodex: {stall_timeout_ms: "+text+"}", with(nil)).Settings
		if s.Codex.StallTimeout != want || s.Policy.Stall != want {
			t.Errorf("%s: %v, %v", text, s.Codex.StallTimeout, s.Policy.Stall)
		}
	}
}

func TestAnInvalidHookTimeoutFallsBackWithAWarning(t *testing.T) {
	t.Parallel()
	for text, shown := range map[string]string{"0": "0", "-1": "-1", "soon": `"soon"`, "1.5": "1.5", "[]": "a list", "9223372036855": "9223372036855"} {
		wf := parse(t, "tracker: {kind: file}\nhooks: {timeout_ms: "+text+"}", with(nil))
		want := []string{"hooks.timeout_ms is " + shown + ", not an integer from 1 to " + maxMillis + ": 60000 is used instead"}
		if diff := cmp.Diff(want, wf.Warnings); diff != "" || wf.Settings.Workspace.Hooks.Timeout != time.Minute {
			t.Errorf("%v\n%s", wf.Settings.Workspace.Hooks.Timeout, diff)
		}
	}
}

func TestIssuesPerTickFollowTheConcurrency(t *testing.T) {
	t.Parallel()
	if s := parse(t, "tracker: {kind: file}\nagent: {max_concurrent_agents: 3}", with(nil)).Settings; s.Policy.MaxPerTick != 3 {
		t.Errorf("%d", s.Policy.MaxPerTick)
	}
}

func TestABlankHookDoesNotExist(t *testing.T) {
	t.Parallel()
	if s := parse(t, "tracker: {kind: file}\nhooks: {before_run: \" \\n\"}", with(nil)).Settings; s.Workspace.Hooks.BeforeRun != "" {
		t.Errorf("%q", s.Workspace.Hooks.BeforeRun)
	}
}
