package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// callOf returns a step of the scripted agent.
func callOf(tool, arguments string) string {
	return fmt.Sprintf("- [ ] Call `%s` with `%s`\n", tool, arguments)
}

func TestTheAgentAnswersTheFeedbackThatItWasGiven(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments string
		posted    []string
		says      string // to the agent
	}{
		"an item":            {`{"to":"1","text":"Done in the guard."}`, []string{"1 Done in the guard. false"}, "The answer is posted."},
		"a resolved thread":  {`{"to":" 2 ","text":"Fixed.","resolve":true}`, []string{"2 Fixed. true"}, "The answer is posted."},
		"another item":       {`{"to":"7","text":"Hello"}`, nil, `there is no item \"7\": give one of 1, 2`},
		"nothing to answer":  {`{"to":"","text":"Hello"}`, nil, `there is no item \"\": give one of 1, 2`},
		"no text":            {`{"to":"1","text":" "}`, nil, "the text is empty"},
		"too much text":      {`{"to":"1","text":"` + strings.Repeat("x", maxReply+1) + `"}`, nil, "shorten it to 10000"},
		"a wrong argument":   {`{"to":"1","text":"a","url":"b"}`, nil, "call it with"},
		"what a person said": {`{"to":"1","text":"fail"}`, nil, "The answer was not posted: the thread is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, callOf("reply", test.arguments))
			var posted []string
			f.job.Feedback = []prompt.Feedback{{ID: "1", Kind: prompt.FeedbackComment, Author: "kim", Text: "Why?"}, {ID: "2", Kind: prompt.FeedbackThread}, {Kind: prompt.FeedbackCheck}}
			f.job.CanAsk = true
			f.job.Reply = func(_ context.Context, id, text string, resolve bool) error {
				if text == "fail" {
					return errors.New("the thread is gone")
				}
				posted = append(posted, fmt.Sprintf("%s %s %t", id, text, resolve))
				return nil
			}
			got := f.run(t.Context())
			if diff := cmp.Diff(test.posted, posted); diff != "" || got.Class != schedule.Done {
				t.Errorf("%+v\n%s", got, diff)
			}
			if log := f.readLog(); !strings.Contains(strings.ReplaceAll(log, `\\\"`, `\"`), test.says) {
				t.Errorf("the agent was not told %q:\n%s", test.says, log)
			}
		})
	}
}

func TestTheAnswersOfASessionAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, strings.Repeat(callOf("reply", `{"to":"1","text":"Hello"}`), maxReplies+2))
	f.job.Feedback = []prompt.Feedback{{ID: "1", Kind: prompt.FeedbackComment}}
	posted := 0
	f.job.CanAsk = true
	f.job.Reply = func(context.Context, string, string, bool) error { posted++; return nil }
	f.run(t.Context())
	if posted != maxReplies {
		t.Errorf("%d answers were posted", posted)
	}
}

