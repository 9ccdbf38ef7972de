package file

import (
	"context"
	"maps"
	"sync"

	"github.com/symphony-runner/symphony/tracker"
)

// folder is the adapter. One mutex serves all of it: the work on the files is
// short, and no read meets one of our own writes.
type folder struct {
	path string

	mu    sync.Mutex
	known map[string]*record // by identifier: what the last look at its file found
}

func (f *folder) IssuesByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	if len(states) == 0 {
		return nil, nil
	}
	wanted := make(map[string]bool, len(states))
	for _, state := range states {
		wanted[tracker.NormalState(state)] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l, err := f.look(ctx)
	if err != nil {
		return nil, err
	}
	defer l.close()
	ids, err := l.identifiers()
	if err != nil {
		return nil, err
	}
	var issues []tracker.Issue
	var malformed []tracker.Malformed
	understood := 0
	for _, id := range ids {
		r, err := l.record(ctx, id)
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		if r.malformed != nil {
			malformed = append(malformed, r.spoilt(id))
			continue
		}
		understood++
		if !wanted[tracker.NormalState(r.issue.State)] {
			continue
		}
		issue, err := l.issue(ctx, r)
		if err != nil {
			return nil, err
		}
		issues = append(issues, issue)
	}
	// What is not in the folder any more is forgotten.
	maps.DeleteFunc(f.known, func(id string, _ *record) bool { return l.seen[id] == nil })
	if err := tracker.Drop(ctx, "list the issue files of "+f.path, understood, malformed); err != nil {
		return nil, err
	}
	return issues, nil
}

func (f *folder) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l, err := f.look(ctx)
	if err != nil {
		return nil, err
	}
	defer l.close()
	var issues []tracker.Issue
	var malformed []tracker.Malformed
	asked := make(map[tracker.ID]bool, len(ids))
	for _, id := range ids {
		if asked[id] {
			continue
		}
		asked[id] = true
		r, err := l.record(ctx, string(id))
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		if r.malformed != nil {
			malformed = append(malformed, r.spoilt(string(id)))
			continue
		}
		issue, err := l.issue(ctx, r)
		if err != nil {
			return nil, err
		}
		issues = append(issues, issue)
	}
	if malformed != nil {
		return nil, &tracker.MalformedError{Op: "read issue files", Records: malformed}
	}
	return issues, nil
}
