package schedule

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Issues holds what is known about the issues that are worked on. An issue has a conversation as
// long as it has a claim or a delivery.
type Issues struct {
	Claims        map[tracker.ID]Claim
	Deliveries    map[tracker.ID]Delivery     // published work, which outlives claims; at most maxDeliveries
	Conversations map[tracker.ID]Conversation // marks of handled comments and checks
}

// clone returns a copy. Marks are replaced, never changed.
func (s *Issues) clone() Issues {
	return Issues{maps.Clone(s.Claims), maps.Clone(s.Deliveries), maps.Clone(s.Conversations)}
}

// Checks returns the states of the checks of pull requests as read last. It leaves out unknown
// ones.
func (s *Issues) Checks() map[tracker.ID]Checks {
	known := map[tracker.ID]Checks{}
	for id, c := range s.Conversations {
		if c.Checks != "" {
			known[id] = c.Checks
		}
	}
	return known
}

// conversation returns the conversation on an issue. A new conversation ignores earlier
// comments: only later ones are feedback.
func (s *Issues) conversation(id tracker.ID, now time.Time) Conversation {
	if c, known := s.Conversations[id]; known {
		return c
	}
	begin := Mark{At: now.UTC()}
	return Conversation{ReadUpTo: begin, PromptedUpTo: begin}
}

// setConversation stores the conversation on an issue, or drops it if the issue has neither
// a claim nor a delivery.
func (s *Issues) setConversation(id tracker.ID, c Conversation) {
	_, claimed := s.Claims[id]
	_, delivered := s.Deliveries[id]
	if !claimed && !delivered {
		delete(s.Conversations, id)
		return
	}
	if s.Conversations == nil {
		s.Conversations = map[tracker.ID]Conversation{}
	}
	s.Conversations[id] = c
}

// StartConversations adds the conversations that a state of an older version lacks. Earlier
// comments are not answered.
func (s *Issues) StartConversations(now time.Time) {
	for id := range s.Claims {
		s.setConversation(id, s.conversation(id, now))
	}
	for id := range s.Deliveries {
		s.setConversation(id, s.conversation(id, now))
	}
}

// Order notes a command on an issue, for the run that can obey it: the one that works on
// the issue, else any. It reports false for an issue without a claim and a delivery.
func (s *Issues) Order(id tracker.ID, o Order, now time.Time) bool {
	c := s.conversation(id, now)
	c.PendingCommand = o
	s.setConversation(id, c)
	_, talks := s.Conversations[id]
	return talks
}

// HasPendingCommand reports whether a command from outside of comments waits on the issue.
func (s *Issues) HasPendingCommand(id tracker.ID) bool {
	return s.Conversations[id].PendingCommand.Command != ""
}

// Deliver replaces the delivery of an issue; a zero one removes it. If there are too many,
// it drops the one that was pushed first. Issues without a claim go first, and id stays.
func (s *Issues) Deliver(id tracker.ID, d Delivery) {
	if _, claimed := s.Claims[id]; d == (Delivery{}) {
		delete(s.Deliveries, id)
		if !claimed {
			delete(s.Conversations, id)
		}
		return
	}
	if s.Deliveries == nil {
		s.Deliveries = map[tracker.ID]Delivery{}
	}
	if c, talks := s.Conversations[id]; talks && c.Checks != "" && d.Head != s.Deliveries[id].Head {
		c.Checks = "" // the commit is another one
		s.Conversations[id] = c
	}
	if c, claimed := s.Claims[id]; claimed && d.Number > 0 && s.Deliveries[id].Number == 0 {
		c.Course.Opened = d.At.UTC().Truncate(time.Second)
		s.Claims[id] = c
	}
	s.Deliveries[id] = d
	for len(s.Deliveries) > maxDeliveries {
		others := slices.DeleteFunc(slices.Collect(maps.Keys(s.Deliveries)), func(other tracker.ID) bool { return other == id })
		s.Deliver(slices.MinFunc(others, s.compareDeliveries), Delivery{})
	}
}

// compareDeliveries compares the issues of two deliveries: the first is to be dropped first.
func (s *Issues) compareDeliveries(a, b tracker.ID) int {
	_, aClaimed := s.Claims[a]
	_, bClaimed := s.Claims[b]
	return cmp.Or(compareBools(aClaimed, bClaimed), s.Deliveries[a].At.Compare(s.Deliveries[b].At), cmp.Compare(a, b))
}

// noteDelivery stores whether the work of a session that has ended was refused, which files
// could not be taken along with it, and which hosts its commands were refused. A session that
// brought no work leaves the results of the work before it.
func (s *Issues) noteDelivery(id tracker.ID, identifier string, o Outcome) {
	d, known := s.Deliveries[id]
	if d.Lost && o.Class == Done { // the session has found the work that the lost shard had pushed
		isOnlyLost := d.IsOnlyLost()
		if d.Lost = false; isOnlyLost {
			d, known = Delivery{}, false
		}
		s.Deliver(id, d)
	}
	judged := o.Refused != "" || o.LeftOut != "" || o.Delivered && known
	if !judged && o.Blocked == "" {
		return
	}
	d.Identifier = cmp.Or(d.Identifier, identifier)
	if d.Blocked = o.Blocked; judged {
		d.Refused, d.LeftOut = o.Refused, o.LeftOut
	}
	s.Deliver(id, d)
}

