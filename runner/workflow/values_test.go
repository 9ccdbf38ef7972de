package workflow_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAListOfStatesIsTrimmedAndEachIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := parse(t, "tracker:\n  kind: file\n  active_states: [\" Todo \", todo, \"In  Review\"]\n  terminal_states: []", with(nil)).Settings
	if diff := cmp.Diff([]string{"Todo", "In  Review"}, s.Policy.ActiveStates); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{}, s.Policy.TerminalStates); diff != "" {
		t.Error(diff)
	}
}

func TestAWrongListIsAProblem(t *testing.T) {
	t.Parallel()
	const notText = "must be text; put it in quotes if it is"
	const noName = "must be the name of an environment variable: letters, digits and _, not beginning with a digit"
	const noRunners = "must be a map from labels of issues to labels of runners, such as {gpu: [self-hosted, gpu]}"
	const noRunner = "must be the label of a runner, or a list of 1 to 10 that one runner has, such as [self-hosted, gpu]"
	for front, want := range map[string]string{
		`tracker: {kind: file, active_states: Todo}`:                            `line 2: tracker.active_states is "Todo": must be a list, such as [one, two]`,
		`tracker: {kind: file, active_states: []}`:                              `line 2: tracker.active_states is a list: must name at least one state; remove the key for the default`,
		`tracker: {kind: file, active_states: [Todo, " "]}`:                     `line 2: tracker.active_states[1] is " ": must not be empty; name a state, or remove it`,
		`tracker: {kind: file, active_states: [1]}`:                             `line 2: tracker.active_states[0] is 1: ` + notText,
		`tracker: {kind: file, terminal_states: [null]}`:                        `line 2: tracker.terminal_states[0] is null: ` + notText,
		`tracker: {kind: file, terminal_states: {a: b}}`:                        `line 2: tracker.terminal_states is a map: must be a list, such as [one, two]`,
		`tracker: {kind: file, required_labels: agent}`:                         `line 2: tracker.required_labels is "agent": must be a list, such as [one, two]`,
		`tracker: {kind: file, active_states: [A, B], terminal_states: [b]}`:    `line 2: tracker.active_states is "B": is a terminal state too, so its issues could never be worked on; keep it in one of the lists`,
		`tracker: {kind: file, active_states: [dONE]}`:                          `line 2: tracker.active_states is "dONE": is a terminal state too, so its issues could never be worked on; keep it in one of the lists`,
		"tracker: {kind: file}\nhooks: {env: [A, B-C]}":                         `line 3: hooks.env[1] is "B-C": ` + noName,
		"tracker: {kind: file}\nhooks: {env: FOO}":                              `line 3: hooks.env is "FOO": must be a list, such as [one, two]`,
		"tracker: {kind: file}\ncodex: {env: [1A]}":                             `line 3: codex.env[0] is "1A": ` + noName,
		"tracker: {kind: file}\ncodex: {env: [\"{A}\"]}":                        `line 3: codex.env[0] is "{A}": ` + noName,
		"tracker: {kind: file}\ncodex: {env: [\"\"]}":                           `line 3: codex.env[0] is "": ` + noName,
		"tracker: {kind: file}\ncodex: {env: [$A]}":                             `line 3: codex.env[0] is "$A": ` + noName,
		"tracker: {kind: file}\ncodex: {deny: secrets}":                         `line 3: codex.deny is "secrets": must be a list, such as [one, two]`,
		"tracker: {kind: file}\ncodex: {deny: [\"\"]}":                          `line 3: codex.deny[0] is "": is empty; name a file or a folder, or remove it`,
		"tracker: {kind: file}\ncodex: {deny: [/a, /]}":                         `line 3: codex.deny[1] is "/": is the whole disk, without which no program runs; name the folders`,
		"tracker: {kind: file}\ncodex: {deny: [\"*.pem\"]}":                     `line 3: codex.deny[0] is "*.pem": looks like a pattern; name the files and folders themselves`,
		"tracker: {kind: file}\ncodex: {deny: [\"/a]\"]}":                       `line 3: codex.deny[0] is "/a]": looks like a pattern; name the files and folders themselves`,
		"tracker: {kind: file}\ncodex: {deny: [~bob/keys]}":                     `line 3: codex.deny[0] is "~bob/keys": begins with ~ and a name; only ~ and ~/ are expanded, write the folder itself`,
		"tracker: {kind: file}\ncodex: {deny: [$NOT_SET/x]}":                    `line 3: codex.deny[0] is "$NOT_SET/x": needs the environment variable NOT_SET, which is not set or empty; set it`,
		"tracker: {kind: file}\nworker: {ssh_hosts: build1}":                    `line 3: worker.ssh_hosts is "build1": must be a list, such as [one, two]`,
		"tracker: {kind: file}\nagent: {max_concurrent_agents_by_state: 3}":     `line 3: agent.max_concurrent_agents_by_state is 3: must be a map from state to limit, such as {todo: 2}`,
		"tracker: {kind: file}\nagent: {runs_on: big}":                          `line 3: agent.runs_on is "big": ` + noRunners,
		"tracker: {kind: file}\nagent: {runs_on: [a, b]}":                       `line 3: agent.runs_on is a list: ` + noRunners,
		"tracker: {kind: file}\nagent:\n  runs_on:\n    gpu: []":                `line 5: agent.runs_on.gpu is a list: ` + noRunner,
		"tracker: {kind: file}\nagent:\n  runs_on:\n    gpu:":                   `line 5: agent.runs_on.gpu is null: ` + noRunner,
		"tracker: {kind: file}\nagent:\n  runs_on:\n    gpu: {group: big}":      `line 5: agent.runs_on.gpu is a map: ` + noRunner,
		"tracker: {kind: file}\nagent:\n  runs_on:\n    gpu: [a, 1]":            `line 5: agent.runs_on.gpu[1] is 1: ` + notText,
		"tracker: {kind: file}\nagent:\n  runs_on:\n    gpu: \"a\\nb\"":         `line 5: agent.runs_on.gpu is "a\nb": must be a label of a runner: 1 to 100 letters, digits and signs`,
		"tracker: {kind: file}\nagent:\n  runs_on: {gpu: a, GPU: b}":            `line 4: agent.runs_on.GPU is "b": names its label a second time; remove one of the two`,
		"tracker: {kind: file}\nagent:\n  runs_on: {\" \": a}":                  `line 4: agent.runs_on is a map: must have labels of issues as its keys; write them out`,
		"tracker: {kind: file}\nsandbox: {loopback: false, unix_sockets: true}": `line 3: sandbox.unix_sockets is true: needs sandbox.loopback, which is false or not for this system; remove one of the two keys`,
		"tracker: {kind: file}\ncodex: {turn_sandbox_policy: readOnly}":         `line 3: codex.turn_sandbox_policy is "readOnly": must be a map, such as {type: readOnly}`,
		"tracker: {kind: file}\ncodex: {approval_policy: {1: a}}":               `line 3: codex.approval_policy is a map: cannot be written as JSON; use text keys and plain values`,
		"tracker: {kind: file}\ncodex: {approval_policy: .nan}":                 `line 3: codex.approval_policy is NaN: cannot be written as JSON; use text keys and plain values`,
	} {
		if diff := cmp.Diff([]string{want}, problems(t, front, with(nil))); diff != "" {
			t.Errorf("%s\n%s", front, diff)
		}
	}
}

