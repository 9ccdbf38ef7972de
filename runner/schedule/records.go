package schedule

import (
	"cmp"
	"compress/flate"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Records holds what people are told: no plan depends on it.
type Records struct {
	History []TickRecord // the last ticks that did something, oldest first, at most maxHistory
	// Queued holds, for the issues that lack nothing but room, the time since which a run knows
	// that, at most maxQueued.
	Queued map[tracker.ID]time.Time
	// Ends holds the latest ends of the work on issues, oldest first, and PackedEnds the ones
	// before them, in packs of many: see [Records.AllEnds].
	Ends       []IssueEnd
	PackedEnds []string
	// Completed lists the issues whose session ended normally in this run (SPEC §4.1.8): with
	// the work delivered if the policy delivers work, else out of the active states. The latest
	// is last, at most maxCompleted. An issue that is active again is worked on again. It is not
	// stored: the next run has History and the claims.
	Completed []tracker.ID
	// Told holds what destinations were told of and still holds, and Worked the time at which
	// a session ended well last; zero as long as nobody asked.
	Told   []Told
	Worked time.Time
}

// The bounds of the records. EndsInPack is the number of ends in a pack.
const (
	EndsInPack   = 100
	recentEnds   = EndsInPack + 25 // ends from which on the oldest are packed; the rest stays, so that [State.Excuse] can take one back
	maxPacks     = 128
	maxHistory   = 20
	maxQueued    = 500
	maxCompleted = 1000 // a service runs for months
)

// clone returns a copy. Lists of ends are replaced, never changed.
func (r *Records) clone() Records {
	c := *r
	c.Queued, c.History, c.Told = maps.Clone(r.Queued), slices.Clone(r.History), slices.Clone(r.Told)
	return c
}

// TickRecord describes a tick that has ended.
type TickRecord struct {
	Run      string    `json:"run,omitempty" bound:"whole=256"` // id of the workflow run; empty outside Actions
	Attempt  int       `json:"attempt,omitempty"`               // attempt of that run, from 1; 0 outside Actions
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Stopped  string    `json:"stopped,omitempty" bound:"line=500"` // reason why it ended early; empty when it did not
	Sessions int       `json:"sessions,omitempty"`                 // sessions that ended in it
	Done     int       `json:"done,omitempty"`                     // issues whose last session in it succeeded
	Failed   int       `json:"failed,omitempty"`                   // issues whose last session in it failed, or whose work was refused
	Parked   int       `json:"parked,omitempty"`                   // issues that were parked in it
	Tokens   int64     `json:"tokens,omitempty"`                   // input and output
}

// AppendHistory adds a tick that has ended, and drops the oldest when there are
// too many. If the newest record is of the same tick it is replaced, unless
// nothing but its end time would change: then it stays, so that there is nothing
// new to save.
func (r *Records) AppendHistory(p TickRecord) {
	if last := len(r.History) - 1; last >= 0 && r.History[last].Started.Equal(p.Started) && r.History[last].Run == p.Run {
		old := r.History[last]
		if old.Started, old.Ended = p.Started, p.Ended; old == p {
			return
		}
		r.History = r.History[:last]
	}
	r.History = append(slices.Clone(r.History), p)
	if over := len(r.History) - maxHistory; over > 0 {
		r.History = r.History[over:]
	}
}

// complete appends an issue to the completed ones, or moves it to their end. It
// makes a new list, since a display may still hold the old one.
func (r *Records) complete(id tracker.ID) {
	ids := append(slices.DeleteFunc(slices.Clone(r.Completed), func(old tracker.ID) bool { return old == id }), id)
	r.Completed = ids[max(len(ids)-maxCompleted, 0):]
}

func (r *Records) addEnd(c Claim, end End, why Reason, at time.Time) {
	r.appendEnd(IssueEnd{Issue: c.Identifier, End: end, Reason: why, At: at.UTC().Truncate(time.Second), Course: c.Course})
}

func (r *Records) addParked(c Claim, why Reason, at time.Time) {
	if why == Closed {
		r.addEnd(c, EndClosed, "", at)
		return
	}
	r.addEnd(c, EndParked, why, at)
}

// appendEnd makes a new list: the state of an earlier clone shares the old one.
func (r *Records) appendEnd(e IssueEnd) {
	r.Ends = append(slices.Clone(r.Ends), e)
	if len(r.Ends) < recentEnds {
		return
	}
	packs := append(slices.Clone(r.PackedEnds), pack(r.Ends[:EndsInPack]))
	r.PackedEnds, r.Ends = packs[max(len(packs)-maxPacks, 0):], r.Ends[EndsInPack:]
}

// takeBackParked removes the last end of a claim if it says that the claim was parked.
func (r *Records) takeBackParked(c Claim) {
	for i, e := range slices.Backward(r.Ends) {
		if e.Issue != c.Identifier {
			continue
		}
		if e.End == EndParked {
			r.Ends = slices.Delete(slices.Clone(r.Ends), i, i+1)
		}
		return
	}
}

// AllEnds returns the ends that the state keeps, oldest first as they were recorded, and the
// number of packs that cannot be read.
func (r *Records) AllEnds() (ends []IssueEnd, unread int) {
	ends = make([]IssueEnd, 0, len(r.PackedEnds)*EndsInPack+len(r.Ends))
	inflate := flate.NewReader(nil)
	for _, packed := range r.PackedEnds {
		some, err := unpack(packed, inflate)
		if err != nil {
			unread++
			continue
		}
		ends = append(ends, some...)
	}
	return append(ends, r.Ends...), unread
}

// settleEnds takes over the ends of an issue from the slice of a shard. A shard works on it once,
// and so can complete it and park it.
func (r *Records) settleEnds(slice []IssueEnd, planned Claim, limit int64) {
	var ends []IssueEnd
	for _, e := range slice {
		if e.Issue == planned.Identifier && (e.End == EndDone || e.End == EndParked || e.End == EndClosed) {
			e.Course = e.Course.boundBy(planned.Course, limit)
			ends = append(ends, e)
		}
	}
	for _, e := range ends[max(len(ends)-2, 0):] {
		r.appendEnd(e)
	}
}

// Queued says which issues lack nothing but room, or start now, in this order.
type Queued struct {
	IDs []tracker.ID
	At  time.Time
}

// QueuedBy returns the issues that lack nothing but room by the verdicts of a plan, or that it
// starts.
func QueuedBy(verdicts []Verdict, now time.Time) Queued {
	q := Queued{At: now}
	for _, v := range verdicts {
		if v.Phase == "" && (v.Action == Dispatch || v.Action == "" && v.Why.Reason.lacksRoom()) && len(q.IDs) < maxQueued {
			q.IDs = append(q.IDs, v.Issue.ID)
		}
	}
	return q
}

// Apply replaces the queue, and keeps the times of the issues that were in it.
func (c Queued) Apply(s *State, _ Policy) {
	queued := make(map[tracker.ID]time.Time, len(c.IDs))
	for _, id := range c.IDs {
		queued[id] = c.At.UTC().Truncate(time.Second)
		if since, known := s.Queued[id]; known {
			queued[id] = since
		}
	}
	s.Queued = queued
}

// Changes reports whether the queue of a state has other issues.
func (c Queued) Changes(s *State) bool {
	return len(c.IDs) != len(s.Queued) || slices.ContainsFunc(c.IDs, func(id tracker.ID) bool {
		_, known := s.Queued[id]
		return !known
	})
}

const (
	maxTold     = 10_000 // entries that the state keeps
	maxTellings = 3      // tries to tell the same to a destination that refuses it
)

// Told says that a destination of notices was told of something that still holds, or that it
// held before the destination was known.
type Told struct {
	To     string `json:"to" bound:"keep whole=64"`    // name of the destination
	What   string `json:"what" bound:"keep whole=512"` // name of the event, and of what it is about
	Failed int    `json:"failed,omitempty"`            // tries that the destination refused
	Again  bool   `json:"again,omitempty"`             // the last try was refused, and another one is due
}

// SetTold replaces the entries by others in their order, of which it keeps maxTold. It changes
// nothing if they are the same.
func (r *Records) SetTold(told []Told) {
	slices.SortFunc(told, func(a, b Told) int { return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.What, b.What)) })
	told = told[:min(len(told), maxTold)]
	if !slices.Equal(r.Told, told) {
		r.Told = told
	}
}

// NotTold says that a destination was not told after all: the next run tells it again, up to
// maxTellings times if it refuses.
type NotTold struct {
	To      string
	What    []string
	Refused bool // false if nothing was sent
}

// Apply changes the entries that there still are.
func (c NotTold) Apply(s *State, _ Policy) {
	s.Told = slices.Clone(s.Told)
	for i, t := range s.Told {
		if t.To == c.To && slices.Contains(c.What, t.What) {
			if c.Refused {
				s.Told[i].Failed++
			}
			s.Told[i].Again = s.Told[i].Failed < maxTellings
		}
	}
}
