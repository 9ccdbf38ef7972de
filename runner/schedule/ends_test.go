package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// merge has the pull request of an issue merged whose course is known.
func merge(s *schedule.State, n int, c schedule.Course, at time.Time) {
	id := todo(n).ID
	s.Deliver(id, schedule.Delivery{Identifier: todo(n).Identifier, Number: n})
	s.Conversations = map[tracker.ID]schedule.Conversation{id: {Course: c}}
	s.Finished(id, schedule.PullMerged, at)
}

func TestThePackedHistoryKeepsEveryEnd(t *testing.T) {
	t.Parallel()
	for _, many := range []int{1, 99, 124, 125, 126, 250, 400} {
		s := schedule.New(me)
		second := func(n int) time.Time { return time.Unix(1<<33/int64(n+1), 0).UTC() } // the clock goes back
		var want []schedule.IssueEnd
		for n := range many {
			c := schedule.Course{Sessions: n % 7, Failed: n % 3, Rounds: n % 5, Usage: schedule.Usage{Input: int64(n) * 1000, Output: schedule.MaxTokens}}
			for i := range n % 3 {
				c.Usage.Tariffs = append(c.Usage.Tariffs, schedule.TariffUsage{
					Tariff: schedule.Tariff{Model: fmt.Sprint("gpt-", i+n%4), Long: i == 1}, Input: int64(n), Cached: 1, CacheWrite: 2, Output: 3, Reasoning: 4,
				})
			}
			if n%50 == 0 {
				c.Ready, c.Opened = second(n+1), second(n+2)
			}
			e := schedule.IssueEnd{Issue: todo(n + 1).Identifier, End: schedule.EndMerged, At: second(n), Course: c}
			merge(s, n+1, c, e.At.Add(999*time.Millisecond))
			want = append(want, e)
		}
		before := s.Clone()
		got, unread := s.AllEnds()
		if diff := cmp.Diff(want, got); diff != "" || unread > 0 || len(s.Ends) >= 125 {
			t.Fatalf("%d cannot be read, %d are not packed (-want +got):\n%s", unread, len(s.Ends), diff)
		}
		merge(s, 1000, schedule.Course{}, noon)
		if again, _ := before.AllEnds(); cmp.Diff(want, again) != "" {
			t.Fatal("an end was added to an earlier copy of the state")
		}
	}
}

func TestTheOldestEndsAreDropped(t *testing.T) {
	t.Parallel()
	s := schedule.New(me)
	const many = 128*schedule.EndsInPack + 3*schedule.EndsInPack
	for n := range many {
		merge(s, n+1, schedule.Course{}, noon)
	}
	ends, _ := s.AllEnds()
	if len(s.PackedEnds) != 128 || len(ends) < 10_000 || ends[len(ends)-1].Issue != todo(many).Identifier {
		t.Errorf("%d packs and %d ends are kept, the last of %s", len(s.PackedEnds), len(ends), ends[len(ends)-1].Issue)
	}
}

// A failure that turns out to be systemic parks nobody.
func TestAnExcusedIssueWasNotParked(t *testing.T) {
	t.Parallel()
	f := simple()
	f.policy.Budget.Attempts = 1
	f.claim(todo(1), schedule.Running, nil)
	before := f.state.Claims["1"]
	f.state.Exit("1", schedule.Outcome{Class: schedule.IssueFailed, Why: "exit 1", Fault: "hook"}, f.policy, noon)
	if ends, _ := f.state.AllEnds(); len(ends) != 1 || ends[0].End != schedule.EndParked || ends[0].Failed != 1 {
		t.Fatalf("parked: %+v", ends)
	}
	f.state.Excuse(before, "every hook fails", noon)
	if ends, _ := f.state.AllEnds(); len(ends) > 0 || f.state.Claims["1"].Course.Failed > 0 {
		t.Errorf("excused: %+v, %+v", ends, f.state.Claims["1"].Course)
	}
}