func TestRequiredLabelsAreNormalizedAndABlankOneIsKept(t *testing.T) {
	t.Parallel()
	wf := parse(t, `tracker: {kind: file, required_labels: [" Agent ", "  "]}`, with(nil))
	if diff := cmp.Diff([]string{"agent", ""}, wf.Settings.Policy.RequiredLabels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"tracker.required_labels[1] is blank, so no issue will be dispatched"}, wf.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidLimitsOfStatesAreIgnoredWithAWarning(t *testing.T) {
	t.Parallel()
	wf := parse(t, "tracker: {kind: file}\nagent:\n  max_concurrent_agents_by_state:\n"+
		"    \" In Progress \": \"2\"\n    in progress: 7\n    Todo: 0\n    Rework: many\n    Review: 1.5\n    \"\": 3\n    2: 4", with(nil))
	if diff := cmp.Diff(map[string]int{"in progress": 2, "2": 4}, wf.Settings.Policy.MaxPerState); diff != "" {
		t.Error(diff)
	}
	const by = "agent.max_concurrent_agents_by_state"
	want := []string{
		by + " has an entry without a state, which is ignored",
		by + ".Review is 1.5, not an integer from 1 to 2147483647, and is ignored",
		by + `.Rework is "many", not an integer from 1 to 2147483647, and is ignored`,
		by + ".Todo is 0, not an integer from 1 to 2147483647, and is ignored",
		by + ".in progress names its state a second time and is ignored",
	}
	if diff := cmp.Diff(want, wf.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestCodexPoliciesArePassedOnAsTheyAre(t *testing.T) {
	t.Parallel()
	c := parse(t, "tracker: {kind: file}\ncodex:\n  approval_policy: {granular: {rules: true, n: 1}}\n  thread_sandbox: future-mode\n"+
		"  turn_sandbox_policy: {type: externalSandbox, networkAccess: null}", with(nil)).Settings.Codex
	got := []string{string(c.ApprovalPolicy), string(c.ThreadSandbox), string(c.TurnSandboxPolicy)}
	want := []string{`{"granular":{"n":1,"rules":true}}`, `"future-mode"`, `{"networkAccess":null,"type":"externalSandbox"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

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
		`codex: {command: codex exec}`:                        `codex.command is "codex exec": starts the Codex that talks to a person at a terminal: write codex app-server`,
		`codex: {command: "a\0b"}`:                            `codex.command is "a\x00b": must not contain a NUL character`,
		`codex: {model: {name: x}}`:                           `codex.model is a map: must be text; put it in quotes if it is`,
		`hooks: {after_run: [echo]}`:                          `hooks.after_run is a list: must be text; put it in quotes if it is`,
		`agent: {max_turns: "` + string(long('é', 99)) + `"}`: `agent.max_turns is "` + string(long('é', 59)) + `…": must be an integer from 1 to ` + int32s,
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

func TestAStallTimeoutThatIsNotPositiveIsAccepted(t *testing.T) {
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
	if s := parse(t, "tracker: {kind: file}\nagent: {max_concurrent_agents: 3}", with(nil)).Settings; s.Policy.PerTick() != 3 {
		t.Errorf("%d", s.Policy.PerTick())
	}
}

func TestABlankHookDoesNotExist(t *testing.T) {
	t.Parallel()
	if s := parse(t, "tracker: {kind: file}\nhooks: {before_run: \" \\n\"}", with(nil)).Settings; s.Workspace.Hooks.BeforeRun != "" {
		t.Errorf("%q", s.Workspace.Hooks.BeforeRun)
	}
}

func TestUnixSocketsAreOpenedBesideALoopback(t *testing.T) {
	t.Parallel()
	if !parse(t, "tracker: {kind: file}\nsandbox: {loopback: true, unix_sockets: true}", with(nil)).Settings.UnixSockets {
		t.Error("they stay closed")
	}
}
