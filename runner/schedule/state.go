package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// State holds all that a run leaves to the next one, and the state of the current run alone.
// One goroutine owns it. The zero value is not usable: call [New]. The tags of the types in it
// are the format in which package store keeps them, and their bounds there; package store has
// the rules for a change of the format.
type State struct {
	Spending
	Issues
	Records
	Pause      Pause
	Hosts      FailedHosts
	RateLimits json.RawMessage // the agent's latest snapshot; nil when none was received
	Wait       TrackerWait     // time before which the tracker asked not to be called
	Salt       string          // salt of all digests in the state; empty as long as there is none

	// Finishing holds the issues that this tick has decided to finish; not stored.
	Finishing map[tracker.ID]bool
	// Failed holds until when no session is started on feedback for which a session of this
	// run was stopped or failed, on an issue that has no claim any more; not stored.
	Failed map[tracker.ID]time.Time
	Faults []Fault // faults of this tick; not stored
}

// New returns an empty state that is owned by the run self.
func New(self Owner) *State {
	return &State{Issues: Issues{Claims: map[tracker.ID]Claim{}}, Spending: Spending{Self: self}}
}

// Clone returns a copy that shares nothing that changes.
func (s *State) Clone() *State {
	c := *s
	c.Spending, c.Issues, c.Records = s.Spending.clone(), s.Issues.clone(), s.Records.clone()
	c.Hosts, c.Finishing, c.Failed = maps.Clone(s.Hosts), maps.Clone(s.Finishing), maps.Clone(s.Failed)
	return &c
}

// MaxTrackerWait bounds how long a tracker can ask not to be called: the windows
// of its limits last an hour.
const MaxTrackerWait = time.Hour

// TrackerWait holds the time before which the tracker asked not to be called
// again. It has no effect after that time.
type TrackerWait struct {
	Tracker string    `json:"tracker,omitempty" bound:"whole=256"` // kind of the tracker; a wait for another kind is ignored
	Until   time.Time `json:"until,omitzero"`
}

const (
	// maxImposedWait bounds the wait that a server can impose: the longest
	// window of a usage limit is a week, and clocks differ.
	maxImposedWait = 8 * 24 * time.Hour
	// maxSkew bounds the difference between the clocks of two runs.
	maxSkew = 10 * time.Minute
)

// BoundTimes replaces the times of a loaded state that no run can have written by now, and
// returns a description of each. They come from a forged state or a wrong clock, so the
// replacements have little effect. A wait ends after the longest backoff: the issue is retried
// soon, neither at once nor never. A lease lasts as long as a new one, past events happened now
// at the latest, and spending of future days is dropped.
func (s *State) BoundTimes(p Policy, now time.Time) []string {
	var wrong []string
	bound := func(what string, t *time.Time, latest time.Duration, instead time.Time) {
		if ahead := t.Sub(now); ahead > latest && ahead-latest > maxSkew { // sums could overflow
			wrong = append(wrong, fmt.Sprintf("%s %s", what, t.UTC().Format(time.RFC3339)))
			*t = instead
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Claims)) {
		c := s.Claims[id]
		name := cmp.Or(c.Identifier, string(id))
		bound(name+" is due", &c.Due, p.longestWait(), now.Add(p.MaxBackoff))
		lease := leaseTime
		if c.Owner.Shard > 0 {
			lease = MaxShardTime
		}
		bound(name+" has a lease until", &c.Lease, lease, now.Add(lease))
		bound(name+" is "+string(c.Phase)+" since", &c.Since, 0, now)
		bound(name+" was heard of", &c.Heard, 0, now)
		bound(name+" is in a turn since", &c.TurnSince, 0, now)
		bound(name+" may still be worked on by a lost host until", &c.LostUntil, HostNotice, now.Add(HostNotice))
		s.Claims[id] = c
	}
	for _, id := range slices.Sorted(maps.Keys(s.Deliveries)) {
		d := s.Deliveries[id]
		bound(cmp.Or(d.Identifier, string(id))+" was published", &d.At, 0, now)
		s.Deliveries[id] = d
	}
	for _, id := range slices.Sorted(maps.Keys(s.Conversations)) {
		c := s.Conversations[id]
		name := "the conversation on " + cmp.Or(s.Claims[id].Identifier, s.Deliveries[id].Identifier, string(id))
		for _, m := range []*Mark{&c.ReadUpTo, &c.PromptedUpTo, &c.ParkedUpTo, &c.CommandsUpTo} {
			bound(name+" was read", &m.At, 0, now)
		}
		s.Conversations[id] = c
	}
	for i, e := range s.Ends {
		if at := e.At; at.Sub(now) > maxSkew {
			s.Ends = slices.Clone(s.Ends)
			bound("an end of the work on "+e.Issue+" was recorded", &s.Ends[i].At, 0, now)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(s.Hosts)) {
		h := s.Hosts[host]
		bound(host+" is left alone until", &h.Until, longestHostBackoff, now.Add(longestHostBackoff))
		s.Hosts[host] = h
	}
	for owner, r := range s.Reserves {
		bound(owner.Name()+" was planned", &r.Since, 0, now)
		s.Reserves[owner] = r
	}
	bound("the pause lasts until", &s.Pause.Until, p.longestWait(), now.Add(p.MaxBackoff))
	bound("the tracker is left alone until", &s.Wait.Until, MaxTrackerWait, now)
	bound("the pause began", &s.Pause.Since, 0, now)
	bound("a session worked", &s.Worked, 0, now)
	tomorrow := nextDay(now.Add(maxSkew)).Format(time.DateOnly)
	s.Days = slices.DeleteFunc(slices.Clone(s.Days), func(d Day) bool {
		future := d.Date >= tomorrow
		if future {
			wrong = append(wrong, "spending of "+d.Date)
		}
		return future
	})
	return wrong
}

// NewTick begins a tick: it resets the counts of the last one.
func (s *State) NewTick() { s.Tick, s.Faults, s.Finishing = Spent{}, nil, nil }

// CarryOverTick copies the data of the current tick from old, an earlier read of the same
// state.
func (s *State) CarryOverTick(old *State) {
	s.Tick, s.Faults, s.Completed, s.Finishing, s.Failed = old.Tick, old.Faults, old.Completed, old.Finishing, old.Failed
}
