package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