func TestWorkWithoutAPullRequestIsDoneOnce(t *testing.T) {
	t.Parallel()
	for _, delivers := range []bool{true, false} {
		f := simple()
		f.policy.Delivers = delivers
		issue := todo(1)
		issue.State = "Done"
		for range 2 {
			f.state.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "1", Issue: todo(1)}, noon)
			if delivers {
				f.state.Deliver("1", schedule.Delivery{Identifier: "ABC-1", Branch: "b"})
			}
			f.state.Exit("1", schedule.Outcome{Class: schedule.Done, Delivered: delivers, Issue: &issue}, f.policy, noon)
		}
		want := 2 // without a delivery it was over, and somebody opened it again
		if delivers {
			want = 1
		}
		if ends, _ := f.state.AllEnds(); len(ends) != want || ends[0].End != schedule.EndDone || ends[0].Sessions != 1 {
			t.Errorf("delivers %t: %+v", delivers, ends)
		}
	}
}

// An agent may have written the result of a shard: it speaks for its issues, within its reserve.
func TestTheEndsOfAShardAreTakenOverOnceAndBounded(t *testing.T) {
	t.Parallel()
	f := candidates(2)
	f.policy.Budget.TokensPerTick = 1_000_000
	f, owners := f.assigned(aFleet(2, 1))
	slice := f.state.Slice(owners[0], f.now)
	f.works(slice)
	slice.Exit("1", schedule.Outcome{Class: schedule.NeedsInput, Why: "which?", Usage: schedule.Usage{Input: 700}}, f.policy, f.now)
	honest := slice.Clone()
	forged := schedule.IssueEnd{Issue: "ABC-1", End: schedule.EndDone, At: f.now, Course: schedule.Course{Ready: noon.AddDate(-1, 0, 0), Sessions: 1000, Usage: schedule.Usage{Input: schedule.MaxTokens}}}
	slice.Ends = append([]schedule.IssueEnd{forged, forged, forged, {Issue: "ABC-2", End: schedule.EndParked, At: f.now}, {Issue: "ABC-1", End: schedule.EndMerged, At: f.now}}, slice.Ends...)
	want := []schedule.IssueEnd{{Issue: "ABC-1", End: schedule.EndParked, Reason: "needs_input", At: f.now, Course: schedule.Course{Ready: noon, Sessions: 1, Usage: schedule.Usage{Input: 700}}}}

	for name, result := range map[string]*schedule.State{"honest": honest, "forged": slice} {
		s := f.state.Clone()
		for range 2 {
			if _, err := s.Settle(owners[0], result, f.policy, f.now); err != nil {
				t.Fatal(err)
			}
		}
		ends, _ := s.AllEnds()
		if name == "forged" {
			if len(ends) != 2 || ends[0].Sessions != 1 || !ends[0].Ready.Equal(noon) || ends[0].Usage.Input > 3_000_000 {
				t.Errorf("forged: %+v", ends)
			}
			ends = ends[len(ends)-1:]
		}
		if diff := cmp.Diff(want, ends); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheQueueKeepsTheFirstTime(t *testing.T) {
	t.Parallel()
	f := candidates(600)
	f.policy.MaxConcurrent, f.policy.MaxPerTick = 1, 1
	queued := schedule.QueuedBy(schedule.Explain(f.state, f.snap, f.policy, noon), noon)
	if !queued.Changes(f.state) || len(queued.IDs) != 500 {
		t.Fatalf("%d issues are in the queue", len(queued.IDs))
	}
	queued.Apply(f.state, f.policy)
	queued.At = noon.Add(time.Hour)
	if queued.Changes(f.state) {
		t.Error("the same queue is another one")
	}
	queued.IDs = append(queued.IDs[1:], "new")
	if !queued.Changes(f.state) {
		t.Error("another queue is the same")
	}
	queued.Apply(f.state, f.policy)
	want := map[tracker.ID]time.Time{"new": queued.At}
	for _, id := range queued.IDs[:499] {
		want[id] = noon
	}
	if diff := cmp.Diff(want, f.state.Queued, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	f.state.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "2", Issue: todo(2)}, noon.Add(3*time.Hour))
	if got := fmt.Sprint(f.state.Claims["2"].Course.Ready); got != fmt.Sprint(noon) || len(f.state.Queued) != 499 {
		t.Errorf("it is ready since %s, and %d wait", got, len(f.state.Queued))
	}
}