func TestAQuestionEndsTheSessionAndWaitsForAPerson(t *testing.T) {
	t.Parallel()
	f := newFixture(t, callOf("ask", `{"question":"Which database?","choices":["Postgres","SQLite"]}`)+"\n## Next turn\n\n- [ ] Create `x` containing `y`\n")
	f.job.CanAsk, f.job.MaxTurns = true, 3
	got := f.run(t.Context())
	if got.Class != schedule.NeedsInput || got.Turns != 1 || !strings.Contains(got.Why, "the agent asks: Which database? - Postgres - SQLite") ||
		got.Question != "Which database?\n- Postgres\n- SQLite" {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsNoQuestionIsRefused(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(`"a",`, maxChoices) + `"b"`
	for arguments, says := range map[string]string{
		`{"question":" "}`: "the question is empty",
		`{"question":"` + strings.Repeat("x", maxQuestion+1) + `"}`: "shorten it to 2000",
		`{"question":"a","choices":[` + many + `]}`:                 "give at most 10",
		`{"text":"a"}`: "call it with",
	} {
		f := newFixture(t, callOf("ask", arguments))
		f.job.CanAsk = true
		if got := f.run(t.Context()); got.Class != schedule.Done {
			t.Errorf("%.60s: %+v", arguments, got)
		}
		if log := f.readLog(); !strings.Contains(log, says) {
			t.Errorf("%.60s: the agent was not told %q", arguments, says)
		}
	}
}

func TestTheToolsOfAConversationAreThereOnlyWithOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Say `hello`\n")
	f.run(t.Context())
	if log := f.readLog(); strings.Contains(log, `"reply"`) || strings.Contains(log, `"ask"`) {
		t.Errorf("there are tools for a conversation:\n%s", log)
	}
}

// Logs of checks and comments of people may hold a secret of the run.
func TestSecretsAreHiddenInTheFeedback(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Say `hello`\n")
	f.job.Feedback = []prompt.Feedback{{Kind: prompt.FeedbackCheck, Author: "unit", Text: "token s3cret-value", Code: "s3cret-value"}}
	// The event log hides secrets too, so what it shows was hidden before, or it was not.
	f.job.Redact = func(text string) string {
		return strings.ReplaceAll(strings.ReplaceAll(text, "[hidden]", "[hidden before]"), "s3cret-value", "[hidden]")
	}
	f.run(t.Context())
	var input string
	for _, r := range f.requests("turn/start") {
		input += r.Text
	}
	if strings.Count(input, "[hidden before]") != 2 {
		t.Errorf("the agent was given %s", input)
	}
}

func TestASessionWithoutFeedbackHasNothingToAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, callOf("reply", `{"to":"1","text":"Hello"}`))
	f.job.CanAsk = true
	f.run(t.Context())
	if log := f.readLog(); !strings.Contains(log, "there is no feedback to answer in this session") {
		t.Errorf("the agent was not told so:\n%s", log)
	}
}

// A keyed comment is found before it is posted: two answers at once would be two comments.
func TestAnswersArePostedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	job := Job{Feedback: []prompt.Feedback{{ID: "1"}}}
	with := &conversation{job: &job}
	calls := 0
	job.Reply = func(context.Context, string, string, bool) error {
		if calls++; with.posting.TryLock() {
			t.Error("another answer could be posted meanwhile")
		}
		return nil
	}
	for range 2 {
		with.callReply(t.Context(), json.RawMessage(`{"to":"1","text":"Done."}`))
	}
	if calls != 2 {
		t.Errorf("%d of 2 answers were posted", calls)
	}
}

// What makes a text harmless takes comments and invisible characters away, which may stand
// inside a secret.
func TestNoToolOfTheTrackerSendsASecret(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string]string{
		"as it is":               `{"body":{"body":"it is s3cret-value"}}`,
		"in a list":              `{"list":["a",{"b":"s3cret-value"}]}`,
		"as a name":              `{"s3cret-value":1}`,
		"with escapes":           `{"body":"s3cret\u002dvalue"}`,
		"around a comment":       `{"body":"s3cret<!-- x -->-value"}`,
		"with invisible letters": `{"body":"s3cret\u200b-value"}`,
	} {
		calls := 0
		redact := func(text string) string { return strings.ReplaceAll(text, "s3cret-value", "***") }
		issue := IssueOf(Job{Redact: redact, Tracker: tracker.Adapter{Tools: []tracker.Tool{{Name: "api", Call: func(context.Context, tracker.Issue, json.RawMessage) tracker.ToolResult {
			calls++
			return tracker.ToolResult{OK: true}
		}}}}})
		tool := issue.tools()[0]
		if text, ok := tool.Call(t.Context(), json.RawMessage(arguments)); ok || calls > 0 || !strings.Contains(text, "secret of this run") {
			t.Errorf("%s: %d calls, %q", name, calls, text)
		}
		if _, ok := tool.Call(t.Context(), json.RawMessage(`{"body":"s3cret - value"}`)); !ok {
			t.Errorf("%s: a text without the secret was not sent", name)
		}
	}
}
