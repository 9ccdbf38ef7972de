package schedule

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/tracker"
)

// TurnSign tells whether an update begins or ends a turn.
type TurnSign int

// The zero value means that the update does neither.
const (
	TurnBegan TurnSign = iota + 1
	TurnEnded
)

// Update holds a live session's report about itself.
type Update struct {
	Turn       TurnSign
	Alive      bool            // the session made progress; a retry inside the agent does not count
	Usage      Usage           // tokens of the session so far; never counted twice
	Turns      int             // started so far
	Thread     string          // set once a turn has started on it
	RateLimits json.RawMessage // nil when the update has none
}

// Heartbeat applies an update of a session of this run (SPEC §7.3, §13.5).
func (s *State) Heartbeat(id tracker.ID, u Update, now time.Time) {
	c, claimed := s.Claims[id]
	if !claimed || !c.Phase.HasSession() || c.Owner != s.Self {
		return // sent before the session ended, received after
	}
	if u.Alive && now.After(c.Heard) {
		c.Heard = now
	}
	if u.Alive {
		s.Hosts.work(c)
	}
	switch {
	case u.Turn == TurnBegan && c.Phase == Running:
		c.TurnSince = now
	case u.Turn == TurnEnded:
		c.TurnSince = time.Time{}
	}
	if u.Thread != "" {
		c.Thread = u.Thread
	}
	if u.RateLimits != nil {
		s.RateLimits = u.RateLimits
	}
	if u.Usage.Total() > 0 {
		s.clearPause(c.Since, false, now) // a model answered, so the systemic failure is over
	}
	c.Turns = max(c.Turns, u.Turns)
	s.countTokens(&c, u.Usage, now)
	s.Claims[id] = c
}

// Class is the meaning of the end of a session for its issue.
type Class string

// The classes of an end.
const (
	Done        Class = "done"        // the session ended normally
	Stopped     Class = "stopped"     // it was stopped; the claim has the reason
	IssueFailed Class = "issue"       // a failure that counts against the issue
	Transient   Class = "transient"   // a failure that will go away: not counted against the issue
	ThreadLost  Class = "thread_lost" // the agent's thread cannot be used again: the next attempt begins a new one
	Systemic    Class = "systemic"    // no session can work until it is fixed
	NeedsInput  Class = "needs_input" // the agent waits for a person
	HostLost    Class = "host"        // its worker host failed: nothing is charged, and it starts on another one
)

// Known reports whether this program has the class.
func (c Class) Known() bool {
	return slices.Contains([]Class{Done, Stopped, IssueFailed, Transient, ThreadLost, Systemic, NeedsInput, HostLost}, c)
}

// Outcome describes how a session ended.
type Outcome struct {
	Class    Class
	Status   AttemptStatus  // end of the attempt, for people
	Why      string         // one line: the category and its cause; for NeedsInput the question
	Question string         // the agent's question to people, for NeedsInput; empty when it asks nothing
	Issue    *tracker.Issue // the issue after the session; nil when it was not read
	Gone     bool           // the tracker no longer shows the issue
	Thread   string         // thread to resume; empty when no turn was started
	Usage    Usage          // tokens of the whole session
	Turns    int            // started
	Idle     bool           // the session changed neither the issue nor the workspace; if its work is delivered, it published nothing new
	RetryAt  time.Time      // earliest retry that a server asked for; zero when it named none
	// Delivered says that the work of the issue is published: by this session, or by
	// an earlier one and nothing is new.
	Delivered bool
	CutOff    bool   // for HostLost: the connection was lost, so its agent may work until the host notices
	Unsettled bool   // the session ended well and the branch has its work; its pull request or its hand-over failed
	Refused   string // reasons why the work was not published; empty unless it was refused
	Said      string // the agent's last message, as it wrote it, in several lines; empty if it has answered people itself
	Moved     bool   // the work was not published because somebody else had moved the branch
	LeftOut   string // the files that could not be taken along with the work, in one line; empty for none
	Blocked   string // the hosts that commands of the agent were refused, in one line of Markdown; empty for none

	// Fault identifies a failure that WORKFLOW.md or the machine may be responsible for (a
	// hook, the prompt, the start of Codex). It is equal for all issues that fail in the same
	// way, and empty for all other failures.
	Fault    string
	Cause    Cause    // cause of a systemic failure; empty for other outcomes
	Warnings []string // failures that do not change the outcome, such as a failed after_run; one line each
}

