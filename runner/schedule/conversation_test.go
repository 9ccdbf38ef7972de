package schedule_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// at returns the mark of what was said until some minutes before noon.
func at(minutesAgo int, names ...string) schedule.Mark {
	return schedule.Mark{At: noon.Add(-time.Duration(minutesAgo) * time.Minute), IDs: names}
}

// said returns feedback of a person up to a mark.
func said(m schedule.Mark) schedule.Feedback {
	return schedule.Feedback{Round: schedule.RoundSaid, Summary: "1 comment by kim", Fresh: true, Mark: m}
}

// delivered returns a fixture in which an issue was handed over, and nothing was said
// until an hour before noon.
func delivered(id tracker.ID) fixture {
	f := simple()
	f.policy.MaxRounds, f.policy.MaxCheckRounds = 5, 3
	f.state.Deliver(id, schedule.Delivery{Identifier: "ABC-" + string(id), Number: 7})
	f.state.StartConversations(noon.Add(-time.Hour))
	issue := todo(1)
	issue.State = "Review"
	f.snap.Claimed[id] = &issue
	f.snap.Feedback = map[tracker.ID]schedule.Feedback{}
	return f
}

func TestAConversationThatWasNotReadStaysAsItIs(t *testing.T) {
	t.Parallel()
	for _, pull := range []schedule.PullState{"", schedule.PullOpen, schedule.PullMerged} {
		f := delivered("1")
		converse(f.state, "1", func(c *schedule.Conversation) { c.CommandsUpTo = at(5, "a") })
		f.snap.Feedback["1"] = schedule.Feedback{Pull: pull}
		before := f.state.Conversations["1"]
		plan := schedule.Plan(f.state, f.snap, f.policy, noon)
		for _, d := range plan {
			f.state.Apply(d, noon)
		}
		if diff := cmp.Diff(before, f.state.Conversations["1"]); diff != "" {
			t.Errorf("%q (-before +after):\n%s", pull, diff)
		}
		if finishes := len(plan) == 1 && plan[0].Action == schedule.Finish; finishes != (pull == schedule.PullMerged) {
			t.Errorf("%q: %+v", pull, plan)
		}
	}
}

func TestAConversationLastsAsLongAsAClaimOrADelivery(t *testing.T) {
	t.Parallel()
	f := simple()
	talks := func(want string) {
		t.Helper()
		if got := strings.Join(slices.Sorted(maps.Keys(asStrings(f.state.Conversations))), " "); got != want {
			t.Errorf("conversations about %q, want %q", got, want)
		}
	}
	talks("")
	for n := 1; n <= 3; n++ {
		f.state.Apply(schedule.Decision{Action: schedule.Dispatch, ID: todo(n).ID, Issue: todo(n)}, noon)
	}
	talks("1 2 3")
	if got, want := f.state.Conversations["1"].ReadUpTo, at(0); !got.Equal(want) {
		t.Errorf("heard %+v, want all that was said before", got)
	}
	f.state.Deliver("1", published)
	f.state.Exit("1", schedule.Outcome{Class: schedule.Done, Gone: true}, f.policy, noon)
	f.state.Exit("2", schedule.Outcome{Class: schedule.Done, Gone: true}, f.policy, noon)
	f.state.Exit("3", schedule.Outcome{Class: schedule.NeedsInput}, f.policy, noon)
	talks("1 3")
	f.state.Release("3")
	talks("1")
	f.state.Finished("1", schedule.PullMerged, noon)
	talks("")
	if len(f.state.Deliveries) > 0 {
		t.Error("the delivery stays")
	}
}

func asStrings(talks map[tracker.ID]schedule.Conversation) map[string]bool {
	names := map[string]bool{}
	for id := range talks {
		names[string(id)] = true
	}
	return names
}

func TestADeliveryThatIsDroppedTakesItsConversationAlong(t *testing.T) {
	t.Parallel()
	f := simple()
	f.claim(todo(0), schedule.Parked, nil)
	for n := range 501 {
		f.state.Deliver(todo(n).ID, schedule.Delivery{Identifier: todo(n).Identifier, At: noon.Add(time.Duration(n) * time.Second)})
		f.state.StartConversations(noon)
	}
	_, claimed := f.state.Conversations["0"]
	_, dropped := f.state.Conversations["1"]
	if len(f.state.Conversations) != 500 || !claimed || dropped {
		t.Errorf("%d conversations, about a claimed issue %v, about the dropped delivery %v", len(f.state.Conversations), claimed, dropped)
	}
}

