package runner

import (
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// fresh bounds the age of the knowledge of an issue when a session starts on it.
const fresh = time.Second

// issueCache holds the latest knowledge of the tracker's issues, and its age.
// Every read and every ended session updates it; a plan is made from it alone.
type issueCache struct {
	listedAt   time.Time // time of the last read of the candidates; zero before the first
	candidates []tracker.Issue
	issues     map[tracker.ID]*tracker.Issue // issues read by id; nil if no longer visible
	readAt     map[tracker.ID]time.Time      // absent if the knowledge may be outdated
	malformed  map[tracker.ID]string         // reasons why the record of an issue is malformed, as last read
}

func newIssueCache() issueCache {
	return issueCache{issues: map[tracker.ID]*tracker.Issue{}, readAt: map[tracker.ID]time.Time{}, malformed: map[tracker.ID]string{}}
}

func (v *issueCache) listed() bool { return !v.listedAt.IsZero() }

// list stores a complete list of candidates. A candidate that was gone when it was read by its
// id is not started before it is read again: the list of a tracker may be the older of the two.
func (v *issueCache) list(issues []tracker.Issue, at time.Time) {
	v.listedAt = at
	v.candidates = schedule.Sorted(issues, schedule.Compare)
	for _, issue := range v.candidates {
		v.readAt[issue.ID] = at
		delete(v.malformed, issue.ID)
		switch before, known := v.issues[issue.ID]; {
		case known && before == nil:
			delete(v.readAt, issue.ID)
		case known:
			v.issues[issue.ID] = &issue // a copy: the element may be overwritten
		}
	}
}

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

func (v *issueCache) learn(issue tracker.Issue, at time.Time) {
	v.issues[issue.ID] = &issue
	v.readAt[issue.ID] = at
	delete(v.malformed, issue.ID)
	if i := v.candidate(issue.ID); i >= 0 {
		v.candidates[i] = issue
	}
}

// gone records that the tracker no longer shows an issue.
func (v *issueCache) gone(id tracker.ID, at time.Time) {
	v.issues[id] = nil
	v.readAt[id] = at
	delete(v.malformed, id)
	v.drop(id)
}

// markMalformed records that the record of an issue is malformed: nothing is known about
// the issue then, and it is not a candidate.
func (v *issueCache) markMalformed(m tracker.Malformed) {
	delete(v.issues, m.ID)
	delete(v.readAt, m.ID)
	v.malformed[m.ID] = m.Reason
	v.drop(m.ID)
}

func (v *issueCache) drop(id tracker.ID) {
	if i := v.candidate(id); i >= 0 {
		v.candidates = slices.Delete(v.candidates, i, i+1)
	}
}

// doubt marks the knowledge of an issue as outdated: a session may have changed it since.
func (v *issueCache) doubt(id tracker.ID) { delete(v.readAt, id) }

// doubtAll marks every issue as outdated: another run may have worked on any of
// them.
func (v *issueCache) doubtAll() { clear(v.readAt) }

func (v *issueCache) candidate(id tracker.ID) int {
	for i := range v.candidates { // slices.IndexFunc copies every issue
		if v.candidates[i].ID == id {
			return i
		}
	}
	return -1
}

// stale returns the ids whose knowledge is too old for a session to start.
func (v *issueCache) stale(ids []tracker.ID, now time.Time) []tracker.ID {
	var old []tracker.ID
	for _, id := range ids {
		if at, read := v.readAt[id]; !read || now.Sub(at) > fresh {
			old = append(old, id)
		}
	}
	return old
}

// snapshot returns the input of a plan: the candidates and the claimed issues,
// without those that are unavailable.
func (v *issueCache) snapshot(s *schedule.State, unavailable map[tracker.ID]bool, hold schedule.Why) schedule.Snapshot {
	snap := schedule.Snapshot{Candidates: v.candidates, Claimed: map[tracker.ID]*tracker.Issue{}, Malformed: v.malformed, Hold: hold}
	for id := range unavailable {
		if v.candidate(id) >= 0 { // rare: finished issues have been dropped
			snap.Candidates = slices.DeleteFunc(slices.Clone(v.candidates), func(issue tracker.Issue) bool { return unavailable[issue.ID] })
			break
		}
	}
	for id := range s.Claims {
		if issue, known := v.issues[id]; known && !unavailable[id] {
			snap.Claimed[id] = issue
		}
	}
	return snap
}
