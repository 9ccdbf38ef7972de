package schedule

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// maxImposedWait is the longest wait that a server can impose: the longest window
	// of a usage limit is a week, and clocks differ.
	maxImposedWait = 8 * 24 * time.Hour
	// maxSkew is how far the clocks of two runs may be apart.
	maxSkew = 10 * time.Minute
)

// longestWait returns the longest wait that a run decides on.
func (p Policy) longestWait() time.Duration { return max(p.MaxBackoff, maxImposedWait) }

// notBefore returns the time that a server told to wait for, or the longest wait
// from now when it told a later one.
func (p Policy) notBefore(told, now time.Time) time.Time {
	if latest := now.Add(p.longestWait()); told.After(latest) {
		return latest
	}
	return told
}

// BoundTimes replaces the times of a loaded state that no run can have written by
// now, and returns a description of each. They come from a forged state or a
// wrong clock, so they decide as little as possible: a wait ends after the
// longest backoff (an issue is tried again soon, and not at once or never), a
// lease lasts as long as one that begins now, the past is not later than now,
// and spending of days to come is dropped.
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
		name := orElse(c.Identifier, string(id))
		bound(name+" is due", &c.Due, p.longestWait(), now.Add(p.MaxBackoff))
		bound(name+" has a lease until", &c.Lease, leaseTime, now.Add(leaseTime))
		bound(name+" is "+string(c.Phase)+" since", &c.Since, 0, now)
		bound(name+" was heard of", &c.Heard, 0, now)
		bound(name+" is in a turn since", &c.TurnSince, 0, now)
		s.Claims[id] = c
	}
	bound("the pause lasts until", &s.Pause.Until, p.longestWait(), now.Add(p.MaxBackoff))
	bound("the tracker is left alone until", &s.Wait.Until, MaxTrackerWait, now)
	bound("the pause began", &s.Pause.Since, 0, now)
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
