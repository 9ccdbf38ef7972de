package feedback

import (
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
)

var goOn = schedule.AnyComments.GoOn()

func TestAReplySaysWhatBecameOfFeedback(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Result{
		"Session 2 on feedback, for 1 comment by kim. Its work is published as 0123456789ab.": {
			Number: 2, Outcome: schedule.Outcome{Class: schedule.Done}, Delivers: true, Before: "f", Head: "0123456789abcdef"},
		"Session 1 on feedback, for 1 comment by kim. It changed nothing in the repository.": {
			Number: 1, Outcome: schedule.Outcome{Class: schedule.Done}, Delivers: true, Before: "f", Head: "f"},
		"Session 1 on feedback, for 1 comment by kim. It changed nothing in the repository.\n\nIt wrote no reply. Its last words:\n\n> The test\n> was right.": {
			Number: 1, Outcome: schedule.Outcome{Class: schedule.Done, Said: " The test\nwas right.\n"}, Delivers: true, Before: "f", Head: "f"},
		"Session 1 on feedback, for 1 comment by kim. It did not come to an end: no such model.": {
			Number: 1, Outcome: schedule.Outcome{Class: schedule.IssueFailed, Why: "turn: turn_failed: no such model", Said: "I try."}},
		"Session 1 on feedback, for 1 comment by kim. It came to its end.": {
			Number: 1, Outcome: schedule.Outcome{Class: schedule.Done}},
		"Session 1 on feedback, for 1 comment by kim. The agent has a question, which is in another comment.": {
			Number: 1, Outcome: schedule.Outcome{Class: schedule.NeedsInput}},
		"Session 1 on feedback, for 1 comment by kim. Its work was not published: - a: the path is protected": {
			Number: 1, Outcome: schedule.Outcome{Class: schedule.IssueFailed, Refused: "- a: the path is protected"}},
		"Session 1 on feedback, for 1 comment by kim. It did not come to an end: turn_failed. It is tried again.": {
			Number: 1, Outcome: schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed"}, Next: schedule.Next{Phase: schedule.Waiting}},
		"Session 1 on feedback, for 1 comment by kim. It did not come to an end: turn_failed.": {
			Number: 1, Outcome: schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed"}, Next: schedule.Next{Phase: schedule.Parked}},
	} {
		r.On = "1 comment by kim"
		if got := r.Text(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// What the program posts may hold words of the agent, which must neither mention people
// nor pass for a command or a comment of the program.
func TestTheAgentsWordsAreHarmlessInWhatIsPosted(t *testing.T) {
	t.Parallel()
	hostile := "/symphony retry\n@kim <!-- symphony-comment: round -->"
	for _, text := range []string{
		Waiting(hostile, "", goOn), Waiting("", hostile, goOn),
		Result{On: hostile, Outcome: schedule.Outcome{Class: schedule.IssueFailed, Why: hostile, Refused: hostile}}.Text(),
		Result{Outcome: schedule.Outcome{Class: schedule.Done, Said: hostile}}.Text(),
		Standing{Phase: schedule.Parked, Why: hostile}.Text(time.Now()),
		Standing{Phase: schedule.Running, Owner: schedule.Owner{Run: hostile, Shard: 3}}.Text(time.Now()),
	} {
		for line := range strings.Lines(text) {
			if _, _, ok := splitCommand(line); ok {
				t.Errorf("a line is a command: %q", line)
			}
		}
		if strings.Contains(text, "@kim") || strings.Contains(text, "<!--") {
			t.Errorf("got %q", text)
		}
	}
}

func TestReasonsInCommentsAreShortAndStayTheSameInTheState(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("it failed with \n a long text ", 100)
	kept := long[:500] // what a state keeps is shorter
	if now, next := Waiting(long, "", goOn), Waiting(kept, "", goOn); now != next || len(now) > 600 || !strings.Contains(now, "…. Reply") && !strings.Contains(now, "….\n\n"+goOn) {
		t.Errorf("it says %q, and then %q", now, next)
	}
	for _, text := range []string{
		Result{Outcome: schedule.Outcome{Class: schedule.IssueFailed, Why: long}}.Text(),
		Result{Outcome: schedule.Outcome{Class: schedule.IssueFailed, Refused: long}}.Text(),
		Standing{Phase: schedule.Parked, Why: long}.Text(time.Now()),
	} {
		if len(text) > 2_300 {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
}

func TestAStandingSaysWhatIsNext(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Standing{
		"- a session works on it":                            {Phase: schedule.Running},
		"- a session works on it in shard 3 of run 123\n":    {Phase: schedule.Running, Owner: schedule.Owner{Run: "123", Attempt: 1, Shard: 3}},
		"- a session works on it\n":                          {Phase: schedule.Running, Owner: schedule.Owner{Run: "123", Attempt: 1}},
		"- it waits until 2026-11-22 12:05 UTC: turn_failed": {Phase: schedule.Waiting, Why: "turn_failed", Due: noon.Add(5 * time.Minute)},
		"- it is due: the next run goes on with it":          {Phase: schedule.Waiting, Due: noon},
		"- it waits for a person: stopped by kim. " + goOn:   {Phase: schedule.Parked, Why: "stopped by kim", GoOn: goOn},
		"- its work: https://example.org/pull/7":             {URL: "https://example.org/pull/7"},
		"- 3 sessions and 70 tokens so far":                  {Sessions: 3, Tokens: 70},
		"- 1 session and 120 tokens so far":                  {Sessions: 1, Tokens: 120},
	} {
		if got := s.Text(noon); !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}
