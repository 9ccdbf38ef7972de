package schedule_test

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestTheLatestFourteenDaysAreKept(t *testing.T) {
	t.Parallel()
	f := simple()
	f.claim(todo(1), schedule.Running, nil)
	for day := range 20 {
		f.now = noon.AddDate(0, 0, day)
		f.state.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: int64(day+1) * 10}}, f.now)
	}
	if days := f.state.Days; len(days) != 14 || days[0].Date != "2026-03-16" || days[13].Date != "2026-03-29" {
		t.Errorf("kept %+v", days)
	}
	want := schedule.Day{Date: "2026-03-29", Usage: schedule.Usage{Input: 10}}
	if diff := cmp.Diff(want, f.state.SpentToday(f.now)); diff != "" {
		t.Errorf("today (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(schedule.Day{Date: "2026-03-10"}, f.state.SpentToday(noon)); diff != "" {
		t.Errorf("a day that is dropped (-want +got):\n%s", diff)
	}
}

func TestSpendingIsCountedByDaysOfUTC(t *testing.T) {
	t.Parallel()
	f := simple()
	f.claim(todo(1), schedule.Running, nil)
	east := time.FixedZone("east", 14*60*60) // where it is already the 11th
	f.state.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: 10}}, noon.In(east))
	want := []schedule.Day{{Date: "2026-03-10", Usage: schedule.Usage{Input: 10}}}
	if diff := cmp.Diff(want, f.state.Days); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.policy.Stall, f.policy.Budget.TokensPerDay = 0, 10
	if at, ok := f.state.Wake(f.policy, noon.In(east)); !ok || !at.Equal(noon.Add(12*time.Hour)) {
		t.Errorf("the budget is reset at %v, %v", at, ok)
	}
}

func TestSumsOfTokensStayWithinTheirLimit(t *testing.T) {
	t.Parallel()
	f := running(todo(1), todo(2))
	most := schedule.Usage{Input: math.MaxInt64, Output: math.MaxInt64}
	f.state.Heartbeat("1", schedule.Update{Usage: most}, noon)
	f.state.Exit("1", schedule.Outcome{Class: schedule.IssueFailed, Usage: most}, f.policy, noon)
	f.state.Exit("2", schedule.Outcome{Class: schedule.IssueFailed, Usage: most}, f.policy, noon)
	full := schedule.Usage{Input: schedule.MaxTokens, Output: schedule.MaxTokens}
	if got := f.state.SpentToday(noon).Usage; !reflect.DeepEqual(got, full) {
		t.Errorf("the day has %+v", got)
	}
	if got := f.state.Tick.Usage; !reflect.DeepEqual(got, full) {
		t.Errorf("the tick has %+v", got)
	}
	if got := f.state.Claims["1"].Tokens; got != schedule.MaxTokens {
		t.Errorf("the claim has %d", got)
	}
}