func TestAStateOfAnOlderVersionHasHeardWhatWasSaidBefore(t *testing.T) {
	t.Parallel()
	f := simple()
	f.claim(todo(1), schedule.Parked, nil)
	f.state.Deliver("2", published)
	f.state.StartConversations(noon)
	begun := schedule.Conversation{ReadUpTo: at(0), PromptedUpTo: at(0)}
	want := map[tracker.ID]schedule.Conversation{"1": begun, "2": begun}
	if diff := cmp.Diff(want, f.state.Conversations); diff != "" {
		t.Error(diff)
	}
	f.state.StartConversations(noon.Add(time.Hour))
	if diff := cmp.Diff(want, f.state.Conversations); diff != "" {
		t.Errorf("one that has begun begins again: %s", diff)
	}
}

func TestOnlyASessionThatDidNotFailHasHeardWhatItWasGiven(t *testing.T) {
	t.Parallel()
	for class, heard := range map[schedule.Class]bool{
		schedule.Done: true, schedule.NeedsInput: true, schedule.Stopped: false, schedule.IssueFailed: false,
		schedule.Transient: false, schedule.ThreadLost: false, schedule.Systemic: false,
	} {
		f := delivered("1")
		f.snap.Feedback["1"] = said(at(10, "a", "b"))
		f = f.then(f.plan())
		f.state.Exit("1", schedule.Outcome{Class: class, Why: "as drawn", Issue: f.snap.Claimed["1"]}, f.policy, noon)
		if got := f.state.Conversations["1"].ReadUpTo.Equal(at(10, "a", "b")); got != heard {
			t.Errorf("%s: heard %v, want %v", class, got, heard)
		}
	}
}

func TestASessionThatWasGivenNothingHasHeardNothing(t *testing.T) {
	t.Parallel()
	f := delivered("1")
	issue := todo(1)
	f.snap.Claimed["1"] = &issue
	f.snap.Feedback["1"] = said(at(10))
	f = f.then(f.plan())
	f.state.Exit("1", schedule.Outcome{Class: schedule.Transient, Why: "busy", Issue: &issue}, f.policy, noon)

	delete(f.snap.Feedback, "1") // it cannot be read, and the issue is active all the same
	f.now = f.now.Add(time.Hour)
	f = f.then(f.plan())
	if c := f.state.Claims["1"]; c.Phase != schedule.Running {
		t.Fatalf("not started: %+v", c)
	}
	f.state.Exit("1", schedule.Outcome{Class: schedule.Done, Issue: &issue}, f.policy, noon)
	if got := f.state.Conversations["1"].ReadUpTo; !got.Equal(at(60)) {
		t.Errorf("heard %+v", got)
	}
}

func TestCommentsDuringAStopDoNotLetTheIssueGoOn(t *testing.T) {
	t.Parallel()
	f, issue := running(todo(1)), todo(1)
	f.policy.MaxRounds = 5
	f.snap.Claimed["1"] = &issue
	f.state.StartConversations(noon.Add(-time.Hour))
	stop := said(at(10))
	stop.Command, stop.By, stop.CommandsUpTo = schedule.CommandStop, "kim", at(10)
	f.snap.Feedback = map[tracker.ID]schedule.Feedback{"1": stop}
	f = f.then(f.plan())
	next := f.state.Exit("1", schedule.Outcome{Class: schedule.Stopped, Issue: f.snap.Claimed["1"]}, f.policy, noon)
	if next.Phase != schedule.Parked || next.Why.Reason != schedule.Commanded {
		t.Fatalf("after the stop: %+v", next)
	}
	if again := f.plan(); len(again) > 0 {
		t.Errorf("decided %+v", again)
	}
	f.snap.Feedback["1"] = said(at(5))
	if started := dispatched(f.plan()); len(started) != 1 {
		t.Error("a new comment does not let it go on")
	}
}

