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

func TestTheHistoryIsBounded(t *testing.T) {
	t.Parallel()
	s := schedule.New(schedule.Owner{})
	for i := range 30 {
		at := time.Unix(int64(i), 0)
		s.AppendHistory(schedule.TickRecord{Run: "7", Started: at, Ended: at})
	}
	if len(s.History) != 20 || s.History[0].Started.Unix() != 10 || s.History[19].Started.Unix() != 29 {
		t.Errorf("%d ticks, from %v to %v", len(s.History), s.History[0].Started, s.History[len(s.History)-1].Started)
	}
}

func TestARecordOfTheSameTickIsReplaced(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	first := schedule.TickRecord{Run: "6", Started: at(1), Ended: at(2), Sessions: 1}
	same := schedule.TickRecord{Run: "7", Started: at(3), Ended: at(4), Sessions: 1}
	s := schedule.New(schedule.Owner{})
	s.AppendHistory(first)
	s.AppendHistory(same)
	before := s.Clone()

	later := same
	later.Ended = at(9)
	s.AppendHistory(later)
	if diff := cmp.Diff(before.History, s.History); diff != "" {
		t.Errorf("only the end changed (-before +after):\n%s", diff)
	}
	later.Sessions = 2
	s.AppendHistory(later)
	if diff := cmp.Diff([]schedule.TickRecord{first, later}, s.History); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]schedule.TickRecord{first, same}, before.History); diff != "" {
		t.Errorf("the copy changed (-want +got):\n%s", diff)
	}
}
