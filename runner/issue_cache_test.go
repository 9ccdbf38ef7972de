package runner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestTheIssueOfAClaimStaysWhenAnotherCandidateIsRemoved(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	issues := []tracker.Issue{{ID: "1", Identifier: "A-1"}, {ID: "2", Identifier: "A-2"}, {ID: "3", Identifier: "A-3"}}
	v := newIssueCache()
	v.learn(issues[1], now) // it is claimed, and so read by id
	v.list(issues, now)
	v.gone("1", now)
	s := schedule.New(schedule.Owner{})
	s.Claims["2"] = schedule.Claim{ID: "2"}
	snap := v.snapshot(s, nil, schedule.Why{})
	if diff := cmp.Diff(map[tracker.ID]*tracker.Issue{"2": &issues[1]}, snap.Claimed); diff != "" {
		t.Errorf("claimed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(issues[1:], snap.Candidates); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
}
