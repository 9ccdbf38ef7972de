package schedule

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// ShardEnd is the result of a shard, as far as it is about all issues.
type ShardEnd struct {
	Slice   *State    // the slice that the shard left
	Planned time.Time // time when the shard was planned
}

// ShardEnds holds the results of the shards that are settled in one save.
type ShardEnds []ShardEnd

// Settle decides what the results together say about all issues, each of which [State.Settle] has
// taken over. It returns the faults whose charges it took back, with Why as the reason why they are
// systemic, and the pause that it ignores; the zero Pause if none.
func (ends ShardEnds) Settle(s *State, p Policy, now time.Time) (excused []Fault, ignored Pause) {
	excused = ends.settleFaults(s, p, now)
	ignored = ends.settlePause(s, p, now)
	ends.settleRefusals(s, p, now)
	return excused, ignored
}

// settleFaults finds systemic faults among the faults of several shards, each of which knew only its
// own, if none of them had a turn. If there is one, it pauses everything and takes back the charges.
// A shard alone does not make a fault systemic for others, so one of each kind counts, unless the
// shard has found out by itself that it is systemic. Then its pause is already settled.
func (ends ShardEnds) settleFaults(s *State, p Policy, now time.Time) (excused []Fault) {
	if slices.ContainsFunc(ends, func(end ShardEnd) bool { return end.Slice.Tick.HadTurn }) {
		return nil
	}
	var known []Fault
	for _, end := range ends {
		seen := map[string]bool{}
		for _, f := range end.Slice.Faults {
			if seen[f.Kind] && !f.Excused {
				continue
			}
			seen[f.Kind] = true
			why, charged := addFault(&known, f)
			if why != "" && !f.Excused {
				charged = append(charged, f)
			}
			if len(charged) > 0 {
				s.pause(Outcome{Class: Systemic, Why: why, Fault: f.Kind}, p, now)
			}
			for _, c := range charged {
				if c.Why = why; s.Excuse(c.Before, why, now) {
					c.Excused = true
					excused = append(excused, c)
				}
			}
		}
	}
	return excused
}

// settlePause updates the pause of the state. A hostile result could stop everybody's work, so a
// pause counts as it is only if two shards have it, or a shard and the state before the plan, with
// the same cause. Otherwise it is ignored if another shard had a turn, and else it is over at once,
// so that one session of the next plan checks first. A shard ends a pause only if it had a turn.
func (ends ShardEnds) settlePause(s *State, p Policy, now time.Time) (ignored Pause) {
	var found []Pause
	worked := false
	for _, end := range ends {
		began := end.Slice.Pause.Why != "" && !end.Slice.Pause.Since.Before(end.Planned) // by the shard
		switch {
		case began:
			bound := State{Pause: end.Slice.Pause}
			bound.BoundTimes(p, now)
			if s.Salt != end.Slice.Salt {
				bound.Pause.Setup = Setup{} // digests with different salts cannot be compared
			}
			found = append(found, bound.Pause)
		case end.Slice.Tick.HadTurn:
			worked = true
			s.clearPause(end.Planned, true, now)
		}
	}
	if len(found) == 0 {
		return Pause{}
	}
	slices.SortStableFunc(found, func(a, b Pause) int { return b.Until.Compare(a.Until) })
	pause := found[0]
	seen := false
	for i, later := range found {
		if i > 0 && slices.ContainsFunc(found[:i], func(longer Pause) bool { return longer.Cause == later.Cause }) {
			pause, seen = later, true // two agree on this time at least
			break
		}
	}
	switch latest := now.Add(p.MaxBackoff); {
	case seen:
	case s.Pause.Why != "" && s.Pause.Cause == pause.Cause:
		if pause.Until.After(latest) {
			pause.Until = latest
		}
	case worked:
		return pause
	default:
		pause.Until = now
	}
	pause.Until = later(pause.Until, s.Pause.Until)
	s.Pause = pause
	return Pause{}
}

// settleRefusals pauses everything if the server has refused pushes of two shards in the same way,
// each of which knew only its own. The end of the pause frees the issues that are charged.
func (ends ShardEnds) settleRefusals(s *State, p Policy, now time.Time) {
	seen := map[string]bool{} // faults of earlier shards
	for _, end := range ends {
		own := map[string]string{} // reasons by faults
		for _, id := range slices.Sorted(maps.Keys(end.Slice.Claims)) {
			if c := end.Slice.Claims[id]; strings.HasPrefix(c.Fault, PushFault) {
				own[c.Fault] = c.Why
			}
		}
		for _, fault := range slices.Sorted(maps.Keys(own)) {
			if seen[fault] && s.Pause.Fault != fault {
				s.pause(Outcome{Class: Systemic, Cause: CauseDelivery, Fault: fault, Why: refusedAlike + strings.TrimPrefix(own[fault], refusedAlike)}, p, now)
			}
			seen[fault] = true
		}
	}
}
