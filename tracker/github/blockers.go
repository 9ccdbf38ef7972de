package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/parallel"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// blockersKey identifies a version of an issue and of its blockers, as far as the
// record shows them: closing or opening a blocker changes the count.
type blockersKey struct {
	number  int
	updated time.Time
	dependencies
}

// addBlockers sets BlockedBy of the candidates' issues and returns the candidates
// that no open issue blocks. The other issues get the reason in WhyNot.
func (r *repository) addBlockers(ctx context.Context, candidates []candidate, issues []tracker.Issue) ([]candidate, error) {
	blocking, malformed := make([][]*record, len(candidates)), make([]*tracker.MalformedError, len(candidates))
	err := parallel.Each(ctx, requestsAtOnce, candidates, func(ctx context.Context, i int, c candidate) (err error) {
		blocking[i], err = r.blockersOf(ctx, c.record)
		if errors.As(err, &malformed[i]) {
			return nil // only this candidate is affected
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var free []candidate
	for i, c := range candidates {
		issue := &issues[c.index]
		for _, b := range blocking[i] {
			blocker := r.toBlocker(b)
			issue.BlockedBy = append(issue.BlockedBy, blocker)
			if b.isOpen() && issue.WhyNot == "" {
				issue.WhyNot = fmt.Sprintf("%s blocks it", blocker.Name())
			}
		}
		if malformed[i] != nil && issue.WhyNot == "" {
			issue.WhyNot = "what blocks it cannot be read: " + malformed[i].Records[0].String()
		}
		if issue.WhyNot == "" && c.Dependencies != nil && c.Dependencies.BlockedBy > 0 {
			issue.WhyNot = "an open issue blocks it that the token cannot see"
		}
		if issue.WhyNot == "" {
			free = append(free, c)
		}
	}
	return free, nil
}

// toBlocker returns the blocker that a record describes, which may be an issue of
// another repository. Its status on a board is not read: it is open or closed.
func (r *repository) toBlocker(b *record) tracker.Blocker {
	state, _ := r.states.stateOf(b, "")
	name := identifier(b.GetNumber())
	if !strings.EqualFold(b.repositoryName(), r.cfg.Repo) {
		return tracker.Blocker{Identifier: fmt.Sprintf("%s#%d", b.repositoryName(), b.GetNumber()), State: state}
	}
	return tracker.Blocker{ID: tracker.ID(fmt.Sprint(b.GetNumber())), Identifier: name, State: state}
}

// blockersOf returns the issues that block rec. It sends a request only when the record
// has blockers that are not cached, or does not say whether it has any.
func (r *repository) blockersOf(ctx context.Context, rec *record) ([]*record, error) {
	switch {
	case rec.Dependencies == nil && r.noDependencies.Load():
		return nil, nil
	case rec.Dependencies == nil:
		return r.readBlockers(ctx, rec)
	case rec.Dependencies.TotalBlockedBy == 0:
		return nil, nil
	}
	key := blockersKey{rec.GetNumber(), rec.GetUpdatedAt().Time, *rec.Dependencies}
	list, known := r.blockers.get(key)
	if known {
		return list, nil
	}
	list, err := r.readBlockers(ctx, rec)
	if err == nil {
		r.blockers.put(key, list)
	}
	return list, err
}

// readBlockers reads the issues that block rec. On a server without issue
// dependencies it returns none, and logs that once.
func (r *repository) readBlockers(ctx context.Context, rec *record) ([]*record, error) {
	op := fmt.Sprintf("read what blocks %s of %s", identifier(rec.GetNumber()), r.cfg.Repo)
	at := r.client.Path("/issues/%d/dependencies/blocked_by?per_page=100", rec.GetNumber())
	var list []*record
	// Without a count in the record the answer is requested again each time, by its ETag.
	_, malformed, err := r.readPages(ctx, op, at, rec.Dependencies == nil, allPages, func(b *record) { list = append(list, b) })
	if malformed != nil {
		return nil, &tracker.MalformedError{Op: op, Records: malformed}
	}
	if client.Status(err) != http.StatusNotFound {
		return list, err
	}
	if rec.Dependencies != nil {
		return nil, nil // deleted meanwhile; otherwise addBlockers still has the count
	}
	// Either the issue was just deleted, or the server has no such endpoint.
	if still, err := r.readRecord(ctx, rec.GetNumber()); err != nil || still == nil {
		return nil, err
	}
	if !r.noDependencies.Swap(true) {
		r.log.Warn("this GitHub server has no issue dependencies: nothing blocks an issue", "repository", r.cfg.Repo)
	}
	return nil, nil
}