// forgetLost deletes a delivery that holds nothing but Lost.
func (s *Issues) forgetLost(id tracker.ID) {
	if s.Deliveries[id].IsOnlyLost() {
		delete(s.Deliveries, id)
	}
}

// LeaseEnded reports whether the owner has claims that are marked as running, and the leases
// of all of them have ended.
func (s *Issues) LeaseEnded(owner Owner, now time.Time) bool {
	owns := false
	for _, c := range s.Claims {
		if !c.Phase.HasSession() || c.Owner != owner {
			continue
		}
		if now.Before(c.Lease) {
			return false
		}
		owns = true
	}
	return owns
}

// Retry makes a parked or waiting claim due at once and resets its counters,
// the attempts included, at the request of an operator. It reports whether there was such a claim.
func (s *Issues) Retry(id tracker.ID, now time.Time) bool {
	c, claimed := s.Claims[id]
	if !claimed || c.Phase.HasSession() {
		return false
	}
	c.setPhase(Waiting, "an operator asked for a retry", now)
	c.Due = now
	c.Attempt, c.Failures, c.Idle, c.Tokens, c.Tariffs = 0, 0, 0, 0, nil
	s.Claims[id] = c
	if talk, known := s.Conversations[id]; known {
		talk.Rounds, talk.CheckRounds = 0, 0
		s.Conversations[id] = talk
	}
	return true
}

// Release deletes a parked or waiting claim with all its history, at the request
// of an operator. It reports whether there was such a claim.
func (s *Issues) Release(id tracker.ID) bool {
	c, claimed := s.Claims[id]
	if !claimed || c.Phase.HasSession() {
		return false
	}
	delete(s.Claims, id)
	talk := s.Conversations[id]
	talk.release(Claim{Host: c.Host, Left: c.Left}, Changed, false)
	s.setConversation(id, talk)
	return true
}

// IssueExcept returns an issue with a claim, a delivery or a conversation of which given
// reports false, and reports whether there is one.
func (s *Issues) IssueExcept(given func(tracker.ID) bool) (id tracker.ID, found bool) {
	known := slices.Concat(
		slices.Sorted(maps.Keys(s.Claims)), slices.Sorted(maps.Keys(s.Deliveries)), slices.Sorted(maps.Keys(s.Conversations)))
	for _, id := range known {
		if !given(id) {
			return id, true
		}
	}
	return "", false
}

const maxDeliveries = 500

// Delivery describes the published work on an issue, and a publication that has not ended.
// It outlives the claim of the issue.
type Delivery struct {
	Identifier string    `json:"identifier,omitempty" bound:"line=256"`   // identifier of the issue
	Title      string    `json:"title,omitempty" bound:"line=200"`        // title of the issue at the latest push; empty if unknown
	IssueURL   string    `json:"issue_url,omitempty" bound:"whole=2000"`  // address of the issue, for people; empty if unknown
	Branch     string    `json:"branch,omitempty" bound:"keep whole=256"` // branch on the remote
	Base       string    `json:"base,omitempty" bound:"keep whole=256"`   // branch that the work is for
	Head       string    `json:"head,omitempty" bound:"keep whole=40"`    // commit where we left the branch; empty before the first push
	Pushing    string    `json:"pushing,omitempty" bound:"keep whole=40"` // commit of a push that has begun and whose end is not known; empty for none
	Number     int       `json:"number,omitempty"`                        // number of the pull request; 0 for none
	URL        string    `json:"url,omitempty" bound:"whole=2000"`        // address of the pull request, or the path of a patch; empty for none
	At         time.Time `json:"at,omitzero"`                             // time of the latest push
	Refused    string    `json:"refused,omitempty" bound:"line=500"`      // reason why the latest work was not published; empty if it was
	LeftOut    string    `json:"left_out,omitempty" bound:"line=500"`     // files that could not be taken along with the latest work, in one line; empty for none
	Blocked    string    `json:"blocked,omitempty" bound:"line=500"`      // hosts that commands of the latest session were refused, in one line of Markdown; empty for none
	// Lost says that a shard which left no result has worked on the issue since. It may
	// have pushed to the branch, so the branch may be newer than Head and Pushing.
	Lost bool `json:"lost,omitempty"`
}

// IsOnlyLost reports whether the delivery holds nothing but Lost and the names of the issue, so that
// nothing is known to be published.
func (d Delivery) IsOnlyLost() bool {
	return d == Delivery{Identifier: d.Identifier, Title: d.Title, IssueURL: d.IssueURL, Lost: true}
}
