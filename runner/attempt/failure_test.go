package attempt

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// fullRun lists what an attempt starts when it gets as far as an agent.
var fullRun = []string{"after_create", "before_run", "agent", "after_run"}

// assertFailed checks the outcome of an attempt that failed: its class, words of its
// reason, and what was started.
func (f *fixture) assertFailed(got schedule.Outcome, class schedule.Class, traces []string, words ...string) {
	f.t.Helper()
	if got.Class != class {
		f.t.Errorf("%s and not %s: %s", got.Class, class, got.Why)
	}
	for _, word := range words {
		if !strings.Contains(got.Why, word) {
			f.t.Errorf("%q does not say %q", got.Why, word)
		}
	}
	if diff := cmp.Diff(traces, f.traces(), cmpopts.EquateEmpty()); diff != "" {
		f.t.Error(diff)
	}
}

func TestAFailedTurnSaysWhatItMeansForTheIssue(t *testing.T) {
	t.Parallel()
	for failure, want := range map[string]schedule.Class{
		"unauthorized":             schedule.Systemic,
		"httpConnectionFailed 503": schedule.Transient,
		"contextWindowExceeded":    schedule.ThreadLost,
		"inventedTomorrow":         schedule.IssueFailed,
	} {
		t.Run(failure, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "- [ ] Move this issue to `In Progress`\n- [ ] Fail with `"+failure+"`\n")
			f.job.MaxTurns = 3
			got := f.run(t.Context())
			f.assertFailed(got, want, fullRun, "turn_failed", strings.Fields(failure)[0], "the script fails with "+failure)
			want := schedule.Outcome{
				Class: got.Class, Status: schedule.StatusFailed, Why: got.Why, Thread: f.requests("turn/start")[0].Thread, Turns: 1,
				Usage: scriptedUsage(100, 20), Issue: f.readIssue(),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFailureInALaterTurnIsAFailureOfTheSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Create `one.txt` containing `1`\n## Next turn\n- [ ] Run `exit 3`\n")
	f.job.MaxTurns = 5
	got := f.run(t.Context())
	f.assertFailed(got, schedule.IssueFailed, fullRun, "turn_failed", "exit code 3")
	if got.Turns != 2 || got.Usage.Input != 200 || got.Usage.Output != 40 || len(got.Usage.Tariffs) != 1 || got.Usage.Tariffs[0].Input != 200 || got.Issue == nil || got.Idle {
		t.Errorf("%+v", got)
	}
}

func TestAUsageLimitSaysWhenToTryAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Send `"+`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":100,"resetsAt":1893456000}}}}`+"` verbatim\n"+
		"- [ ] Fail with `usageLimitExceeded`\n")
	got := f.run(t.Context())
	f.assertFailed(got, schedule.Systemic, fullRun, "usageLimitExceeded")
	if !got.RetryAt.Equal(time.Unix(1893456000, 0)) {
		t.Errorf("retry at %v", got.RetryAt)
	}
	if !slices.ContainsFunc(f.updates, func(u Update) bool { return strings.Contains(string(u.RateLimits), "1893456000") }) {
		t.Error("no update has the rate limits")
	}
}

func TestAQuestionIsForAPerson(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]string{
		"that the agent waits for":         "Ask `Which colour?`",
		"that the agent does not wait for": "Send `" + `{"method":"item/completed","params":{"item":{"type":"agentMessage","text":"?","questions":[{"title":"Which colour?","options":["red","blue"]}]}}}` + "` verbatim",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "- [ ] "+step+"\n- [ ] Create `new.txt` containing `new`\n")
			f.job.MaxTurns = 3
			got := f.run(t.Context())
			f.assertFailed(got, schedule.NeedsInput, fullRun, "the agent asks: Which colour?")
			if !strings.HasPrefix(got.Why, "the agent asks: ") {
				t.Errorf("a person first reads %q", got.Why)
			}
			if got.Turns != 1 || got.Thread == "" || got.Issue == nil {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestAHookThatFailsBeforeTheAgentIsStarted(t *testing.T) {
	t.Parallel()
	const fails = "\necho out of paint; exit 3"
	t.Run("in before_run ends the attempt after after_run", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, "")
		f.hooks.BeforeRun += fails
		got := f.run(t.Context())
		f.assertFailed(got, schedule.IssueFailed, []string{"after_create", "before_run", "after_run"}, "hook_failed", "before_run", "exit status 3", "out of paint")
		if diff := cmp.Diff(schedule.Outcome{
			Class: schedule.IssueFailed, Status: schedule.StatusFailed, Why: got.Why, Idle: true, Fault: "hook before_run: hook_failed: exit status 3",
		}, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("in after_create leaves no workspace", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, "")
		f.hooks.AfterCreate += "\ntouch half\n" + fails
		got := f.run(t.Context())
		f.assertFailed(got, schedule.IssueFailed, []string{"after_create"}, "hook_failed", "after_create", "exit status 3", "out of paint")
		if _, err := os.Lstat(f.inWorkspace("")); !os.IsNotExist(err) {
			t.Errorf("the workspace is there (%v)", err)
		}
	})
	t.Run("in before_run by its time", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, "")
		f.hooks.AfterCreate, f.hooks.BeforeRun, f.hooks.AfterRun, f.hooks.Timeout = "", "sleep 3600", "", 100*time.Millisecond
		f.grace = impatient
		f.assertFailed(f.run(t.Context()), schedule.IssueFailed, nil, "hook_timeout", "before_run")
	})
}

func TestAFailureOfAfterRunChangesNoOutcomeAndIsReported(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"after a good end": "- [ ] Say `hello`\n",
		"after a failure":  "- [ ] Fail with `other`\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, script)
			f.hooks.AfterRun += "\necho the push was refused; exit 3"
			got := f.run(t.Context())
			if want := strings.Contains(script, "Say"); (got.Class == schedule.Done) != want {
				t.Errorf("%s: %s", got.Class, got.Why)
			}
			want := []string{`hook after_run: hook_failed: exit status 3; its last output: "the push was refused"; fix hooks.after_run in WORKFLOW.md`}
			if diff := cmp.Diff(want, got.Warnings); diff != "" {
				t.Error(diff)
			}
			if f.logged(slog.LevelWarn, "hook failed", `"hook":"after_run"`) != 1 {
				t.Error("the log does not say so")
			}
		})
	}
}

func TestTheEndOfWhatAHookPrintedIsReportedWithoutSecrets(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2-hunter2-hunter2-hunter2"
	for _, hook := range []string{"before_run", "after_run"} {
		t.Run(hook, func(t *testing.T) {
			t.Parallel()
			// The output is all secrets, so any cut goes through one.
			script := "\nfor i in $(seq 400); do printf '" + secret + "'; test $((i % 3)) = 0 && echo || echo -n ' '; done; echo the last line; exit 3"
			f := newFixture(t, "- [ ] Say `hello`\n")
			f.job.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "***") }
			if hook == "before_run" {
				f.hooks.BeforeRun += script
			} else {
				f.hooks.AfterRun += script
			}
			got := f.run(t.Context())
			text := strings.Join(append(got.Warnings, got.Why), "")
			if !strings.Contains(text, "the last line") || !strings.Contains(text, "***") || strings.Contains(text, "unter") || utf8.RuneCountInString(text) > 500 {
				t.Errorf("%d characters: %s", utf8.RuneCountInString(text), text)
			}
		})
	}
}

func TestATemplateThatCannotBeUsedFailsTheAttemptBeforeAnAgentIsStarted(t *testing.T) {
	t.Parallel()
	for template, test := range map[string]struct {
		category string
		traces   []string
	}{
		"{{ issue.nope }}":           {"template_render_error", nil},
		"{{ issue.title | shout }}":  {"template_render_error", nil},
		"{% if issue.title %} open ": {"template_parse_error", nil},
		// An error that only the render finds comes after the workspace is made.
		"{{ issue.title | divided_by: 0 }}":                                {"template_render_error", []string{"after_create"}},
		"{% if run.resumed %}{{ issue.title | divided_by: 0 }}{% endif %}": {"template_render_error", []string{"after_create"}},
	} {
		t.Run(template, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "")
			f.job.Prompt = template
			f.job.Thread = "0199a213-81c0-7800-8aa1-bbab2a035a53"
			f.assertFailed(f.run(t.Context()), schedule.IssueFailed, test.traces, test.category)
		})
	}
}

func TestAReasonIsOneLineOfAtMostFiveHundredCharacters(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	for nopes, words := range map[int][]string{2: {"nope1", "nope2"}, 100: {"nope1", "…"}} {
		f.job.Prompt = ""
		for i := range nopes {
			f.job.Prompt += fmt.Sprintf("{{ issue.nope%d }}\n", i+1)
		}
		got := f.run(t.Context())
		f.assertFailed(got, schedule.IssueFailed, f.traces(), words...)
		if n := utf8.RuneCountInString(got.Why); n > 500 || strings.ContainsAny(got.Why, "\n\t") {
			t.Errorf("%d characters: %q", n, got.Why)
		}
	}
}

func TestAnAgentThatCannotBeTalkedTo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command string
		class   schedule.Class
		words   []string
	}{
		"is not there": {
			"no-such-codex app-server",
			schedule.Systemic, []string{"codex_not_found: no-such-codex is not found where "},
		},
		"exits at once": {
			"echo my last words >&2; exit 7",
			schedule.IssueFailed, []string{"port_exit", "exit status 7", "my last words"},
		},
		"refuses": {
			`read -r line; echo '{"id":1,"error":{"code":-32600,"message":"not today"}}'; cat > /dev/null`,
			schedule.IssueFailed, []string{"response_error", "not today"},
		},
		"is overloaded": {
			`n=0; while read -r line; do case $line in *'"id":'*) n=$((n+1)); echo "{\"id\":$n,\"error\":{\"code\":-32001,\"message\":\"busy\"}}";; esac; done`,
			schedule.Transient, []string{"response_error", "-32001", "busy"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "")
			f.job.Codex.Command = f.trace("agent") + "; " + test.command
			got := f.run(t.Context())
			f.assertFailed(got, test.class, fullRun, test.words...)
			if got.Thread != "" || got.Turns != 0 || got.Issue != nil {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestAnAgentThatDoesNotAnswerFailsTheAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.job.Codex.Command = f.trace("agent") + `; read -r line; echo '{"id":1,"result":{}}'; cat > /dev/null`
	f.job.Codex.ReadTimeout = 200 * time.Millisecond
	f.assertFailed(f.run(t.Context()), schedule.IssueFailed, fullRun, "response_timeout", "codex.read_timeout_ms")
}

func TestAnAgentThatExitsInATurnFailsTheAttemptWithItsLastWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Create `new.txt` containing `new`\n- [ ] Exit `7`\n")
	f.job.Codex.Command = "echo my last words >&2\n" + f.job.Codex.Command
	got := f.run(t.Context())
	f.assertFailed(got, schedule.IssueFailed, fullRun, "port_exit", "exit status 7", "my last words")
	if got.Turns != 1 || got.Thread == "" || got.Idle || got.Issue == nil {
		t.Errorf("%+v", got)
	}
}

func TestLinesThatMakeNoSenseDoNotEndASession(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Send `no JSON at all` verbatim\n- [ ] Send `[1, 2]` verbatim\n- [ ] Send `{}` verbatim\n"+
		"- [ ] Send `{\"id\": 4711, \"result\": 1}` verbatim\n- [ ] Send a line of `2000000` bytes\n- [ ] Create `new.txt` containing `new`\n")
	f.assertFailed(f.run(t.Context()), schedule.Done, fullRun)
	if f.readText(f.inWorkspace("new.txt")) != "new\n" {
		t.Error("the rest is not done")
	}
	events := map[string]int{}
	for _, u := range f.updates {
		events[u.Event]++
		if u.Event == "malformed" && u.Alive {
			t.Errorf("%q is a sign of life", u.Summary)
		}
	}
	if events["malformed"] != 3 || events["other_message"] != 1 {
		t.Errorf("%v", events)
	}
}

func TestATurnThatTakesTooLongFailsTheAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Hang\n")
	f.job.Codex.TurnTimeout = 100 * time.Millisecond
	f.assertFailed(f.run(t.Context()), schedule.IssueFailed, fullRun, "turn_timeout", "codex.turn_timeout_ms")
}

func TestAWorkspaceThatIsSwappedForALinkStartsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.hooks.BeforeRun += "\ncd ..; mv " + issueName + " elsewhere; ln -s elsewhere " + issueName
	got := f.run(t.Context())
	f.assertFailed(got, schedule.IssueFailed, []string{"after_create", "before_run"}, "invalid_workspace_cwd")
	if f.logged(slog.LevelWarn, "hook failed", `"hook":"after_run"`, "invalid_workspace_cwd") != 1 {
		t.Error("after_run was not refused")
	}
}

func TestACodexThatDoesNotStartMayBeAFaultOfTheWorkflow(t *testing.T) {
	t.Parallel()
	a := newAttempt(Job{}, nil)
	first, other := fmt.Errorf("initialize: %w: no answer in 30s", codex.ErrSlowStart), fmt.Errorf("initialize: %w: no answer in 31s", codex.ErrSlowStart)
	if class, _ := classify(first); class != schedule.IssueFailed || a.fault(first) == "" || a.fault(first) != a.fault(other) {
		t.Errorf("class %s, faults %q and %q", class, a.fault(first), a.fault(other))
	}
	if fault := a.fault(fmt.Errorf("turn/start: %w", codex.ErrResponseTimeout)); fault != "" {
		t.Errorf("a turn without an answer is the fault %q", fault)
	}
}