// Next is the state of a claim after its session.
type Next struct {
	Phase Phase `json:"phase,omitempty" bound:"word"` // empty when the claim is released
	Why
	Due   time.Time `json:"due,omitzero"` // end of the wait of a waiting claim
	Clean bool      `json:"-"`            // the issue is terminal, so its workspace is removed
}

// Next returns the next step of a claim on which no session works.
func (c Claim) Next() Next {
	if c.Phase == Parked {
		return parked(Why{IsParked, c.Why})
	}
	return waiting(c.Why, c.Due)
}

// Exit applies the end of a session (SPEC §7.3, §8.4) and frees its slot.
func (s *State) Exit(id tracker.ID, o Outcome, p Policy, now time.Time) Next {
	c, claimed := s.Claims[id]
	if !claimed || !c.Phase.HasSession() || c.Owner != s.Self {
		return Next{Why: Why{ClaimLost, "another run holds the claim"}}
	}
	s.countTokens(&c, o.Usage, now)
	s.countTime(now.Sub(c.Since), now)
	if o.Thread != "" {
		c.Thread = o.Thread
	}
	if latest := now.Add(p.longestWait()); o.RetryAt.After(latest) {
		o.RetryAt = latest
	}
	c.Content = "" // the session may have edited the issue
	if o.Issue != nil {
		c.observe(*o.Issue)
	}

	s.noteDelivery(id, c.Identifier, o)
	next := s.after(&c, o, p, now)
	if o.Class == Done && (o.Delivered || !p.Delivers && next.Phase == "") {
		s.complete(id)
		if s.Deliveries[id].Number == 0 && !c.Course.Done {
			c.Course.Done = true
			s.addEnd(c, EndDone, "", now)
		}
	}
	if next.Phase == Parked {
		s.addParked(c, parkedFor(c, o, next), now)
	}
	talk := s.conversation(id, now)
	talk.end(o, c.StopReason, next.Phase)
	if next.Clean {
		s.forgetLost(id)
	}
	if next.Phase == "" {
		if talk.isUnanswered() {
			if s.Failed == nil {
				s.Failed = map[tracker.ID]time.Time{}
			}
			s.Failed[id] = now.Add(Backoff(1, p.MaxBackoff)) // a claim would say so, but the issue needs none
		}
		talk.release(c, next.Why.Reason, next.Clean)
		delete(s.Claims, id)
		s.setConversation(id, talk)
		return next
	}
	s.setConversation(id, talk)
	c.Setup, c.Fault, c.Unsettled = Setup{}, "", o.Unsettled || o.Class == HostLost && c.Unsettled
	refused := o.Class == Systemic && o.Cause == CauseDelivery // the end of the pause frees it
	if (o.Class == IssueFailed || refused) && !c.StopReason.parks() {
		c.Fault = o.Fault
	}
	c.setPhase(next.Phase, next.Why.String(), now)
	c.Due = next.Due
	if o.Fault != "" {
		c.Setup.Workflow, s.Salt = p.Setup.Workflow, p.Salt
	}
	s.Claims[id] = c
	return next
}

// after changes a claim whose session has ended, and returns its next state.
func (s *State) after(c *Claim, o Outcome, p Policy, now time.Time) Next {
	switch {
	case o.Class == Systemic:
		s.pause(o, p, now)
	case o.Class == HostLost:
		s.Hosts = s.Hosts.fail(*c, o.Why, p.Hosts, now)
		if o.CutOff {
			c.LostUntil = now.Add(HostNotice)
		}
	case o.Class == Done:
		s.Hosts.work(*c)
	}
	if o.Turns > 0 && o.Class != Systemic && o.Class != Stopped && o.Class != Transient && o.Class != HostLost {
		s.clearPause(c.Since, o.Delivered, now)
	}
	if next, over := over(*c, o, p); over {
		return next
	}
	if c.StopReason.parks() {
		c.Feedback = c.Feedback || o.Issue != nil && !p.IneligibleToContinue(*o.Issue).None()
		return parked(Why{c.StopReason, c.Why})
	}
	switch o.Class {
	case Done:
		return c.continued(o, p, now)
	case Stopped:
		switch c.StopReason {
		case Stalled:
			return c.failed(c.Why, p, now, time.Time{})
		case IssueBudget:
			return parked(Why{IssueBudget, c.Why})
		}
		c.Attempt = max(c.Attempt, 1)
		return waiting(cmp.Or(c.Why, string(Interrupted)), now)
	case Systemic:
		c.Attempt = max(c.Attempt, min(o.Turns, 1)) // no failure is counted, but a second session is a retry
		return waiting(o.Why, now)
	case NeedsInput:
		return parked(Why{IsParked, o.Why})
	case HostLost:
		return waiting(o.Why, later(now, c.LostUntil)) // another host can start it at once
	case Transient:
		c.Attempt++
		return waiting(o.Why, later(now.Add(Backoff(c.Attempt, p.MaxBackoff)), o.RetryAt))
	case ThreadLost:
		c.Thread = ""
	}
	return c.failed(o.Why, p, now, o.RetryAt)
}

