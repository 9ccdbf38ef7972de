package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// TestNoIssueHasTwoSessionsWhateverBecomesOfTheState removes the state under a run, puts
// older ones back, and lets others save, in any order. The sessions take their time to end
// when they are stopped. The store refuses none of it, other than the stores of this program:
// what holds here does not depend on them.
func TestNoIssueHasTwoSessionsWhateverBecomesOfTheState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := replacements{
			once: rapid.Bool().Draw(rt, "once"), issues: rapid.IntRange(1, 4).Draw(rt, "issues"), slots: rapid.IntRange(1, 4).Draw(rt, "slots"),
			session: seconds(1, 90).Draw(rt, "session"), stop: seconds(0, 60).Draw(rt, "stop"), interruption: seconds(0, 200).Draw(rt, "interruption"),
		}
		for range rapid.IntRange(1, 6).Draw(rt, "events") {
			r.events = append(r.events, replacement{
				wait:  seconds(0, 40).Draw(rt, "wait"),
				what:  rapid.SampledFrom([]string{"state removed", "older state put back", "saved by another"}).Draw(rt, "event"),
				state: rapid.IntRange(0, 5).Draw(rt, "state"),
			})
		}
		wrong := ""
		synctest.Test(t, func(t *testing.T) { wrong = r.play(t) })
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

func seconds(least, most int) *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.IntRange(least, most), func(n int) time.Duration { return time.Duration(n) * time.Second })
}

// replacements describes a run and what happens to its state.
type replacements struct {
	once          bool
	issues, slots int
	session, stop time.Duration // what a session takes, and what it takes when it is stopped
	events        []replacement
	interruption  time.Duration // after the last event
}

type replacement struct {
	wait  time.Duration // after the event before
	what  string
	state int // number of the state that is put back
}

// play performs the run and returns what was wrong; empty for nothing.
func (r replacements) play(t *testing.T) string {
	var issues []tracker.Issue
	for n := range r.issues {
		issues = append(issues, issue(fmt.Sprintf("A-%d", n+1), "Todo"))
	}
	f := newFixture(t, issues...)
	f.flow.now.Settings.Policy.MaxConcurrent = r.slots
	counter := &sessionCounter{slots: r.slots, live: map[tracker.ID]int{}}
	f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
		counter.begin(job.Issue.ID)
		defer counter.end(job.Issue.ID)
		report(attempt.Update{At: time.Now(), Update: schedule.Update{Alive: true, Usage: schedule.Usage{Input: 1}}})
		if !passes(ctx, r.session) {
			<-time.After(r.stop)
			return stopped(ctx)
		}
		return f.handOver(ctx, job, report)
	}
	run := f.run()
	run.Once = r.once
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := run.Run(ctx)
		ended <- err
	}()
	var saved [][]byte
	for _, e := range r.events {
		<-time.After(e.wait)
		saved = append(saved, f.store.stored())
		switch e.what {
		case "state removed":
			f.store.replace(nil)
		case "older state put back":
			f.store.replace(saved[e.state%len(saved)])
		default:
			f.edit(func(s *schedule.State) { s.AppendHistory(schedule.TickRecord{Run: "other", Tokens: int64(len(saved))}) })
		}
	}
	<-time.After(r.interruption)
	cancel()
	select {
	case err := <-ended:
		if err != nil && !errors.Is(err, schedule.ErrInterrupted) {
			return fmt.Sprintf("ended with %v\n%s", err, f.log)
		}
	case <-time.After(2 * time.Minute):
		return fmt.Sprintf("an interruption does not end the run\n%s", f.log)
	}
	if wrong := counter.result(r.issues * (1 + len(r.events))); wrong != "" {
		return wrong + "\n" + f.log.String()
	}
	return ""
}

// sessionCounter counts the sessions that run.
type sessionCounter struct {
	slots int

	mu      sync.Mutex
	live    map[tracker.ID]int
	all     int
	started int
	wrong   string // the first thing
}

func (s *sessionCounter) begin(id tracker.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started++
	s.live[id]++
	s.all++
	switch {
	case s.wrong != "":
	case s.live[id] > 1:
		s.wrong = fmt.Sprintf("%d sessions on %s at once", s.live[id], id)
	case s.all > s.slots:
		s.wrong = fmt.Sprintf("%d sessions with %d slots", s.all, s.slots)
	}
}

func (s *sessionCounter) end(id tracker.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[id]--
	s.all--
}

// result returns what was wrong with the sessions of a run that has ended.
func (s *sessionCounter) result(most int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.wrong != "":
		return s.wrong
	case s.all > 0:
		return fmt.Sprintf("the run ended before %d sessions", s.all)
	case s.started > most:
		return fmt.Sprintf("%d sessions were started, want %d at most", s.started, most)
	}
	return ""
}
