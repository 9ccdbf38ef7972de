package publish

import (
	"time"

	"github.com/symphony-runner/symphony/workspace/git"
)

// Record holds what a run leaves to the next about the delivery of an issue. The zero
// value stands for no delivery.
type Record struct {
	Branch git.Branch // branch of the remote
	Base   git.Branch // branch that the work is for
	// Head is the commit of the branch as we left it, or the commit that a patch was made of;
	// zero before the first push.
	Head git.ObjectID
	// Pushing is the commit of a push that has begun; zero if none has, or if its end is
	// known. The branch is at Head or at Pushing.
	Pushing git.ObjectID
	Number  int       // number of the pull request; 0 for none
	URL     string    // address of the pull request, or path of the patch
	At      time.Time // time of the latest push
}

// IsZero reports whether nothing was delivered or begun.
func (r Record) IsZero() bool { return r == Record{} }
