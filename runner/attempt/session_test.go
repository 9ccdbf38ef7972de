package attempt

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestAnAttemptDoesWhatTheIssueSays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Create `hello.txt` containing `Hello`\n"+
		"- [ ] Run `pwd > here.txt`\n"+
		"- [ ] Spend `1000` tokens\n"+
		"- [ ] Move this issue to `Review`\n")
	f.job.MaxTurns = 3
	got := f.run(t.Context())

	turns := f.requests("turn/start")
	if len(turns) != 1 || turns[0].Thread == "" {
		t.Fatalf("turns: %+v", turns)
	}
	want := schedule.Outcome{
		Class: schedule.Done, Status: schedule.StatusSucceeded, Issue: f.readIssue(), Thread: turns[0].Thread, Turns: 1,
		Usage: scriptedUsage(1100, 20),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := "Done: 1 of 1 parts."; f.said != want {
		t.Errorf("the agent's last message is %q, want %q", f.said, want)
	}
	if got.Issue == nil || got.Issue.State != "Review" {
		t.Errorf("the issue: %+v", got.Issue)
	}
	files := []string{f.readText(f.inWorkspace("hello.txt")), f.readText(f.inWorkspace("here.txt"))}
	if diff := cmp.Diff([]string{"Hello\n", f.inWorkspace("") + "\n"}, files); diff != "" {
		t.Error(diff)
	}
}

func TestThePromptIsTheTemplateForTheIssueAndTheAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "Nothing to do.")
	f.job.Prompt = "{{ issue.identifier }} is {{ issue.state }} in attempt {{ attempt }}"
	f.job.Attempt = 2
	f.run(t.Context())
	if turns := f.requests("turn/start"); len(turns) != 1 || turns[0].Text != issueName+" is Todo in attempt 2" {
		t.Errorf("turns: %+v", turns)
	}
}

func TestHooksRunInOrderAndAfterRunWhenTheAgentIsDead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Say `hello`\n")
	f.job.Attempt = 3
	f.hooks.AfterRun += "\nkill -0 $(cat " + quote(f.path("agent.pid")) + ") && echo the agent lives > after_run.txt" +
		"\necho $SYMPHONY_ISSUE_ID $SYMPHONY_ISSUE_IDENTIFIER $SYMPHONY_ATTEMPT >> after_run.txt; pwd >> after_run.txt"
	for range 2 {
		f.run(t.Context())
		want := issueName + " " + issueName + " 3\n" + f.inWorkspace("") + "\n"
		if diff := cmp.Diff(want, f.readText(f.inWorkspace("after_run.txt"))); diff != "" {
			t.Error(diff)
		}
		if err := os.Remove(f.inWorkspace("after_run.txt")); err != nil {
			t.Error(err)
		}
	}
	want := strings.Fields("after_create before_run agent after_run before_run agent after_run")
	if diff := cmp.Diff(want, f.traces()); diff != "" {
		t.Error(diff)
	}
}

