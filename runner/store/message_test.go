package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestTheCommitMessageIsThePlanInWords(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	set := func(ids ...string) func(*schedule.State) {
		return func(s *schedule.State) {
			for _, id := range ids {
				s.Claims[tracker.ID(id)] = schedule.Claim{ID: tracker.ID(id), Identifier: "NEW-" + id, Phase: schedule.Running}
			}
		}
	}
	claim := func(id tracker.ID, change func(*schedule.Claim)) func(*schedule.State) {
		return func(s *schedule.State) {
			c := s.Claims[id]
			change(&c)
			s.Claims[id] = c
		}
	}
	for want, change := range map[string][]func(*schedule.State){
		"Claim NEW-1, NEW-2; release ABC-3":                  {set("1", "2"), func(s *schedule.State) { delete(s.Claims, "c3") }},
		"Claim ABC-3":                                        {claim("c3", func(c *schedule.Claim) { c.Phase, c.Due = schedule.Running, time.Time{} })},
		"Claim NEW-1, NEW-2, NEW-3, NEW-4, NEW-5 and 2 more": {set("1", "2", "3", "4", "5", "6", "7")},
		"Retry ABC-1":                                        {claim("a1", func(c *schedule.Claim) { c.Phase, c.Due = schedule.Waiting, at })},
		"Stop ABC-1":                                         {claim("a1", func(c *schedule.Claim) { c.Phase = schedule.Stopping })},
		"Park ABC-1":                                         {claim("a1", func(c *schedule.Claim) { c.Phase = schedule.Parked })},
		"Renew ABC-1, ABC-2":                                 {claim("a1", func(c *schedule.Claim) { c.Lease = at }), claim("b2", func(c *schedule.Claim) { c.Lease = at })},
		"Update ABC-1; resume":                               {claim("a1", func(c *schedule.Claim) { c.Thread = "th-9" }), func(s *schedule.State) { s.Pause = schedule.Pause{} }},
		"Pause":                                              {func(s *schedule.State) { s.Pause.Until = at }},
		"Note the end of a tick":                             {func(s *schedule.State) { s.Days = nil; s.AppendHistory(schedule.TickRecord{Run: "9"}) }},
		"Update the totals":                                  {func(s *schedule.State) { s.Days = nil }},
		"Claim GH 12, octo/x 13, you, x  y":                  {named("GH-12", "octo/x#13", "@you", "x\r\ny")},
		fmt.Sprintf("Claim %.39s…", fmt.Sprintf("%050d", 0)): {named(fmt.Sprintf("%050d", 0))},
		"Claim https github.com/o/r/issues/1":                {named("https://github.com/o/r/issues/1")},
	} {
		s := sample()
		for _, f := range change {
			f(s)
		}
		if got := commitMessage(sample(), s); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// named claims issues with these identifiers.
func named(identifiers ...string) func(*schedule.State) {
	return func(s *schedule.State) {
		for i, identifier := range identifiers {
			id := tracker.ID(fmt.Sprint(i))
			s.Claims[id] = schedule.Claim{ID: id, Identifier: identifier, Phase: schedule.Running}
		}
	}
}
