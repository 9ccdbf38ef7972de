package runner_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

func TestADueTimeThatNoRunCanHaveWrittenIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.edit(func(s *schedule.State) {
			s.Claims["A-1"] = schedule.Claim{
				ID: "A-1", Identifier: "A-1", Phase: schedule.Waiting, Why: "forged", Due: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC),
			}
		})
		tick := f.tick(t.Context())
		if len(tick.Warnings) != 1 || !strings.Contains(tick.Warnings[0], "A-1 is due 2999-01-01") {
			t.Errorf("warned of %q", tick.Warnings)
		}
		if due := f.claims()["A-1"].Due; due.After(time.Now().Add(5 * time.Minute)) {
			t.Errorf("due %v is stored", due)
		}
		time.Sleep(5 * time.Minute)
		worked := f.noteWork()
		if tick := f.tick(t.Context()); len(*worked) != 1 || len(tick.Warnings) > 0 {
			t.Errorf("later: worked on %q, warned of %q", *worked, tick.Warnings)
		}
	})
}

const (
	oldKey = "sk-one-0123456789abcdef"
	newKey = "sk-two-0123456789abcdef"
)

func TestAPauseIsOverWithAnotherLoginAndHoldsWithTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		tick := func(key string) int {
			t.Helper()
			r, worked := f.run(), 0
			r.Login = func(codex.Config) []string { return []string{key} }
			r.RunSession = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
				worked++ // one session at a time: the pause is being tried, or is begun by the first
				return schedule.Outcome{Class: schedule.Systemic, Why: "usageLimitExceeded", RetryAt: time.Now().Add(24 * time.Hour)}
			}
			r.MaxIssues = 1
			if _, err := r.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			return worked
		}
		for i, step := range []struct {
			key  string
			want int
		}{{oldKey, 1}, {oldKey, 0}, {newKey, 1}, {newKey, 0}, {oldKey, 1}} {
			if got := tick(step.key); got != step.want {
				t.Errorf("tick %d: %d sessions, want %d", i+1, got, step.want)
			}
		}
	})
}

func TestAPauseIsOverInARunningServiceWhenTheSettingsOfCodexChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		r := f.run()
		r.Once = false
		var models []string
		r.RunSession = func(_ context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			models = append(models, job.Codex.Model)
			return schedule.Outcome{Class: schedule.Systemic, Why: "modelNotFound", RetryAt: time.Now().Add(24 * time.Hour)}
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, func() { f.flow.change(func(s *workflow.Settings) { s.Codex.Model = "better" }, nil) })
		time.AfterFunc(2*time.Hour, cancel)
		if _, err := r.Run(ctx); !errors.Is(err, schedule.ErrInterrupted) {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"", "better"}, models); diff != "" {
			t.Errorf("sessions by their model (-want +got):\n%s", diff)
		}
	})
}

// The state may be on a public branch.
func TestTheDigestOfALoginDoesNotRevealIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pauses := map[string]bool{}
		for range 2 {
			f := newFixture(t, issue("A-1", "Todo"))
			r := f.run()
			r.Login = func(codex.Config) []string { return []string{oldKey} }
			r.RunSession = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
				return schedule.Outcome{Class: schedule.Systemic, Why: "unauthorized"}
			}
			if _, err := r.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			plain := sha256.Sum256([]byte(oldKey))
			if text := string(f.store.data); strings.Contains(text, oldKey) || strings.Contains(text, hex.EncodeToString(plain[:8])) {
				t.Errorf("the state tells the key:\n%s", text)
			}
			pauses[f.state().Pause.Setup.Agent] = true
		}
		if len(pauses) != 2 || pauses[""] {
			t.Errorf("two states have the digests %v of one login", pauses)
		}
	})
}

// The token may be short enough to be guessed from a digest with a salt that is known.
func TestTheDigestOfAWorkflowDoesNotDependOnTheTokenOfItsRepository(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		digests := map[string]bool{}
		for _, token := range []string{"hunter1", "hunter2"} {
			f := newFixture(t, issue("A-1", "Todo"))
			f.edit(func(s *schedule.State) { s.Salt = "salt" })
			repository := &workflow.Repository{Remote: "https://git.test/shop", Token: token}
			f.flow.change(func(s *workflow.Settings) { s.Repository = repository }, nil)
			r := f.run()
			r.RunSession = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
				return schedule.Outcome{Class: schedule.Systemic, Why: "broken hook", Fault: "before_run"}
			}
			if _, err := r.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			digests[f.state().Pause.Setup.Workflow] = true
			if repository.Token != token {
				t.Error("the settings have lost their token")
			}
		}
		if len(digests) != 1 || digests[""] {
			t.Errorf("digests %v of workflows that differ in the token alone", digests)
		}
	})
}

func TestTheSaveOfAnOperatorIsReadWithinAPoll(t *testing.T) {
	for _, once := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, issue("A-1", "Todo"), issue("B-1", "Todo"))
			f.edit(func(s *schedule.State) {
				s.Claims["A-1"] = schedule.Claim{ID: "A-1", Identifier: "A-1", Phase: schedule.Parked, Why: "which colour?"}
			})
			began := time.Now()
			var ended map[tracker.ID]time.Duration
			r := f.run()
			r.Once = once
			r.RunSession = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
				if job.Issue.ID == "B-1" && !passes(ctx, 2*time.Hour) { // a session that goes on meanwhile
					return stopped(ctx)
				}
				outcome := f.handOver(ctx, job, report)
				ended[job.Issue.ID] = time.Since(began).Truncate(time.Minute)
				return outcome
			}
			f.flow.change(func(s *workflow.Settings) { s.Policy.Stall = 0 }, nil)
			ended = map[tracker.ID]time.Duration{}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Hour, func() {
				f.edit(func(s *schedule.State) { s.Retry("A-1", time.Now()) })
			})
			time.AfterFunc(3*time.Hour, cancel)
			if _, err := r.Run(ctx); err != nil && !errors.Is(err, schedule.ErrInterrupted) {
				t.Fatal(err)
			}
			want := map[tracker.ID]time.Duration{"A-1": time.Hour, "B-1": 2 * time.Hour}
			if diff := cmp.Diff(want, ended); diff != "" {
				t.Errorf("once %v: sessions ended after (-want +got):\n%s\n%s", once, diff, f.log)
			}
		})
	}
}

func TestASessionCountsOnceAlthoughASaveSeemedToFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("ABC-1", "Todo"))
		f.sessions = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
			return schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed", Turns: 1}
		}
		f.store.lose = func() error { f.store.lose = nil; return store.ErrConflict } // the claim was saved
		f.tick(t.Context())
		if c, days := f.claims()["ABC-1"], f.state().Days; c.Sessions != 1 || len(days) != 1 || days[0].Sessions != 1 {
			t.Errorf("the claim has %d sessions, the days are %+v", c.Sessions, days)
		}
	})
}