func TestTurnsContinueOnTheSameThread(t *testing.T) {
	t.Parallel()
	const script = "- [ ] Create `one.txt` containing `1`\n" +
		"## Next turn\n- [ ] Create `two.txt` containing `2`\n" +
		"## Next turn\n- [ ] Create `three.txt` containing `3`\n- [ ] Move this issue to `Done`\n" +
		"## Next turn\n- [ ] Create `four.txt` containing `4`\n"
	for name, test := range map[string]struct {
		maxTurns int
		turns    int
		state    string
	}{
		"until max_turns is reached":               {2, 2, "Todo"},
		"until the issue leaves the active states": {9, 3, "Done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, script)
			f.job.MaxTurns = test.maxTurns
			first := f.job.Issue
			got := f.run(t.Context())
			want := schedule.Outcome{
				Class: schedule.Done, Status: schedule.StatusSucceeded, Issue: f.readIssue(), Thread: got.Thread, Turns: test.turns,
				Usage: scriptedUsage(100*int64(test.turns), 20*int64(test.turns)),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if got.Issue == nil || got.Issue.State != test.state {
				t.Errorf("the issue: %+v", got.Issue)
			}
			turns := f.requests("turn/start")
			if len(turns) != test.turns || !strings.Contains(turns[0].Text, script[:20]) {
				t.Fatalf("turns: %+v", turns)
			}
			for i, turn := range turns {
				if turn.Thread != got.Thread {
					t.Errorf("turn %d is on thread %q and not on %q", i+1, turn.Thread, got.Thread)
				}
				if i == 0 {
					continue
				}
				if diff := cmp.Diff(prompt.Continuation(first, i+1, test.maxTurns, false), turn.Text); diff != "" {
					t.Error(diff)
				}
			}
			for i, name := range []string{"one.txt", "two.txt", "three.txt", "four.txt"} {
				if done := f.readText(f.inWorkspace(name)) != ""; done != (i < test.turns) {
					t.Errorf("%s: %v", name, done)
				}
			}
		})
	}
}

func TestAContinuationPromptHasTheIssueAsItIsThen(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Move this issue to `In Progress`\n")
	f.job.MaxTurns = 2
	got := f.run(t.Context())
	turns := f.requests("turn/start")
	if len(turns) != 2 || got.Issue == nil || turns[1].Text != prompt.Continuation(*got.Issue, 2, 2, false) {
		t.Errorf("%+v after the turns %+v", got, turns)
	}
}

func TestASessionEndsWithoutAFailureWhenTheIssueIsNoLongerItsOwn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command string // run by the agent, with the issue file as its argument
		labels  []string
		gone    bool
		read    bool
	}{
		"it vanishes":                   {command: "rm ", gone: true},
		"it cannot be read":             {command: ": > "},
		"it lacks a label it must have": {command: "test -f ", labels: []string{"ours"}, read: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "")
			f.setScript("- [ ] Run `" + test.command + quote(f.issueFile()) + "`\n")
			f.job.MaxTurns = 3
			f.job.Policy.RequiredLabels = test.labels
			got := f.run(t.Context())
			want := schedule.Outcome{
				Class: schedule.Done, Status: schedule.StatusSucceeded, Gone: test.gone, Thread: got.Thread, Turns: 1,
				Usage: scriptedUsage(100, 20), Idle: true,
			}
			if test.read {
				want.Issue = f.readIssue()
			} else if !test.gone {
				want.Warnings = got.Warnings
				if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "the issue was not read after the turn") {
					t.Errorf("it is not reported: %q", got.Warnings)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestASessionIsIdleWhenNeitherTheWorkspaceNorTheIssueChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		step string
		idle bool
	}{
		"it undoes what it did": {"Run `touch new.txt; rm new.txt`", true},
		"it makes a file":       {"Create `new.txt` containing `new`", false},
		"it moves the issue":    {"Move this issue to `Review`", false},
		"somebody moves the issue and the clock": {
			"Run `touch -r ISSUE ../../before`\n- [ ] Move this issue to `Review`\n- [ ] Run `touch -r ../../before ISSUE`", false,
		},
		"it comments on the issue":    {"Call `issue_update` with `{\"comment\": \"I am at it.\"}`", false},
		"it says that Todo is Todo":   {"Move this issue to `Todo`", true},
		"it does something and fails": {"Run `touch new.txt; exit 1`", false},
		"it does nothing and fails":   {"Fail with `other`", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "")
			f.setScript("- [ ] " + strings.ReplaceAll(test.step, "ISSUE", quote(f.issueFile())) + "\n")
			// Changes that hooks make do not count as the work of the session.
			f.hooks.BeforeRun = "echo $RANDOM > old.txt"
			f.hooks.AfterRun = "echo $RANDOM > after_run.txt"
			f.job.Issue.UpdatedAt = f.job.Issue.UpdatedAt.Local() // the same instant in another time zone
			if got := f.run(t.Context()); got.Idle != test.idle {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestAFailedToolIsAnAnswerToTheAgent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Call `issue_update` with `{\"colour\": \"red\"}`\n- [ ] Move this issue to `Review`\n")
	if got := f.run(t.Context()); got.Class != schedule.Done || got.Issue == nil || got.Issue.State != "Review" {
		t.Errorf("%+v", got)
	}
}

func TestWhatASessionSaysHoldsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	for name, test := range map[string]struct {
		step  string
		class schedule.Class
	}{
		"its failure":  {"Run `echo s3cret >&2; exit 3`", schedule.IssueFailed},
		"its question": {"Ask `Is it s3cret?`", schedule.NeedsInput},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "- [ ] Say `it is s3cret`\n- [ ] "+test.step+"\n")
			f.job.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "[hidden]") }
			got := f.run(t.Context())
			if got.Class != test.class || !strings.Contains(got.Why, "[hidden]") || strings.Contains(got.Why, secret) {
				t.Errorf("%s: %s", got.Class, got.Why)
			}
			said := fmt.Sprintf("%+v", f.updates)
			for what, text := range map[string]string{"updates": said, "event log": f.readLog(), "log": f.log.bytes.String()} {
				if strings.Contains(text, secret) {
					t.Errorf("the %s: %s", what, text)
				}
			}
			if !strings.Contains(said, "it is [hidden]") || !strings.Contains(f.readLog(), "it is [hidden]") {
				t.Errorf("nothing was said, so this shows nothing: %s", said)
			}
		})
	}
}

func TestTheAnswerOfAToolHoldsNoSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.job.Redact = func(text string) string { return strings.ReplaceAll(text, "s3cret", "[hidden]") }
	f.job.Tracker.Tools = []tracker.Tool{{Name: "echo", Call: func(_ context.Context, issue tracker.Issue, arguments json.RawMessage) tracker.ToolResult {
		return tracker.ToolResult{OK: true, Text: issue.Identifier + string(arguments) + "s3cret"}
	}}}
	tools := newAttempt(f.job, nil).tools()
	if text, ok := tools[0].Call(t.Context(), json.RawMessage(`"a"`)); !ok || text != issueName+`"a"[hidden]` {
		t.Errorf("%q, %v", text, ok)
	}
}

func TestASessionTellsTheRunnerThatItsAgentMovedTheIssue(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Move this issue to `Review`\n")
	own := new(OwnChange)
	f.job.Own = own
	tool := f.job.Tracker.Tools[0]
	move := tool.Call
	tool.Call = func(ctx context.Context, issue tracker.Issue, arguments json.RawMessage) tracker.ToolResult {
		result := move(ctx, issue, arguments)
		if left, ok := own.Issue(); left != nil || !ok {
			t.Errorf("%v, %v: a poll at this time would stop the session", left, ok)
		}
		return result
	}
	f.job.Tracker.Tools = []tracker.Tool{tool}
	if _, ok := own.Issue(); ok {
		t.Error("a session that has not begun has changed its issue")
	}
	f.run(t.Context())
	if left, ok := own.Issue(); !ok || left == nil || left.State != "Review" {
		t.Errorf("%v, %v, want the issue in Review", left, ok)
	}
}

func TestACallThatOnlyReadsIsNoChangeOfTheSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	own := new(OwnChange)
	f.job.Own = own
	f.job.Tracker.Tools = []tracker.Tool{{Name: "echo", Call: func(context.Context, tracker.Issue, json.RawMessage) tracker.ToolResult {
		return tracker.ToolResult{OK: true}
	}}}
	newAttempt(f.job, nil).tools()[0].Call(t.Context(), json.RawMessage(`{}`))
	if left, ok := own.Issue(); ok {
		t.Errorf("%v", left)
	}
}
