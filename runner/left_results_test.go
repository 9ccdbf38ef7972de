package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestResultsThatNobodyCollectedAreTakenOverByTheNextTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"), issue("ABC-3", "Todo"))
		f.plan(3, 1)
		f.work(1)
		f.work(2)
		f.status[1], f.status[2], f.status[3] = schedule.Dead, schedule.Dead, schedule.Dead
		asked := 0
		r := f.runner()
		r.Self = schedule.Owner{Run: "78", Attempt: 1}
		r.MaxIssues = 1
		r.LeftResults = func(_ context.Context, owner schedule.Owner) ([]fleet.Result, error) {
			plan, results := f.results()
			if asked++; owner != (schedule.Owner{Run: "77", Attempt: 1, Started: plan.Owner.Started}) {
				t.Errorf("asked for %+v", owner)
			}
			return results, nil
		}
		f.store.fail = func() error { // another run saves meanwhile
			f.store.fail = nil
			f.edit(func(s *schedule.State) { s.Salt = "salt" })
			return nil
		}
		tick, err := r.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if asked != 1 || tick.Counts().Completed != 3 || len(f.claims()) != 0 {
			t.Errorf("asked %d times, report %+v, claims %v", asked, tick.Counts(), f.claims())
		}
		if spent := f.state().SpentToday(time.Now()); spent.Sessions != 3 || spent.Usage.Total() != 360 {
			t.Errorf("spent %+v, want that of three sessions", spent)
		}
		if tick.Spent.Sessions != 1 {
			t.Errorf("the tick has started %d sessions, want one", tick.Spent.Sessions)
		}
	})
}

// A server that cannot be asked about shards ends their time all the same.
func TestResultsOfShardsThatCannotBeAskedAboutAreTakenOverWhenTheirTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
		f.plan(2, 1)
		f.work(1)
		asked := 0
		tick := func() report.Tick {
			r := f.runner()
			r.Self = schedule.Owner{Run: "78", Attempt: 1}
			r.OrderOnly = true
			r.LeftResults = func(context.Context, schedule.Owner) ([]fleet.Result, error) {
				asked++
				_, results := f.results()
				return results, nil
			}
			tick, err := r.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return tick
		}
		passes(t.Context(), 2*time.Hour-time.Minute)
		if tick(); asked != 0 || len(f.claims()) != 2 {
			t.Errorf("while they may work: asked %d times, claims %v", asked, f.claims())
		}
		passes(t.Context(), time.Minute)
		got := tick()
		if c := f.claims()["ABC-2"]; asked != 1 || len(f.claims()) != 1 || c.Phase != schedule.Waiting || c.Failures != 1 || got.Counts().Completed != 1 {
			t.Errorf("afterwards: asked %d times, claims %v, report %+v", asked, f.claims(), got.Counts())
		}
	})
}