// TestAnEditOfAParkedIssueKeepsWhatNobodyAnswered parks an issue that has failed, or spent its
// budget, with a comment or an answer of the status page that nobody answered.
func TestAnEditOfAParkedIssueKeepsWhatNobodyAnswered(t *testing.T) {
	t.Parallel()
	old := said(at(10, "c@1"))
	old.Fresh = false // it was said before the issue was parked
	for name, test := range map[string]struct {
		feedback map[tracker.ID]schedule.Feedback
		answer   string
		starts   bool
		left     schedule.Conversation
	}{
		"a comment":                          {map[tracker.ID]schedule.Feedback{"1": old}, "", true, schedule.Conversation{ReadUpTo: at(60), PromptedUpTo: at(10, "c@1"), Rounds: 1}},
		"an answer":                          {map[tracker.ID]schedule.Feedback{"1": {Mark: at(60)}}, "the blue one", true, schedule.Conversation{ReadUpTo: at(60), PromptedUpTo: at(60), Answer: "the blue one"}},
		"checks of what is forgotten":        {map[tracker.ID]schedule.Feedback{"1": {Round: schedule.RoundChecks, Mark: at(10)}}, "", true, schedule.Conversation{ReadUpTo: at(10), PromptedUpTo: at(10)}},
		"nothing":                            {map[tracker.ID]schedule.Feedback{"1": {Mark: at(60)}}, "", true, schedule.Conversation{ReadUpTo: at(60), PromptedUpTo: at(60)}},
		"a conversation that cannot be read": {map[tracker.ID]schedule.Feedback{}, "", false, schedule.Conversation{ReadUpTo: at(60), PromptedUpTo: at(60), Rounds: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, issue := simple(), todo(1)
			f.policy.MaxRounds, f.policy.MaxCheckRounds, f.policy.Budget.TokensPerIssue = 5, 5, 100
			f.claim(issue, schedule.Parked, func(c *schedule.Claim) { c.Tokens, c.Failures, c.Sessions = 200, 3, 3 })
			f.state.StartConversations(noon.Add(-time.Hour))
			converse(f.state, "1", func(c *schedule.Conversation) { c.Answer, c.Rounds = test.answer, 5 })
			f.snap.Feedback = test.feedback
			issue.Description += " And do it in Go."
			f.snap.Claimed["1"], f.snap.Candidates = &issue, []tracker.Issue{issue}
			decisions := f.plan()
			if starts := len(dispatched(decisions)) == 1; starts != test.starts {
				t.Fatalf("decided %+v", decisions)
			}
			f = f.then(decisions)
			if test.starts {
				test.left.Labels = issue.Labels
			}
			if diff := cmp.Diff(test.left, f.state.Conversations["1"]); diff != "" {
				t.Errorf("the conversation (-want +got):\n%s", diff)
			}
			if c := f.state.Claims["1"]; test.starts && (c.Phase != schedule.Running || c.Tokens != 0 || c.Failures != 0) {
				t.Errorf("the claim: %+v", c)
			}
		})
	}
}

func TestAnEndThatASessionReachedDuringItsStopParksItAllTheSame(t *testing.T) {
	t.Parallel()
	for _, class := range []schedule.Class{schedule.Done, schedule.IssueFailed, schedule.Systemic, schedule.Transient, schedule.NeedsInput} {
		for _, reason := range []schedule.Reason{schedule.Commanded, schedule.Closed} {
			f := running(todo(1))
			f.state.Apply(schedule.Decision{Action: schedule.Stop, ID: "1", Why: schedule.Why{Reason: reason, Detail: "kim said so"}}, noon)
			review := todo(1)
			review.State = "Review"
			next := f.state.Exit("1", schedule.Outcome{Class: class, Why: "as drawn", Issue: &review}, f.policy, noon)
			if c := f.state.Claims["1"]; next.Phase != schedule.Parked || c.Why != "kim said so" || !c.Feedback {
				t.Errorf("%s during a stop (%s): %+v", class, reason, c)
			}
		}
	}
}

func TestAClaimForFeedbackIsAnyOtherOnceItsIssueIsActive(t *testing.T) {
	t.Parallel()
	f, issue := running(todo(1)), todo(1)
	c := f.state.Claims["1"]
	c.Feedback = true
	f.state.Claims["1"] = c
	f.state.Exit("1", schedule.Outcome{Class: schedule.Done, Issue: &issue}, f.policy, noon)
	if c := f.state.Claims["1"]; c.Phase != schedule.Waiting || c.Feedback {
		t.Errorf("after a session on an active issue: %+v", c)
	}
}

