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
	Claims     map[tracker.ID]Claim
	Pause      Pause
	RateLimits json.RawMessage // the agent's latest snapshot; nil when none was received
	Wait       TrackerWait     // time before which the tracker asked not to be called
	Salt       string          // salt of all digests in the state; empty as long as there is none
	History    []TickRecord    // the last ticks that did something, oldest first, at most maxHistory
	// Deliveries holds the published work, by issue. It outlives
	// claims, has at most maxDeliveries, and is changed by Deliver and Exit.
	Deliveries map[tracker.ID]Delivery
	// Conversations holds, by issue, the marks of handled comments and checks. An issue has
	// an entry as long as it has a claim or a delivery.
	Conversations map[tracker.ID]Conversation
	// Told holds what destinations were told of and still holds, and Worked the time at which
	// a session ended well last; zero as long as nobody asked.
	Told   []Told
	Worked time.Time
	// Queued holds, for the issues that lack nothing but room, the time since which a run knows
	// that, at most maxQueued. It is for statistics: no plan depends on it.
	Queued map[tracker.ID]time.Time
	// Ends holds the latest ends of the work on issues, oldest first, and PackedEnds the ones
	// before them, in packs of many: see [State.AllEnds].
	Ends       []IssueEnd
	PackedEnds []string

	// Completed lists the issues whose session ended normally in this run (SPEC §4.1.8): with
	// the work delivered if the policy delivers work, else out of the active states. The latest
	// is last, at most maxCompleted. It is for people: no plan depends on it, since an issue
	// that is active again is worked on again. It is not stored: the next run has History and
	// the claims.
	Completed []tracker.ID
	// Finishing holds the issues that this tick has decided to finish; not stored.
	Finishing map[tracker.ID]bool
	// Failed holds until when no session is started on feedback for which a session of this
	// run was stopped or failed, on an issue that has no claim any more; not stored.
	Failed map[tracker.ID]time.Time
	Faults []Fault // faults of this tick; not stored
	Hosts  FailedHosts
}

// New returns an empty state that is owned by the run self.
func New(self Owner) *State {
	return &State{Claims: map[tracker.ID]Claim{}, Spending: Spending{Self: self}}
}

// Clone returns a copy that shares nothing that changes.
func (s *State) Clone() *State {
	c := *s
	c.Spending = s.Spending.clone()
	c.Claims = maps.Clone(s.Claims)
	c.Deliveries = maps.Clone(s.Deliveries)
	c.Conversations = maps.Clone(s.Conversations) // marks are replaced, never changed
	c.Queued = maps.Clone(s.Queued)               // lists of ends are replaced, never changed
	c.Hosts = maps.Clone(s.Hosts)
	c.Finishing = maps.Clone(s.Finishing)
	c.Failed = maps.Clone(s.Failed)
	c.History = slices.Clone(s.History)
	c.Told = slices.Clone(s.Told)
	return &c
}

// Phase is the phase of a claim; see the diagram in the package documentation.
type Phase string

// The phases of a claim.
const (
	Running  Phase = "running"
	Stopping Phase = "stopping"
	Waiting  Phase = "waiting"
	Parked   Phase = "parked"
)

// HasSession reports whether a session works on the issue of a claim in this phase.
func (p Phase) HasSession() bool { return p == Running || p == Stopping }

// Claim represents the reservation of one issue, with its history.
type Claim struct {
	ID         tracker.ID `json:"id" bound:"keep whole=256"`
	Identifier string     `json:"identifier,omitempty" bound:"line=256"`
	Title      string     `json:"title,omitempty" bound:"line=200"`
	URL        string     `json:"url,omitempty" bound:"whole=2000"`
	State      string     `json:"state,omitempty" bound:"line=256"`    // state of the issue when last read
	Content    string     `json:"content,omitempty" bound:"whole=256"` // tracker.Issue.Content of the issue, as last read; empty when a session may have changed it since

	Phase Phase     `json:"phase" bound:"word"`
	Since time.Time `json:"since,omitzero"`                 // start of the phase
	Why   string    `json:"why,omitempty" bound:"line=500"` // reason why it waits, is parked or is being stopped

	Owner      Owner     `json:"owner,omitzero" bound:"keep"`  // the run that works on it; zero unless running or stopping
	Lease      time.Time `json:"lease,omitzero"`               // end of the time in which an owner that cannot be asked counts as alive
	StopReason Reason    `json:"cause,omitempty" bound:"word"` // reason of a stopping claim; empty otherwise
	Heard      time.Time `json:"heard,omitzero"`               // last sign of life of the session; zero before the first
	// TurnSince is the start of the current turn; zero when no turn runs. A session can stall
	// in a turn only: hooks and the start of a session have their own timeouts.
	TurnSince time.Time `json:"turn_since,omitzero"`
	// Host is the worker host of the session; while there is none, the one of the last session. It
	// is empty for this machine.
	Host string `json:"host,omitempty" bound:"whole=256"`
	// Left holds the worker hosts of earlier sessions, on which a workspace of the issue may be left.
	Left []string `json:"left,omitempty" bound:"list=200 whole=256"`
	// LostUntil is the time until which the agent of the last session may still work on a host
	// that is cut off; zero if the last session has ended for certain.
	LostUntil time.Time `json:"lost_until,omitzero"`
	Turns     int       `json:"turns,omitempty"` // turns of the live session
	Live      Usage     `json:"live,omitzero"`   // tokens of the live session, already counted below

	Attempt  int       `json:"attempt,omitempty"`                  // SPEC §4.1.5: 0 in the first run, 1 and more in retries and continuations
	Due      time.Time `json:"due,omitzero"`                       // time from which a waiting claim may be dispatched
	Thread   string    `json:"thread,omitempty" bound:"whole=256"` // the agent's thread to resume; empty for a new one
	Sessions int       `json:"sessions,omitempty"`                 // sessions started so far
	Failures int       `json:"failures,omitempty"`                 // failures in a row
	Idle     int       `json:"idle,omitempty"`                     // sessions in a row that changed nothing
	Tokens   int64     `json:"tokens,omitempty"`                   // input and output, over all sessions
	Tariffs  Tariffs   `json:"tariffs,omitempty" bound:"list=32"`  // the same tokens by tariff
	Feedback bool      `json:"feedback,omitempty"`                 // it is claimed for feedback: see [Policy.Answering]
	Setup    Setup     `json:"setup,omitzero"`                     // setup of its last session, if that failed by a fault of WORKFLOW.md; zero otherwise
	Fault    string    `json:"fault,omitempty" bound:"line=500"`   // the kind of the fault for which its last session was charged; empty for none
	// Unsettled says that its last session ended well and its work is on the branch. Only the
	// pull request or the hand-over is missing, for which no agent is needed.
	Unsettled bool   `json:"unsettled,omitempty"`
	Course    Course `json:"course,omitzero"`
}

