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
		s.Remember(schedule.Past{Run: "7", Started: at, Ended: at})
	}
	if len(s.Past) != 20 || s.Past[0].Started.Unix() != 10 || s.Past[19].Started.Unix() != 29 {
		t.Errorf("%d ticks, from %v to %v", len(s.Past), s.Past[0].Started, s.Past[len(s.Past)-1].Started)
	}
}

func TestATickThatGoesOnTakesItsPlaceAgain(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	first := schedule.Past{Run: "6", Started: at(1), Ended: at(2), Sessions: 1}
	same := schedule.Past{Run: "7", Started: at(3), Ended: at(4), Sessions: 1}
	s := schedule.New(schedule.Owner{})
	s.Remember(first)
	s.Remember(same)
	before := s.Clone()

	later := same
	later.Ended = at(9)
	s.Remember(later)
	if diff := cmp.Diff(before.Past, s.Past); diff != "" {
		t.Errorf("nothing was done meanwhile (-before +after):\n%s", diff)
	}
	later.Sessions = 2
	s.Remember(later)
	if diff := cmp.Diff([]schedule.Past{first, later}, s.Past); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]schedule.Past{first, same}, before.Past); diff != "" {
		t.Errorf("a copy changed along (-want +got):\n%s", diff)
	}
}