func TestTheNextClaimBeginsWhereTheLastOneEnded(t *testing.T) {
	t.Parallel()
	f := delivered("1")
	f.state.Conversations["1"] = schedule.Conversation{ReadUpTo: at(60), PromptedUpTo: at(60), Thread: "t", Sessions: 4, Tokens: 70}
	f.snap.Feedback["1"] = said(at(10))
	c := f.then(f.plan()).state.Claims["1"]
	if c.Thread != "t" || c.Sessions != 5 || c.Tokens != 70 || c.Attempt != 1 {
		t.Errorf("the next claim is %+v", c)
	}

	// The files of its thread are removed with its workspace.
	f = running(todo(1))
	f.state.Deliver("1", published)
	done := todo(1)
	done.State = "Done"
	f.state.Exit("1", schedule.Outcome{Class: schedule.Done, Thread: "t", Issue: &done}, f.policy, noon)
	if talk := f.state.Conversations["1"]; talk.Thread != "" || talk.Sessions != 1 {
		t.Errorf("of a finished issue stays %+v", talk)
	}
}

func TestAnOperatorLetsRoundsBeginAgain(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(*schedule.State){
		"retry":   func(s *schedule.State) { s.Retry("1", noon) },
		"release": func(s *schedule.State) { s.Release("1") },
	} {
		f := delivered("1")
		f.claim(todo(1), schedule.Parked, nil)
		f.state.Conversations["1"] = schedule.Conversation{ReadUpTo: at(60), Rounds: 5, CheckRounds: 3, Tokens: 9, Thread: "t"}
		act(f.state)
		if talk := f.state.Conversations["1"]; talk.Rounds != 0 || talk.CheckRounds != 0 || !talk.ReadUpTo.Equal(at(60)) {
			t.Errorf("after a %s: %+v", name, talk)
		}
	}
}

func TestWhatTheRunnerNotesNeedsAConversation(t *testing.T) {
	t.Parallel()
	f := delivered("1")
	note := func(talk *schedule.Conversation) { talk.Posted = "digest" }
	converse(f.state, "1", note)
	converse(f.state, "2", note)
	if len(f.state.Conversations) != 1 || f.state.Conversations["1"].Posted != "digest" {
		t.Errorf("%+v", f.state.Conversations)
	}
}

func TestAQuestionIsBounded(t *testing.T) {
	t.Parallel()
	f := running(todo(1))
	f.state.Exit("1", schedule.Outcome{Class: schedule.NeedsInput, Question: "x" + strings.Repeat("é", 4000)}, f.policy, noon)
	if got, want := f.state.Conversations["1"].Asked, "x"+strings.Repeat("é", 1999); got != want {
		t.Errorf("%d bytes of the question are kept: %.20s", len(got), got)
	}
}

func TestAMergedIssueIsNotStartedWhileItIsBeingFinished(t *testing.T) {
	t.Parallel()
	f := delivered("1")
	issue := todo(1)
	f.snap.Claimed["1"], f.snap.Candidates = &issue, []tracker.Issue{issue}
	f.snap.Feedback["1"] = schedule.Feedback{Mark: at(60), Pull: schedule.PullMerged, PullBy: "kim"}
	f = f.then(f.plan())
	later := schedule.New(me)
	later.Deliver("1", schedule.Delivery{Identifier: "ABC-1", Number: 7})
	later.StartConversations(noon)
	later.CarryOverTick(f.state) // another run has saved the state in between
	f.state = later
	f.snap.Feedback["1"] = schedule.Feedback{Mark: at(0), Pull: schedule.PullOpen}
	if decisions := f.plan(); len(decisions) > 0 {
		t.Errorf("decided %+v", decisions)
	}
	f.state.Finished("1", schedule.PullMerged, noon)
	if started := dispatched(f.plan()); len(started) != 1 {
		t.Error("it is not looked at again")
	}
}

// A conversation that begins again, on an issue that was released and is claimed again, has
// heard more than what was read before.
func TestWhatWasReadOfAnEarlierConversationCountsNoMore(t *testing.T) {
	t.Parallel()
	f := simple()
	issue := todo(1)
	f.snap.Claimed["1"], f.snap.Candidates = &issue, []tracker.Issue{issue}
	f.snap.Feedback = map[tracker.ID]schedule.Feedback{"1": {Mark: at(10)}}
	f = f.then(f.plan())
	if decisions := f.plan(); len(decisions) > 0 {
		t.Errorf("decided %+v", decisions)
	}
}

