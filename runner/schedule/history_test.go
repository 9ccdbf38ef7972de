package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestTheStateRemembersTheLastTicksAndNoMore(t *testing.T) {
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

func TestATickThatGoesOnTakesItsPlaceAgain(t *testing.T) {
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
		t.Errorf("nothing was done meanwhile (-before +after):\n%s", diff)
	}
	later.Sessions = 2
	s.AppendHistory(later)
	if diff := cmp.Diff([]schedule.TickRecord{first, later}, s.History); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]schedule.TickRecord{first, same}, before.History); diff != "" {
		t.Errorf("a copy changed along (-want +got):\n%s", diff)
	}
}
