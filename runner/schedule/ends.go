package schedule

import (
	"time"
)

// Course sums up the work on an issue from its first session until its pull request is merged
// or closed. It is for statistics: no plan depends on it.
type Course struct {
	Ready    time.Time `json:"ready,omitzero"`   // time since which a run knew that the issue is ready, see [Records].Queued; zero if it is not known
	Opened   time.Time `json:"opened,omitzero"`  // time of the push with which its pull request was opened; zero for none
	Sessions int       `json:"begun,omitempty"`  // sessions that started
	Failed   int       `json:"failed,omitempty"` // sessions that were charged as failures
	Rounds   int       `json:"rounds,omitempty"` // sessions on new feedback
	Usage    Usage     `json:"usage,omitzero"`   // tokens of all its sessions; not reset as [Claim].Tokens is
	Done     bool      `json:"done,omitempty"`   // its end as [EndDone] is recorded
}

// End is the kind of an end of the work on an issue.
type End string

// The ends. An issue can have several: it is parked, goes on, and is merged.
const (
	EndMerged End = "merged" // its pull request was merged
	EndClosed End = "closed" // its pull request was closed without a merge
	EndDone   End = "done"   // it was completed without a pull request
	EndParked End = "parked" // it waits for a person
)

// The reasons of parked issues in an [IssueEnd], besides [NeedsInput], [Commanded], [IssueBudget]
// and [RoundsSpent].
const (
	ParkedForIdle     = Reason("idle")     // its sessions changed nothing
	ParkedForFailures = Reason("failures") // its sessions failed
)

// IssueEnd describes an end of the work on an issue, with the course up to it. It is for people
// only: no plan depends on it.
type IssueEnd struct {
	Issue  string    `json:"issue,omitempty" bound:"line=100"` // identifier
	End    End       `json:"end" bound:"word"`
	Reason Reason    `json:"reason,omitempty" bound:"word"` // reason of a parked issue; empty otherwise
	At     time.Time `json:"at,omitzero"`
	Course
}

// parkedFor returns the reason why a session that has ended with an outcome leaves a parked claim.
func parkedFor(c Claim, o Outcome, next Next) Reason {
	switch {
	case c.StopReason.parks():
		return c.StopReason
	case next.Why.Reason == IssueBudget:
		return IssueBudget
	case o.Class == NeedsInput:
		return Reason(NeedsInput)
	case o.Class == Done:
		return ParkedForIdle
	}
	return ParkedForFailures
}

// boundBy returns the course as far as the sessions of a shard can have changed it since the
// plan. An agent may have written it.
func (c Course) boundBy(planned Course, limit int64) Course {
	c.Ready, c.Sessions = planned.Ready, min(c.Sessions, planned.Sessions)
	c.Usage = planned.Usage.Plus(c.Usage.since(planned.Usage).atMost(limit))
	return c
}