// A session takes its time with the words of a person, who deletes them before it has them. What a
// plan took as read since then stays read.
func TestWordsThatWereDeletedDoNotMoveTheMarksBack(t *testing.T) {
	t.Parallel()
	f := simple()
	issue := todo(1)
	f.state.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "1", Issue: issue}, noon.Add(-time.Hour))
	f.state.Apply(schedule.Decision{Action: schedule.Observe, ID: "1", Feedback: schedule.Feedback{Mark: at(2, "order")}}, noon)
	schedule.Steered{ID: "1", Session: 1, Mark: at(10, "words")}.Apply(f.state, f.policy)
	f.state.Exit("1", schedule.Outcome{Class: schedule.Done, Issue: &issue}, f.policy, noon)
	if talk := f.state.Conversations["1"]; !talk.ReadUpTo.Equal(at(2, "order")) {
		t.Errorf("read up to %+v", talk.ReadUpTo)
	}
}

// ordered returns a plan with a claimed issue on which somebody gave a command without a
// comment, and whose comments may have been read.
func ordered(t *testing.T, f fixture, command schedule.Command, read bool) fixture {
	t.Helper()
	issue := todo(1)
	f.policy.MaxRounds = 5
	f.snap.Claimed["1"] = &issue
	f.state.StartConversations(noon.Add(-time.Hour))
	if read {
		f.snap.Feedback = map[tracker.ID]schedule.Feedback{"1": {Mark: at(1)}}
	}
	if !f.state.Order("1", schedule.Order{Command: command, By: "kim"}, noon) || !f.state.HasPendingCommand("1") {
		t.Fatal("the command is not noted")
	}
	return f
}

func TestACommandThatStartedARunIsObeyedOnceLikeAComment(t *testing.T) {
	t.Parallel()
	for _, read := range []bool{true, false} { // also where nobody can comment
		f := ordered(t, running(todo(1)), schedule.CommandStop, read)
		stop := f.plan()
		if len(stop) != 1 || stop[0].Action != schedule.Stop || stop[0].Why.Reason != schedule.Commanded {
			t.Fatalf("stop: %+v", stop)
		}
		f = f.then(stop)
		next := f.state.Exit("1", schedule.Outcome{Class: schedule.Stopped, Issue: f.snap.Claimed["1"]}, f.policy, noon)
		if next.Phase != schedule.Parked || f.state.HasPendingCommand("1") {
			t.Fatalf("after the stop: %+v, ordered: %t", next, f.state.HasPendingCommand("1"))
		}
		f = ordered(t, f, schedule.CommandRetry, read)
		converse(f.state, "1", func(c *schedule.Conversation) { c.Rounds = 4 })
		f = f.then(f.plan())
		if c := f.state.Claims["1"]; c.Phase != schedule.Running || f.state.Conversations["1"].Rounds != 0 || f.state.HasPendingCommand("1") {
			t.Errorf("after a retry: %+v", c)
		}
	}
}

func TestACommandWaitsForTheRunThatWorksOnTheIssue(t *testing.T) {
	t.Parallel()
	f := running(todo(1))
	theirs := f.state.Claims["1"].Owner
	f = ordered(t, f, schedule.CommandStop, true)
	f.state.Self = schedule.Owner{Run: "another"}
	if got := f.plan(); len(got) > 0 {
		t.Fatalf("another run decided %+v", got)
	}
	f.state.Self = theirs // it has read the state again
	if got := f.plan(); len(got) != 1 || got[0].Action != schedule.Stop {
		t.Errorf("the run of the session decided %+v", got)
	}
}

func TestACommandLeavesTheCommandOfACommentForLater(t *testing.T) {
	t.Parallel()
	f := ordered(t, running(todo(1)), schedule.CommandResume, true)
	f.snap.Feedback["1"] = schedule.Feedback{Mark: at(1), Command: schedule.CommandStop, By: "lee", CommandsUpTo: at(2)}
	f = f.then(f.plan())
	if got := f.plan(); len(got) != 1 || got[0].Action != schedule.Stop || !strings.Contains(got[0].Why.Detail, "lee wrote") {
		t.Errorf("after the resume: %+v", got)
	}
}

func TestACommandNeedsAnIssueThatTheStateKnows(t *testing.T) {
	t.Parallel()
	f := running(todo(1))
	if f.state.Order("2", schedule.Order{Command: schedule.CommandRetry}, noon) || len(f.state.Conversations) > 0 {
		t.Errorf("noted: %+v", f.state.Conversations)
	}
	f.state.Deliver("2", schedule.Delivery{Identifier: "ABC-2", Branch: "b"})
	if !f.state.Order("2", schedule.Order{Command: schedule.CommandRetry, By: "kim"}, noon) {
		t.Fatal("not noted on a delivery")
	}
	issue := todo(2)
	issue.State = "Review"
	f.policy.HandedOver = "Review"
	f.snap.Claimed["2"] = &issue
	f = f.then(f.plan())
	if c := f.state.Claims["2"]; c.Phase == "" || f.state.HasPendingCommand("2") {
		t.Errorf("after a retry of an issue that was handed over: %+v", c)
	}
}

