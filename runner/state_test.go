package runner_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestADueTimeThatNoRunCanHaveWrittenHoldsNoIssueForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, issue("A-1", "Todo"))
		w.edit(func(s *schedule.State) {
			s.Claims["A-1"] = schedule.Claim{
				ID: "A-1", Identifier: "A-1", Phase: schedule.Waiting, Why: "forged", Due: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC),
			}
		})
		tick := w.tick(t.Context())
		if len(tick.Warnings) != 1 || !strings.Contains(tick.Warnings[0], "A-1 is due 2999-01-01") {
			t.Errorf("warned of %q", tick.Warnings)
		}
		if due := w.claims()["A-1"].Due; due.After(time.Now().Add(5 * time.Minute)) {
			t.Errorf("due %v is stored", due)
		}
		time.Sleep(5 * time.Minute)
		worked := w.noteWork()
		if tick := w.tick(t.Context()); len(*worked) != 1 || len(tick.Warnings) > 0 {
			t.Errorf("later: worked on %q, warned of %q", *worked, tick.Warnings)
		}
	})
}