// over reports whether the issue needs no further session, however this one
// ended. After the loss of a host the claim is kept until no agent works on the issue any more.
func over(c Claim, o Outcome, p Policy) (Next, bool) {
	if o.CutOff {
		return Next{}, false
	}
	if o.Gone {
		return Next{Why: Why{NotVisible, "the tracker no longer shows the issue"}}, true
	}
	if c.StopReason.parks() || c.Feedback && o.Class != Done {
		p = p.Answering()
	}
	if o.Issue != nil {
		if why := p.rules().ineligibleToContinue(o.Issue); !why.None() {
			return Next{Why: why, Clean: why.Reason == Terminal}, true
		}
	}
	if (o.Class == Stopped || o.Class == NeedsInput) && c.StopReason.releases() {
		return Next{Why: Why{c.StopReason, c.Why}, Clean: c.StopReason == Terminal && o.Issue == nil}, true
	}
	return Next{}, false
}

// continued handles the normal end of a session on an issue that is still active.
func (c *Claim) continued(o Outcome, p Policy, now time.Time) Next {
	c.Failures = 0
	c.Attempt = 1
	c.Feedback = false // it was answered; if the issue is active it is worked on as any other
	if c.Idle++; !o.Idle {
		c.Idle = 0
	}
	if why := p.Budget.issueSpent(*c); !why.None() {
		return parked(why)
	}
	if idle := p.Budget.IdleSessions; idle > 0 && c.Idle >= idle {
		nothing := "changed nothing"
		if p.Delivers {
			nothing = "delivered nothing new"
		}
		why := text.Count(c.Idle, "session") + " in a row " + nothing + " (budget.max_idle_sessions)"
		if said := strings.Join(strings.Fields(o.Said), " "); said != "" {
			why += "; the agent's last words: " + text.Head(said, maxLastWords)
		}
		return parked(Why{IsParked, why})
	}
	return waiting("continuation", now.Add(continuationDelay))
}

const maxLastWords = 200

func (c *Claim) failed(why string, p Policy, now, notBefore time.Time) Next {
	c.Attempt++
	c.Failures++
	c.Course.Failed++
	if c.Failures > 1 {
		c.Thread = "" // the thread may be the cause: begin a new one
	}
	if b := p.Budget.Attempts; b > 0 && c.Failures >= b {
		return parked(Why{IsParked, text.Count(c.Failures, "failure") + inARow + why})
	}
	return waiting(why, later(now.Add(Backoff(c.Attempt, p.MaxBackoff)), notBefore))
}

// inARow stands between the number of failures for which a claim is parked and the last.
const inARow = " in a row (budget.max_attempts_per_issue), the last: "

// LastFailure returns the last failure from the reason of a claim that is parked for its
// failures in a row. It returns other reasons unchanged.
func LastFailure(why string) string {
	failures, last, found := strings.Cut(why, inARow)
	count, _, _ := strings.Cut(failures, " ")
	if n, err := strconv.Atoi(count); !found || err != nil || failures != text.Count(n, "failure") {
		return why
	}
	return last
}

func waiting(why string, due time.Time) Next {
	return Next{Phase: Waiting, Why: Why{NotDue, why}, Due: due}
}

func parked(why Why) Next { return Next{Phase: Parked, Why: why} }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