func TestACommandOnAnIssueThatIsOverIsDropped(t *testing.T) {
	t.Parallel()
	f := running()
	f.state.Deliver("1", schedule.Delivery{Identifier: "ABC-1", Branch: "b"})
	f = ordered(t, f, schedule.CommandRetry, false)
	done := todo(1)
	done.State = "Done"
	f.snap.Claimed["1"] = &done
	f = f.then(f.plan())
	if f.state.HasPendingCommand("1") || len(f.state.Claims) > 0 {
		t.Errorf("left: %+v %+v", f.state.Conversations, f.state.Claims)
	}
	if again := f.plan(); len(again) > 0 {
		t.Errorf("decided %+v", again)
	}
}

// A session whose work could not be published because a person had pushed is no round: the
// next one, which may hear of more, answers what it was given.
func TestASessionUnderWhichTheBranchMovedIsNoRound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		outcome schedule.Outcome
		want    int // rounds after the next session has begun
	}{
		"moved":           {schedule.Outcome{Class: schedule.IssueFailed, Moved: true}, 1},
		"another failure": {schedule.Outcome{Class: schedule.IssueFailed}, 2},
	} {
		f := delivered("1")
		f.snap.Feedback["1"] = said(at(10))
		f = f.then(f.plan())
		f.state.Exit("1", test.outcome, f.policy, f.now)
		f.snap.Feedback["1"] = said(at(5)) // the push is one more thing
		f.now = f.now.Add(time.Hour)
		f = f.then(f.plan())
		if talk := f.state.Conversations["1"]; talk.Rounds != test.want || talk.Moved {
			t.Errorf("%s: %+v", name, talk)
		}
		if failures := f.state.Claims["1"].Failures; failures != 1 {
			t.Errorf("%s: %d failures count for budget.max_attempts_per_issue", name, failures)
		}
	}
}

// TestTheSameFeedbackBeginsNoSecondSessionAtOnce has a session on feedback whose issue leaves
// the active states: a poll stops it before it has answered, or it fails. The program has
// answered in a thread meanwhile, so the conversation is not as the session was given it.
func TestTheSameFeedbackBeginsNoSecondSessionAtOnce(t *testing.T) {
	t.Parallel()
	for _, class := range []schedule.Class{schedule.Stopped, schedule.IssueFailed, schedule.Transient} {
		f := delivered("1")
		active := todo(1)
		f.snap.Claimed["1"], f.snap.Candidates = &active, []tracker.Issue{active}
		f.snap.Feedback["1"] = said(at(5, "a"))
		for _, d := range f.plan() {
			f.state.Apply(d, f.now)
		}
		review := todo(1)
		review.State = "Review"
		f.snap.Claimed["1"], f.snap.Candidates = &review, nil
		if class == schedule.Stopped {
			for _, d := range f.plan() {
				f.state.Apply(d, f.now)
			}
		}
		f.state.Exit("1", schedule.Outcome{Class: class, Issue: &review, Turns: 1}, f.policy, f.now)
		if c, claimed := f.state.Claims["1"]; claimed {
			t.Fatalf("%s: the claim is %+v", class, c)
		}
		same := said(at(5, "a", "ours"))
		same.Prompted = true
		starts := func(what string, said schedule.Feedback, want bool) {
			t.Helper()
			f.snap.Feedback["1"] = said
			plan := f.plan()
			if started := len(dispatched(plan)) == 1; started != want {
				t.Errorf("%s, %s: %+v", class, what, plan)
			}
		}
		starts("the same", same, false)
		starts("something new", said(at(4, "b")), true)
		wake, ok := f.state.Wake(f.policy, f.now)
		if !ok || wake.Sub(f.now) < 5*time.Second {
			t.Errorf("%s: it is tried again after %v (%v)", class, wake.Sub(f.now), ok)
		}
		f.now = wake
		starts("the same, later", same, true)
		before := f.state.Conversations["1"].Rounds
		for _, d := range f.plan() {
			f.state.Apply(d, f.now)
		}
		if rounds := f.state.Conversations["1"].Rounds; rounds != before {
			t.Errorf("%s: the second session on the same counts as round %d after %d", class, rounds, before)
		}
	}
}
