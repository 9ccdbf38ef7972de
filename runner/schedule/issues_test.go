package schedule_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestADeliveryIsReplacedAndRemoved(t *testing.T) {
	t.Parallel()
	s := schedule.New(me)
	s.Deliver("1", schedule.Delivery{}) // there is none to remove
	s.Deliver("1", published)
	next := published
	next.Pushing = strings.Repeat("b", 40)
	s.Deliver("1", next)
	s.Deliver("2", published)
	if diff := cmp.Diff(map[tracker.ID]schedule.Delivery{"1": next, "2": published}, s.Deliveries); diff != "" {
		t.Error(diff)
	}
	s.Deliver("1", schedule.Delivery{})
	if diff := cmp.Diff(map[tracker.ID]schedule.Delivery{"2": published}, s.Deliveries); diff != "" {
		t.Error(diff)
	}
}

func TestAPushClearsWhatIsKnownOfTheChecks(t *testing.T) {
	t.Parallel()
	s := schedule.New(me)
	s.Deliver("1", published)
	s.Conversations = map[tracker.ID]schedule.Conversation{"1": {Checks: schedule.ChecksGreen}}
	next := published
	next.Pushing = strings.Repeat("b", 40)
	s.Deliver("1", next) // it has only begun
	if got := s.Conversations["1"].Checks; got != schedule.ChecksGreen {
		t.Errorf("before the push: %q", got)
	}
	next.Head, next.Pushing = next.Pushing, ""
	s.Deliver("1", next)
	if got := s.Conversations["1"].Checks; got != "" {
		t.Errorf("the new commit is said to be %q", got)
	}
}

func TestTheOldestDeliveriesAreDropped(t *testing.T) {
	t.Parallel()
	f := simple()
	for n := range 500 {
		f.state.Deliver(todo(n).ID, schedule.Delivery{Identifier: todo(n).Identifier, At: noon.Add(time.Duration(n/2) * time.Second)})
	}
	// The oldest one belongs to a claim, so it stays.
	f.claim(todo(0), schedule.Parked, nil)
	want := maps.Clone(f.state.Deliveries)
	for _, dropped := range []int{1, 2, 3} {
		delete(want, todo(dropped).ID)
	}
	// New ones stay, though they have no push and no claim.
	for n := 600; n < 603; n++ {
		d := schedule.Delivery{Identifier: "ABC-" + fmt.Sprint(n), Refused: "too large"}
		f.claim(todo(n), schedule.Waiting, nil)
		f.state.Deliver(todo(n).ID, d)
		want[todo(n).ID] = d
	}
	if diff := cmp.Diff(want, f.state.Deliveries); diff != "" {
		t.Error(diff)
	}
}

func TestADeliveryIsKeptThoughAllOthersHaveClaims(t *testing.T) {
	t.Parallel()
	f := simple()
	for n := range 501 {
		if n < 500 {
			f.claim(todo(n), schedule.Waiting, nil)
		}
		f.state.Deliver(todo(n).ID, schedule.Delivery{Identifier: todo(n).Identifier, At: noon.Add(-time.Duration(n) * time.Second)})
	}
	_, oldest := f.state.Deliveries[todo(499).ID]
	_, latest := f.state.Deliveries[todo(500).ID]
	if len(f.state.Deliveries) != 500 || oldest || !latest {
		t.Errorf("%d deliveries, oldest of a claim %v, latest %v", len(f.state.Deliveries), oldest, latest)
	}
}
