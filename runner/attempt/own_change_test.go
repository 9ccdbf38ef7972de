package attempt

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

func TestASessionKnowsItsIssueAsItWasReadLast(t *testing.T) {
	t.Parallel()
	given := tracker.Issue{ID: "1", State: "Todo", UpdatedAt: time.Unix(1, 0)}
	moved, touched := given, given
	moved.State, touched.UpdatedAt = "Review", time.Unix(2, 0)
	unreachable := errors.New("unreachable")
	for name, test := range map[string]struct {
		issues      []tracker.Issue
		err         error
		gone, moved bool
	}{
		"the same":          {[]tracker.Issue{given}, nil, false, false},
		"in another state":  {[]tracker.Issue{moved}, nil, false, true},
		"changed otherwise": {[]tracker.Issue{touched}, nil, false, true},
		"no longer visible": {nil, nil, true, false},
		"not to be read":    {nil, unreachable, false, false},
	} {
		s := SessionIssue{given: given, own: new(OwnChange), now: &given, tracker: tracker.Adapter{Reader: issueList{issues: test.issues, err: test.err}}}
		if err := s.reread(t.Context()); !errors.Is(err, test.err) || s.gone != test.gone || s.hasMoved() != test.moved || (s.now != nil) != (len(test.issues) > 0) {
			t.Errorf("%s: %v, %+v", name, err, s)
		}
	}
}

// issueList is a tracker with these issues.
type issueList struct {
	tracker.Reader // nil: nothing else is called
	issues         []tracker.Issue
	err            error
}

func (l issueList) IssuesByID(context.Context, []tracker.ID) ([]tracker.Issue, error) {
	return l.issues, l.err
}
