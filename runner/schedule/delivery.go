package schedule

import (
	"time"
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

// IsOnlyLost reports whether the delivery holds nothing but Lost and the names of the issue, so that
// nothing is known to be published.
func (d Delivery) IsOnlyLost() bool {
	return d == Delivery{Identifier: d.Identifier, Title: d.Title, IssueURL: d.IssueURL, Lost: true}
}
