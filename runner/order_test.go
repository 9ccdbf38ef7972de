package runner_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// orderOn returns what a run is started with that gives a command on an issue.
func orderOn(command schedule.Command) func(*schedule.State) (tracker.ID, schedule.Order, error) {
	return func(*schedule.State) (tracker.ID, schedule.Order, error) {
		return "A-1", schedule.Order{Command: command, By: "kim"}, nil
	}
}

func TestACommandOfAnotherRunStopsASessionWithinAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.flow.change(func(s *workflow.Settings) { s.Policy.Stall = 0 }, nil)
		var took time.Duration
		f.sessions = func(ctx context.Context, _ attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			began := time.Now()
			<-ctx.Done()
			took = time.Since(began)
			return stopped(ctx)
		}
		other := f.run()
		other.Self = schedule.Owner{Run: "2", Attempt: 1}
		other.OwnerStatuses = eachOwner(func(context.Context, schedule.Owner) schedule.OwnerStatus { return schedule.Alive })
		other.Order = orderOn(schedule.CommandStop)
		time.AfterFunc(time.Hour, func() {
			if tick, err := other.Run(t.Context()); err != nil || !tick.Work() || len(tick.Rows) > 0 {
				t.Errorf("the run with the command: %v, work %t, %d issues", err, tick.Work(), len(tick.Rows))
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		r := f.run()
		r.Once = true
		if _, err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("the session was stopped after %v", took)
		}
		if c := f.claims()["A-1"]; c.Phase != schedule.Parked || c.Why != "kim gave the command stop" || f.state().HasPendingCommand("A-1") {
			t.Errorf("it left %+v", c)
		}
	})
}

func TestARunThatOnlyCarriesOutACommandStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"), issue("A-3", "Todo"))
		waiting := schedule.Claim{ID: "A-3", Identifier: "A-3", Phase: schedule.Waiting, Attempt: 1, Due: time.Now(), Why: "the agent stopped"}
		f.edit(func(s *schedule.State) {
			s.Claims["A-1"] = schedule.Claim{ID: "A-1", Identifier: "A-1", Phase: schedule.Waiting, Attempt: 1, Due: time.Now()}
			s.Claims["A-3"] = waiting
		})
		worked := f.noteWork()
		r := f.run()
		r.OrderOnly, r.Order = true, orderOn(schedule.CommandPark)
		tick, err := r.Run(t.Context())
		if err != nil || len(*worked) > 0 {
			t.Errorf("%v, worked on %v", err, *worked)
		}
		if c := f.claims(); c["A-1"].Phase != schedule.Parked || !c["A-3"].Due.Equal(waiting.Due) || c["A-3"].Attempt != 1 || c["A-2"].Phase != "" {
			t.Errorf("it left %+v", c)
		}
		for _, v := range tick.Verdicts {
			if v.Phase != schedule.Parked && v.Why.Reason != schedule.CommandOnly {
				t.Errorf("%s: %s", v.Issue.Identifier, v.Why)
			}
		}
		if _, err := f.run().Run(t.Context()); err != nil || len(*worked) != 2 {
			t.Errorf("the next run: %v, worked on %v", err, *worked)
		}
	})
}

func TestAPlanWithACommandHasWorkAndSavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.edit(func(s *schedule.State) {
			s.Claims["A-1"] = schedule.Claim{ID: "A-1", Identifier: "A-1", Phase: schedule.Parked, Why: "which colour?"}
		})
		r := f.run()
		r.Order = orderOn(schedule.CommandRetry)
		tick, err := r.Plan(t.Context())
		if err != nil || !tick.Work() || f.state().HasPendingCommand("A-1") {
			t.Errorf("%v, work %t", err, tick.Work())
		}
	})
}

func TestARunWithACommandThatCannotBeNotedDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		worked := f.noteWork()
		r, refused := f.run(), errors.New("no such issue")
		r.Order = func(*schedule.State) (tracker.ID, schedule.Order, error) { return "", schedule.Order{}, refused }
		if _, err := r.Run(t.Context()); !errors.Is(err, refused) || len(*worked) > 0 {
			t.Errorf("%v, worked on %v", err, *worked)
		}
	})
}

func TestACommandOfTheStatusPageIsObeyedWhileTheRunLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.edit(func(s *schedule.State) {
			s.Claims["A-2"] = schedule.Claim{ID: "A-2", Identifier: "A-2", Phase: schedule.Parked, Why: "the agent asks: Which bank?", Sessions: 1}
		})
		given := map[tracker.ID][]prompt.Feedback{}
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			given[job.Issue.ID] = job.Feedback
			passes(ctx, time.Hour)
			if ctx.Err() != nil {
				return stopped(ctx)
			}
			return f.handOver(ctx, job, report)
		}
		requests := make(chan progress.Request)
		r := f.run()
		r.Once, r.Requests = false, requests
		ask := func(id tracker.ID, o schedule.Order) error {
			done := make(chan error, 1)
			requests <- progress.Request{ID: id, Order: o, Done: done}
			return <-done
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			time.Sleep(time.Minute)
			if err := ask("A-1", schedule.Order{Command: schedule.CommandStop, By: "kim"}); err != nil {
				t.Error(err)
			}
			if err := ask("A-2", schedule.Order{Command: schedule.CommandResume, By: "kim", Answer: "The old one."}); err != nil {
				t.Error(err)
			}
			if err := ask("A-3", schedule.Order{Command: schedule.CommandStop}); !errors.Is(err, progress.ErrNoClaim) {
				t.Errorf("an unknown issue: %v", err)
			}
			time.Sleep(2 * time.Hour)
		}()
		_, _ = r.Run(ctx) // interrupted, as every service ends
		if c := f.claims()["A-1"]; c.Phase != schedule.Parked || c.Why != "kim gave the command stop" {
			t.Errorf("A-1: %+v", c)
		}
		if got := given["A-2"]; len(got) != 1 || got[0].Text != "The old one." || got[0].Kind != prompt.FeedbackAnswer || len(given["A-1"]) != 0 {
			t.Errorf("given: %+v", given)
		}
		if talk := f.state().Conversations["A-2"]; talk.Answer != "" || talk.PendingCommand != (schedule.Order{}) {
			t.Errorf("left: %+v", talk)
		}
	})
}
