package runner

import (
	"context"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// issueCache is the latest knowledge of the tracker's issues, and how old it is.
// Every read and every ended session adds to it; a plan is made from it alone.
type issueCache struct {
	listedAt   time.Time // when candidates were read last; zero before the first time
	candidates []tracker.Issue
	issues     map[tracker.ID]*tracker.Issue // read by id; nil when no longer visible
	readAt     map[tracker.ID]time.Time      // absent: nothing certain is known
	malformed  map[tracker.ID]string         // why the record of an issue is malformed, as read last
}

func newIssueCache() issueCache {
	return issueCache{issues: map[tracker.ID]*tracker.Issue{}, readAt: map[tracker.ID]time.Time{}, malformed: map[tracker.ID]string{}}
}

// listed reports whether candidates were read at least once.
func (v *issueCache) listed() bool { return !v.listedAt.IsZero() }

// list takes in a complete list of candidates.
func (v *issueCache) list(issues []tracker.Issue, at time.Time) {
	v.listedAt = at
	v.candidates = slices.Clone(issues)
	slices.SortFunc(v.candidates, schedule.Compare)
	for _, issue := range v.candidates {
		v.readAt[issue.ID] = at
		delete(v.malformed, issue.ID)
		if _, known := v.issues[issue.ID]; known {
			v.issues[issue.ID] = &issue // not the element, which another issue may come to be
		}
	}
}

// refresh takes in a complete read of the asked ids.
func (v *issueCache) refresh(asked []tracker.ID, issues []tracker.Issue, at time.Time) {
	found := make(map[tracker.ID]bool, len(issues))
	for i := range issues {
		found[issues[i].ID] = true
		v.learn(issues[i], at)
	}
	for _, id := range asked {
		if !found[id] {
			v.gone(id, at)
		}
	}
}

// learn takes in one issue as it is now.
func (v *issueCache) learn(issue tracker.Issue, at time.Time) {
	v.issues[issue.ID] = &issue
	v.readAt[issue.ID] = at
	delete(v.malformed, issue.ID)
	if i := v.candidate(issue.ID); i >= 0 {
		v.candidates[i] = issue
	}
}

// gone takes in that the tracker no longer shows an issue.
func (v *issueCache) gone(id tracker.ID, at time.Time) {
	v.issues[id] = nil
	v.readAt[id] = at
	delete(v.malformed, id)
	v.drop(id)
}

// markMalformed takes in that the record of an issue is malformed: nothing is known of
// the issue then, and it is no candidate.
func (v *issueCache) markMalformed(m tracker.Malformed) {
	delete(v.issues, m.ID)
	delete(v.readAt, m.ID)
	v.malformed[m.ID] = m.Why
	v.drop(m.ID)
}

// drop removes an issue from the candidates.
func (v *issueCache) drop(id tracker.ID) {
	if i := v.candidate(id); i >= 0 {
		v.candidates = slices.Delete(v.candidates, i, i+1)
	}
}

// doubt keeps what is known of an issue but trusts it no longer: a session may
// have changed it since.
func (v *issueCache) doubt(id tracker.ID) { delete(v.readAt, id) }

// doubtAll does so for every issue: another run may have worked on any of them.
func (v *issueCache) doubtAll() { clear(v.readAt) }

func (v *issueCache) candidate(id tracker.ID) int {
	for i := range v.candidates { // slices.IndexFunc copies every issue
		if v.candidates[i].ID == id {
			return i
		}
	}
	return -1
}

// stale are the ids whose knowledge is older than maxAge.
func (v *issueCache) stale(ids []tracker.ID, maxAge time.Duration, now time.Time) []tracker.ID {
	var old []tracker.ID
	for _, id := range ids {
		if at, read := v.readAt[id]; !read || now.Sub(at) > maxAge {
			old = append(old, id)
		}
	}
	return old
}

// snapshot returns the view as a plan needs it: what is known of the candidates
// and of each claim, without the issues whose workspaces are being removed.
func (v *issueCache) snapshot(s *schedule.State, cleaning map[tracker.ID]context.CancelCauseFunc, hold schedule.Why) schedule.Snapshot {
	snap := schedule.Snapshot{Candidates: v.candidates, Claimed: map[tracker.ID]*tracker.Issue{}, Malformed: v.malformed, Hold: hold}
	for id := range cleaning {
		if v.candidate(id) >= 0 { // seldom: an issue that is over has been dropped
			snap.Candidates = slices.DeleteFunc(slices.Clone(v.candidates), func(issue tracker.Issue) bool { return cleaning[issue.ID] != nil })
			break
		}
	}
	for id := range s.Claims {
		if issue, known := v.issues[id]; known && cleaning[id] == nil {
			snap.Claimed[id] = issue
		}
	}
	return snap
}
