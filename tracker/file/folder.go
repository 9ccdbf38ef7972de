package file

import (
	"context"
	"sync"

	"github.com/symphony-runner/symphony/tracker"
)

// folder is the adapter. Every read and write holds the mutex: the work on the files
// is short, and two writes of the tool never overlap.
type folder struct {
	path string
	mu   sync.Mutex
}

// IssuesByState returns the issues in one of the states; see [tracker.Reader].
func (f *folder) IssuesByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	if len(states) == 0 {
		return nil, nil
	}
	wanted := make(map[string]bool, len(states))
	for _, state := range states {
		wanted[tracker.NormalState(state)] = true
	}
	s, err := f.openSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	ids, err := s.identifiers()
	if err != nil {
		return nil, err
	}
	var issues []tracker.Issue
	var malformed []tracker.Malformed
	wellFormed := 0
	for _, id := range ids {
		r, err := s.record(ctx, id)
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		if r.malformed != nil {
			malformed = append(malformed, r.asMalformed(id))
			continue
		}
		wellFormed++
		if !wanted[tracker.NormalState(r.issue.State)] {
			continue
		}
		issue, err := s.issue(ctx, r)
		if err != nil {
			return nil, err
		}
		issues = append(issues, issue)
	}
	if err := tracker.ReportDropped(ctx, "list the issue files of "+f.path, wellFormed, malformed); err != nil {
		return nil, err
	}
	return issues, nil
}

// IssuesByID returns the issues with these ids; see [tracker.Reader].
func (f *folder) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	s, err := f.openSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var issues []tracker.Issue
	var malformed []tracker.Malformed
	asked := make(map[tracker.ID]bool, len(ids))
	for _, id := range ids {
		if asked[id] {
			continue
		}
		asked[id] = true
		r, err := s.record(ctx, string(id))
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		if r.malformed != nil {
			malformed = append(malformed, r.asMalformed(string(id)))
			continue
		}
		issue, err := s.issue(ctx, r)
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
