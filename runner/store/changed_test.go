package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	deliver := func(id tracker.ID, change func(*schedule.Delivery)) func(*schedule.State) {
		return func(s *schedule.State) {
			d := s.Deliveries[id]
			change(&d)
			s.Deliver(id, d)
		}
	}
	hear := func(ids ...tracker.ID) func(*schedule.State) {
		return func(s *schedule.State) {
			for _, id := range ids {
				c := s.Conversations[id]
				c.Heard.At = at.Add(time.Minute)
				s.Conversations[id] = c
			}
		}
	}
	for want, change := range map[string][]func(*schedule.State){
		"Claim NEW-1, NEW-2; release ABC-3":                  {set("1", "2"), func(s *schedule.State) { delete(s.Claims, "c3") }},
		"Claim ABC-3":                                        {claim("c3", func(c *schedule.Claim) { c.Phase, c.Due = schedule.Running, time.Time{} })},
		"Claim NEW-1, NEW-2, NEW-3, NEW-4, NEW-5 and 2 more": {set("1", "2", "3", "4", "5", "6", "7")},
		"Retry ABC-1":                                        {claim("a1", func(c *schedule.Claim) { c.Phase, c.Due = schedule.Waiting, at })},
		"Stop ABC-1":                                         {claim("a1", func(c *schedule.Claim) { c.Phase = schedule.Stopping })},
		"Park ABC-1":                                         {claim("a1", func(c *schedule.Claim) { c.Phase = schedule.Parked })},
		"Deliver ABC-1, ABC-8":                               {deliver("a1", func(d *schedule.Delivery) { d.Head, d.Pushing, d.Refused = d.Pushing, "", "" }), deliver("e5", func(d *schedule.Delivery) { d.Identifier, d.Pushing = "ABC-8", strings.Repeat("a", 40) })},
		"Refuse ABC-1; retry ABC-1":                          {deliver("a1", func(d *schedule.Delivery) { d.Refused = "too large" }), claim("a1", func(c *schedule.Claim) { c.Phase, c.Due = schedule.Waiting, at })},
		"Renew ABC-1, ABC-2":                                 {claim("a1", func(c *schedule.Claim) { c.Lease = at }), claim("b2", func(c *schedule.Claim) { c.Lease = at })},
		"Update ABC-1; resume":                               {claim("a1", func(c *schedule.Claim) { c.Thread = "th-9" }), func(s *schedule.State) { s.Pause = schedule.Pause{} }},
		"Hear ABC-1, ABC-9":                                  {hear("a1", "b1")},
		"Forget ABC-9":                                       {func(s *schedule.State) { delete(s.Conversations, "b1"); s.Deliver("b1", schedule.Delivery{}) }},
		"Claim ABC-3; hear ABC-1":                            {claim("c3", func(c *schedule.Claim) { c.Phase, c.Due = schedule.Running, time.Time{} }), hear("a1", "c3")},
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

// named returns a change that claims issues with these identifiers.
func named(identifiers ...string) func(*schedule.State) {
	return func(s *schedule.State) {
		for i, identifier := range identifiers {
			id := tracker.ID(fmt.Sprint(i))
			s.Claims[id] = schedule.Claim{ID: id, Identifier: identifier, Phase: schedule.Running}
		}
	}
}

func TestHeartbeatsAndCountsAreCommittedWithTheNextChange(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.put(mustEncode(t, sample(), 1))
	b := h.open(t)
	s, rev := mustLoad(t, b)
	at := time.Date(2026, 3, 2, 0, 0, 30, 0, time.UTC)
	c := s.Claims["a1"]
	c.Heard, c.Turns, c.Live, c.Tokens = at, c.Turns+1, schedule.Usage{Input: 5000, Output: 900}, c.Tokens+5000
	s.Claims["a1"] = c
	s.Days[1].Usage.Input += 5000
	s.Days = append(s.Days, schedule.Day{Date: "2026-03-02", Usage: schedule.Usage{Input: 1}})
	s.RateLimits = json.RawMessage(`{"primary":{"used_percent":99}}`)
	h.Asked()
	if again := mustSave(t, b, s, rev); again != rev || len(h.Asked()) > 0 {
		t.Fatalf("committed as %s", again)
	}
	c.Lease = c.Lease.Add(time.Minute)
	s.Claims["a1"] = c
	mustSave(t, b, s, rev)
	got, _ := mustLoad(t, h.open(t))
	if diff := cmp.Diff(s, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryOtherChangeIsCommitted(t *testing.T) {
	t.Parallel()
	claim := func(change func(*schedule.Claim)) func(*schedule.State) {
		return func(s *schedule.State) {
			c := s.Claims["a1"]
			change(&c)
			s.Claims["a1"] = c
		}
	}
	conversation := func(change func(*schedule.Conversation)) func(*schedule.State) {
		return func(s *schedule.State) {
			c := s.Conversations["a1"]
			change(&c)
			s.Conversations["a1"] = c
		}
	}
	for name, change := range map[string]func(*schedule.State){
		"a lease":                claim(func(c *schedule.Claim) { c.Lease = c.Lease.Add(time.Second) }),
		"an owner":               claim(func(c *schedule.Claim) { c.Owner.Attempt++ }),
		"a thread":               claim(func(c *schedule.Claim) { c.Thread = "th-2" }),
		"a phase":                claim(func(c *schedule.Claim) { c.Phase, c.StopReason = schedule.Stopping, schedule.Stalled }),
		"a reason":               claim(func(c *schedule.Claim) { c.Why = "stalled" }),
		"a count":                claim(func(c *schedule.Claim) { c.Failures++ }),
		"what the issue says":    claim(func(c *schedule.Claim) { c.Content = "" }),
		"a due time":             func(s *schedule.State) { c := s.Claims["c3"]; c.Due = c.Due.Add(1); s.Claims["c3"] = c },
		"a released claim":       func(s *schedule.State) { delete(s.Claims, "d4") },
		"a wait for the tracker": func(s *schedule.State) { s.Wait.Until = s.Wait.Until.Add(time.Second) },
		"a pause":                func(s *schedule.State) { s.Pause.Until = s.Pause.Until.Add(time.Second) },
		"the end of a pause":     func(s *schedule.State) { s.Pause = schedule.Pause{} },
		"the end of a tick":      func(s *schedule.State) { s.AppendHistory(schedule.TickRecord{Run: "9"}) },
		"a delivery":             func(s *schedule.State) { d := s.Deliveries["a1"]; d.Pushing = ""; s.Deliver("a1", d) },
		"a dropped delivery":     func(s *schedule.State) { s.Deliver("b1", schedule.Delivery{}) },
		"a refusal":              func(s *schedule.State) { d := s.Deliveries["a1"]; d.Refused = ""; s.Deliver("a1", d) },
		"what was heard":         conversation(func(c *schedule.Conversation) { c.Heard.IDs = append(c.Heard.IDs, "IC_4") }),
		"what was read":          conversation(func(c *schedule.Conversation) { c.Read = nil }),
		"a round":                conversation(func(c *schedule.Conversation) { c.Rounds++ }),
		"a command":              conversation(func(c *schedule.Conversation) { c.Obeyed.At = c.Obeyed.At.Add(time.Second) }),
		"a dropped conversation": func(s *schedule.State) { delete(s.Conversations, "b1") },
		"a session of the day":   func(s *schedule.State) { s.Days[1].Sessions++ },
	} {
		s := sample()
		change(s)
		if !newRecord(s, 1).materiallyDiffers(newRecord(sample(), 2)) {
			t.Errorf("%s would not be committed", name)
		}
	}
	if newRecord(sample(), 1).materiallyDiffers(newRecord(sample(), 2)) {
		t.Error("nothing would be committed")
	}
}
