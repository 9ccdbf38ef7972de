package schedule

import (
	"cmp"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// maxDeliveries bounds how many deliveries the state keeps.
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

// Deliver replaces the delivery of an issue; a zero one removes it. If there are too many,
// it drops the one that was pushed first. Issues without a claim go first, and id stays.
func (s *State) Deliver(id tracker.ID, d Delivery) {
	if d == (Delivery{}) {
		s.dropDelivery(id)
		return
	}
	if s.Deliveries == nil {
		s.Deliveries = map[tracker.ID]Delivery{}
	}
	if c, talks := s.Conversations[id]; talks && c.Checks != "" && d.Head != s.Deliveries[id].Head {
		c.Checks = "" // the commit is another one
		s.Conversations[id] = c
	}
	if d.Number > 0 && s.Deliveries[id].Number == 0 {
		s.noteOpened(id, d.At)
	}
	s.Deliveries[id] = d
	for len(s.Deliveries) > maxDeliveries {
		s.dropDelivery(s.oldestDelivery(id))
	}
}

// dropDelivery deletes a delivery, and the conversation if nothing else is to be talked
// about.
func (s *State) dropDelivery(id tracker.ID) {
	delete(s.Deliveries, id)
	if _, claimed := s.Claims[id]; !claimed {
		delete(s.Conversations, id)
	}
}

// oldestDelivery returns the issue whose delivery is dropped first, which is not
// except.
func (s *State) oldestDelivery(except tracker.ID) tracker.ID {
	claimed := func(id tracker.ID) int {
		if _, claimed := s.Claims[id]; claimed {
			return 1
		}
		return 0
	}
	var oldest tracker.ID
	found := false
	for id, d := range s.Deliveries {
		if id == except {
			continue
		}
		before := cmp.Or(
			cmp.Compare(claimed(id), claimed(oldest)),
			d.At.Compare(s.Deliveries[oldest].At),
			cmp.Compare(id, oldest),
		) < 0
		if !found || before {
			oldest, found = id, true
		}
	}
	return oldest
}

// noteDelivery stores whether the work of a session that has ended was refused, which files
// could not be taken along with it, and which hosts its commands were refused. A session that
// brought no work leaves the results of the work before it.
func (s *State) noteDelivery(id tracker.ID, identifier string, o Outcome) {
	d, known := s.Deliveries[id]
	if d.Lost && o.Class == Done { // the session has found the work that the lost shard had pushed
		if d.Lost = false; d.namesAlone() {
			d, known = Delivery{}, false
		}
		s.Deliver(id, d)
	}
	judged := o.Refused != "" || o.LeftOut != "" || o.Delivered && known
	if !judged && o.Blocked == "" {
		return
	}
	if d.Identifier == "" {
		d.Identifier = identifier
	}
	if d.Blocked = o.Blocked; judged {
		d.Refused, d.LeftOut = o.Refused, o.LeftOut
	}
	s.Deliver(id, d)
}

// noteLost records that a lost shard may have pushed to the branch of a claim.
func (s *State) noteLost(c Claim) {
	d := s.Deliveries[c.ID]
	d.Identifier, d.Lost = c.Identifier, true
	s.Deliver(c.ID, d)
}

// forgetLost deletes a delivery that holds nothing but Lost.
func (s *State) forgetLost(id tracker.ID) {
	if s.Deliveries[id].IsOnlyLost() {
		delete(s.Deliveries, id)
	}
}

// IsOnlyLost reports whether the delivery holds nothing but Lost, so that nothing is known
// to be published.
func (d Delivery) IsOnlyLost() bool {
	isLost := d.Lost
	d.Lost = false
	return isLost && d.namesAlone()
}

// namesAlone reports whether the delivery holds nothing but the names of the issue.
func (d Delivery) namesAlone() bool {
	return d == Delivery{Identifier: d.Identifier, Title: d.Title, IssueURL: d.IssueURL}
}
