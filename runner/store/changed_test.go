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

func TestTheCommitMessageNamesTheIssuesThatChanged(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, change := range map[string]func(*schedule.State){
		"Update ABC-1": func(s *schedule.State) {
			c := s.Claims["a1"]
			c.Lease = at
			s.Claims["a1"] = c
		},
		"Update ABC-3":                       func(s *schedule.State) { delete(s.Claims, "c3") },
		"Update ABC-1, ABC-8":                func(s *schedule.State) { deliver(s, "a1", "ABC-1"); deliver(s, "z8", "ABC-8") },
		"Update ABC-9":                       func(s *schedule.State) { delete(s.Conversations, "b1"); s.Deliver("b1", schedule.Delivery{}) },
		"Update z9":                          func(s *schedule.State) { s.Conversations["z9"] = schedule.Conversation{Rounds: 1} },
		"Update the state":                   func(s *schedule.State) { s.Pause.Until = at; s.AppendHistory(schedule.TickRecord{Run: "9"}) },
		"Update 0, 1, 2, 3, 4 and 2 more":    named("0", "1", "2", "3", "4", "5", "6"),
		"Update GH 12, octo/x 13, you, x  y": named("GH-12", "octo/x#13", "@you", "x\r\ny"),
		fmt.Sprintf("Update %.39s…", fmt.Sprintf("%050d", 0)): named(fmt.Sprintf("%050d", 0)),
		"Update https github.com/o/r/issues/1":                named("https://github.com/o/r/issues/1"),
	} {
		s := sample()
		change(s)
		if got := commitMessage(sample(), s); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// deliver records work that is being pushed.
func deliver(s *schedule.State, id tracker.ID, identifier string) {
	d := s.Deliveries[id]
	d.Identifier, d.Pushing = identifier, strings.Repeat("a", 40)
	s.Deliver(id, d)
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

// TestARunThatIsKilledHasSavedItsSpending plays a run that polls every 30 seconds and never ends: the
// branch lacks the tokens of less than two minutes.
func TestARunThatIsKilledHasSavedItsSpending(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	b := h.open(t)
	s, rev := mustLoad(t, b)
	s.Self = schedule.Owner{Run: "7"}
	now, p := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), schedule.Policy{Budget: schedule.Budget{TokensPerDay: 1_000_000}}
	s.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "1", Issue: tracker.Issue{ID: "1", Identifier: "ABC-1", State: "Todo"}}, now)
	rev = mustSave(t, b, s, rev)
	const perPoll = 1000
	for n := range int64(9) {
		now = now.Add(30 * time.Second)
		s.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: (n + 1) * perPoll}}, now)
		s.Renew(p, now)
		rev = mustSave(t, b, s, rev)
		stored, _ := mustLoad(t, h.open(t))
		if lost := (n+1)*perPoll - stored.SpentToday(now).Usage.Total(); lost > 3*perPoll || lost != (n+1)*perPoll-stored.Claims["1"].Tokens {
			t.Errorf("after %v a kill loses %d tokens", 30*time.Second*time.Duration(n+1), lost)
		}
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
		"what was heard":         conversation(func(c *schedule.Conversation) { c.ReadUpTo.IDs = append(c.ReadUpTo.IDs, "IC_4") }),
		"what was read":          conversation(func(c *schedule.Conversation) { c.Read = nil }),
		"a round":                conversation(func(c *schedule.Conversation) { c.Rounds++ }),
		"a command":              conversation(func(c *schedule.Conversation) { c.CommandsUpTo.At = c.CommandsUpTo.At.Add(time.Second) }),
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