// Spent returns the tokens of all sessions.
func (c Claim) Spent() Usage { return Usage{Input: c.Tokens, Tariffs: c.Tariffs} }

// holdsSlot reports whether the claim counts against the concurrency limits.
func (c Claim) holdsSlot() bool { return c.Phase.HasSession() }

// observe stores the fields of an issue that was read.
func (c *Claim) observe(issue tracker.Issue) {
	c.Identifier, c.Title, c.URL = issue.Identifier, issue.Title, issue.URL
	c.State, c.Content = issue.State, issue.ContentDigest()
}

// setPhase moves the claim to a phase and clears the fields that belong to the
// old phase only.
func (c *Claim) setPhase(phase Phase, why string, now time.Time) {
	c.Phase, c.Why, c.Since = phase, why, now
	c.Due, c.StopReason, c.TurnSince = time.Time{}, "", time.Time{}
	if !c.holdsSlot() {
		c.Owner, c.Lease, c.Heard, c.Turns, c.Live = Owner{}, time.Time{}, time.Time{}, 0, Usage{}
	}
}

// Owner identifies a run of this program, or a shard of a fleet. The zero value
// stands for no owner.
type Owner struct {
	Run     string `json:"run,omitempty" bound:"whole=256"` // the workflow run's id; empty outside Actions
	Attempt int    `json:"attempt,omitempty"`               // attempt of the workflow run
	Job     string `json:"job,omitempty" bound:"whole=256"`
	Host    string `json:"host,omitempty" bound:"whole=256"`
	PID     int    `json:"pid,omitempty"`
	Started int64  `json:"started,omitempty" bound:"max=9223372036854775807"` // time in Unix milliseconds, to distinguish two processes with the same pid; for a shard the time of its plan
	Shard   int    `json:"shard,omitempty" bound:"max=256"`                   // number of the shard, from 1; 0 for a run that is not a shard
	// Limit is the time from the start of a shard's job until it has ended its sessions by
	// itself, in seconds; 0: not known.
	Limit int64 `json:"limit,omitempty" bound:"max=604800"`
}

// OfShard returns the owner of the claims of a shard, if o is the owner of its fleet.
func (o Owner) OfShard(number int) Owner {
	o.Shard = number
	return o
}

// Name returns the owner as messages name it: "run 123", "shard 3 of run 123".
func (o Owner) Name() string {
	run := "the run that worked on it"
	if o.Run != "" {
		run = "run " + o.Run
	}
	switch {
	case o.Shard == 0:
		return run
	case o.Run == "":
		return fmt.Sprintf("shard %d", o.Shard)
	}
	return fmt.Sprintf("shard %d of %s", o.Shard, run)
}

// whereUntil returns " in shard 3 of run 123" for a claim of a shard, and "" for others. If
// nobody can be asked whether the shard lives, it also tells until when it counts as alive.
func (c Claim) whereUntil() string {
	switch {
	case c.Owner.Shard == 0:
		return ""
	case c.Owner.Run == "" && !c.Lease.IsZero():
		return " in " + c.Owner.Name() + ", until " + c.Lease.UTC().Format(time.RFC3339) + " unless its result is collected before"
	}
	return " in " + c.Owner.Name()
}

func (o Owner) longestLease() time.Duration {
	if o.Shard > 0 {
		return MaxShardTime
	}
	return leaseTime
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
		lease := c.Owner.longestLease()
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
		name := "the conversation on " + cmp.Or(s.Claims[id].Identifier, cmp.Or(s.Deliveries[id].Identifier, string(id)))
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

// maxHistory bounds how many past ticks the state keeps.
const maxHistory = 20

// TickRecord describes a tick that has ended. It is for people only: no plan
// depends on it.
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
func (s *State) AppendHistory(p TickRecord) {
	if last := len(s.History) - 1; last >= 0 && s.History[last].Started.Equal(p.Started) && s.History[last].Run == p.Run {
		old := s.History[last]
		if old.Started, old.Ended = p.Started, p.Ended; old == p {
			return
		}
		s.History = s.History[:last]
	}
	s.History = append(slices.Clone(s.History), p)
	if over := len(s.History) - maxHistory; over > 0 {
		s.History = s.History[over:]
	}
}
