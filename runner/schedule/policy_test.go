package schedule_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestIssuesAreOrderedByUrgencyAgeAndName(t *testing.T) {
	t.Parallel()
	at := func(hours int) time.Time { return noon.Add(time.Duration(hours) * time.Hour) }
	issue := func(priority int, created time.Time, identifier string, id tracker.ID) tracker.Issue {
		return tracker.Issue{ID: id, Identifier: identifier, Priority: &priority, CreatedAt: created}
	}
	unknown := issue(0, at(-9), "ABC-8", "8")
	unknown.Priority = nil
	want := []tracker.Issue{
		issue(1, time.Time{}, "ABC-9", "9"),
		issue(2, at(-1), "ABC-5", "5"),
		issue(4, at(-1), "ABC-4", "4"),
		issue(0, at(-10), "ABC-7", "7"), // a priority outside of 1 to 4 counts as none
		unknown,
		issue(5, at(-8), "ABC-1", "3"),
		issue(-1, at(-8), "ABC-2", "1"),
		issue(9, at(-8), "ABC-2", "2"),
		issue(7, time.Time{}, "ABC-0", "0"),
	}
	rapid.Check(t, func(t *rapid.T) {
		shuffled := rapid.Permutation(slices.Clone(want)).Draw(t, "shuffled")
		if diff := cmp.Diff(want, schedule.Sorted(shuffled, schedule.Compare)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestAnIneligibleIssueHasAReason(t *testing.T) {
	t.Parallel()
	blockedBy := func(blockers ...tracker.Blocker) func(*tracker.Issue) {
		return func(issue *tracker.Issue) { issue.BlockedBy = blockers }
	}
	inState := func(state string) func(*tracker.Issue) {
		return func(issue *tracker.Issue) { issue.State = state }
	}
	tests := []struct {
		name   string
		labels []string
		edit   func(*tracker.Issue)
		want   schedule.Why
	}{
		{name: "a plain issue", edit: func(*tracker.Issue) {}},
		{name: "no id", edit: func(issue *tracker.Issue) { issue.ID = "" }, want: schedule.Why{Reason: schedule.Incomplete, Detail: "has no id"}},
		{
			name: "nothing but an id", edit: func(issue *tracker.Issue) { *issue = tracker.Issue{ID: "1"} },
			want: schedule.Why{Reason: schedule.Incomplete, Detail: "has no identifier, title, state"},
		},
		{name: "another case and outer space", edit: inState(" IN progress ")},
		{name: "terminal", edit: inState("done"), want: schedule.Why{Reason: schedule.Terminal, Detail: `is "done", a terminal state`}},
		{name: "active and terminal at once", edit: inState("Both"), want: schedule.Why{Reason: schedule.Terminal, Detail: `is "Both", a terminal state`}},
		{name: "neither", edit: inState("Backlog"), want: schedule.Why{Reason: schedule.NotActive, Detail: `is "Backlog", not an active state`}},
		{name: "all labels", labels: []string{"agent"}, edit: func(*tracker.Issue) {}},
		{
			name: "one label of two", labels: []string{"agent", "go"}, edit: func(*tracker.Issue) {},
			want: schedule.Why{Reason: schedule.NotRoutable, Detail: `lacks the required label "go"`},
		},
		{
			name: "a blank label matches nothing", labels: []string{""}, edit: func(issue *tracker.Issue) { issue.Labels = []string{""} },
			want: schedule.Why{Reason: schedule.NotRoutable, Detail: `lacks the required label ""`},
		},
		{
			name: "refused by the adapter", edit: func(issue *tracker.Issue) { issue.Dispatchable, issue.WhyNot = false, "its author is a stranger" },
			want: schedule.Why{Reason: schedule.NotDispatchable, Detail: "its author is a stranger"},
		},
		{
			name: "refused without a reason", edit: func(issue *tracker.Issue) { issue.Dispatchable = false },
			want: schedule.Why{Reason: schedule.NotDispatchable, Detail: "the tracker does not offer it for work"},
		},
		{name: "blockers that are finished", edit: blockedBy(tracker.Blocker{State: "DONE"}, tracker.Blocker{State: "Cancelled"})},
		{
			name: "the second blocker is open", edit: blockedBy(tracker.Blocker{State: "Done"}, tracker.Blocker{ID: "7", Identifier: "ABC-7", State: "Todo"}),
			want: schedule.Why{Reason: schedule.Blocked, Detail: "blocked by ABC-7 (Todo)"},
		},
		{
			name: "a blocker with an id only", edit: blockedBy(tracker.Blocker{ID: "7"}),
			want: schedule.Why{Reason: schedule.Blocked, Detail: "blocked by 7, whose state is not known"},
		},
		{
			name: "a blocker without any field", edit: blockedBy(tracker.Blocker{}),
			want: schedule.Why{Reason: schedule.Blocked, Detail: "blocked by an unnamed issue, whose state is not known"},
		},
		{
			name: "blockers count in Todo only",
			edit: func(issue *tracker.Issue) {
				issue.State, issue.BlockedBy = "In Progress", []tracker.Blocker{{State: "Todo"}}
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			policy := simple().policy
			policy.ActiveStates = append(policy.ActiveStates, "Both")
			policy.TerminalStates = append(policy.TerminalStates, "both")
			policy.RequiredLabels = test.labels
			issue := todo(1)
			test.edit(&issue)
			if diff := cmp.Diff(test.want, policy.IneligibleToStart(issue)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFeedbackIsAnsweredInAnyStateThatIsNotTheEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		handedOver string
		edit       func(*tracker.Issue)
		want       schedule.Reason
	}{
		{name: "active", edit: func(*tracker.Issue) {}},
		{name: "neither active nor terminal", edit: func(issue *tracker.Issue) { issue.State = "Review" }},
		{name: "without the required label", edit: func(issue *tracker.Issue) { issue.Labels = nil }},
		{name: "blocked", edit: func(issue *tracker.Issue) { issue.BlockedBy = []tracker.Blocker{{State: "Todo"}} }},
		{name: "terminal", edit: func(issue *tracker.Issue) { issue.State = "Done" }, want: schedule.Terminal},
		{name: "handed over to a terminal state", handedOver: " DONE", edit: func(issue *tracker.Issue) { issue.State = "Done" }},
		{name: "in another terminal state", handedOver: "done", edit: func(issue *tracker.Issue) { issue.State = "Cancelled" }, want: schedule.Terminal},
		{name: "refused by the adapter", edit: func(issue *tracker.Issue) { issue.Dispatchable = false }, want: schedule.NotDispatchable},
		{name: "without a title", edit: func(issue *tracker.Issue) { issue.Title = "" }, want: schedule.Incomplete},
	} {
		policy := simple().policy
		policy.RequiredLabels, policy.HandedOver, policy.HandsOver = []string{"agent"}, test.handedOver, true
		issue := todo(1)
		test.edit(&issue)
		if got := policy.Answering().IneligibleToStart(issue).Reason; got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if why := policy.IneligibleToContinue(issue); policy.AnyState || test.handedOver != "" && why.None() {
			t.Errorf("%s: the policy itself has changed: %+v", test.name, why)
		}
	}
}
