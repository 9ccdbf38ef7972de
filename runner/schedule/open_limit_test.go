package schedule_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// openPulls returns a fixture with n open pull requests of issues that were handed over, and
// with two new issues.
func openPulls(n int) fixture {
	f := simple()
	f.policy.MaxOpen = 3
	f.snap.Feedback = map[tracker.ID]schedule.Feedback{}
	for i := range n {
		issue := todo(100 + i)
		f.state.Deliver(issue.ID, schedule.Delivery{Identifier: issue.Identifier, Branch: "b", Number: i + 1})
		f.snap.Feedback[issue.ID] = schedule.Feedback{Pull: schedule.PullOpen}
	}
	f.state.StartConversations(noon)
	f.snap.Candidates = []tracker.Issue{todo(1), todo(2)}
	return f
}

func TestTwoShardsDoNotStartTheLastIssueThatTheLimitAllows(t *testing.T) {
	t.Parallel()
	f := openPulls(2)
	fleet := aFleet(2, 1)
	f.policy = fleet.Bind(f.policy)
	decisions, shards := fleet.Spread(f.state, f.plan(), f.policy, noon)
	if len(shards) != 1 {
		t.Fatalf("%d shards have work, want 1", len(shards))
	}
	next := f.then(decisions)
	next.policy.Fleet = "another"
	if again := dispatched(next.plan()); len(again) > 0 {
		t.Errorf("another fleet starts %v", ids(again))
	}
	// The slice of the shard starts its issue although the limit is reached.
	shard := fleet.Owner.OfShard(1)
	slice := fixture{state: next.state.Slice(shard, noon), snap: f.snap, policy: f.policy, now: noon}
	issue := todo(1)
	slice.snap.Candidates, slice.snap.Claimed = nil, map[tracker.ID]*tracker.Issue{"1": &issue}
	if diff := cmp.Diff([]tracker.ID{"1"}, ids(dispatched(slice.plan()))); diff != "" {
		t.Errorf("the shard starts (-want +got):\n%s", diff)
	}
}

func TestALimitForALabelCountsTheIssuesThatHaveIt(t *testing.T) {
	t.Parallel()
	f := openPulls(3)
	f.policy.MaxOpen, f.policy.MaxOpenByLabel = 0, map[string]int{"risky": 2}
	converse(f.state, "100", func(c *schedule.Conversation) { c.Labels = []string{"risky"} })
	risky := todo(1)
	risky.Labels = append(risky.Labels, "risky")
	f.snap.Candidates[0] = risky
	if diff := cmp.Diff([]tracker.ID{"1", "2"}, ids(dispatched(f.plan()))); diff != "" {
		t.Errorf("with one of two (-want +got):\n%s", diff)
	}
	read := todo(101) // it has the label since its last session
	read.Labels = []string{"risky"}
	f.snap.Claimed["101"] = &read
	if diff := cmp.Diff([]tracker.ID{"2"}, ids(dispatched(f.plan()))); diff != "" {
		t.Errorf("with two of two (-want +got):\n%s", diff)
	}
	why := ""
	for _, v := range schedule.Explain(f.state, f.snap, f.policy, noon) {
		if v.Issue.ID == "1" {
			why = fmt.Sprint(v.Why.Reason, ": ", v.Why)
		}
	}
	if want := `open_limit: 2 of 2 pull requests of issues labeled "risky" wait for review (delivery.max_open_by_label)`; why != want {
		t.Errorf("the verdict is %q, want %q", why, want)
	}
}

func TestAShardDoesNotChangeTheLabelsThatCount(t *testing.T) {
	t.Parallel()
	f := openPulls(0)
	fleet := aFleet(1, 1)
	decisions, _ := fleet.Spread(f.state, f.plan(), fleet.Bind(f.policy), noon)
	f = f.then(decisions)
	shard := fleet.Owner.OfShard(1)
	slice := f.state.Slice(shard, noon)
	converse(slice, "1", func(c *schedule.Conversation) { c.Labels = nil })
	if _, err := f.state.Settle(shard, slice, f.policy, noon); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"agent"}, f.state.Conversations["1"].Labels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAReleasedIssueCountsAsTheNextPlanCountsIt takes an issue away whose pull request was closed,
// while nobody can read pull requests: with its claim goes what is known of the closing.
func TestAReleasedIssueCountsAsTheNextPlanCountsIt(t *testing.T) {
	t.Parallel()
	f := openPulls(1)
	f.policy.MaxOpen = 1
	f.claim(todo(100), schedule.Parked, func(*schedule.Claim) {})
	converse(f.state, "100", func(c *schedule.Conversation) { c.Closed = true })
	f.snap.Feedback, f.snap.Claimed["100"] = nil, nil
	decisions := f.plan()
	if len(decisions) != 1 || decisions[0].Action != schedule.Release {
		t.Errorf("decided %+v", decisions)
	}
	if again := f.then(decisions).plan(); len(again) > 0 {
		t.Errorf("the next plan decides %+v", again)
	}
}
