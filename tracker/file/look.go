package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// look is one read of the folder. It looks at each file once, so that its
// answer holds one version of every issue, also where that is a blocker.
type look struct {
	root  *os.Root
	start time.Time
	known map[string]*record // the folder's
	seen  map[string]*record // by identifier; nil is no issue
}

// look begins a read. The caller holds f.mu and closes it.
func (f *folder) look(ctx context.Context) (*look, error) {
	if ctx.Err() != nil {
		return nil, interrupted(ctx)
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, unread(f.path, err)
	}
	return &look{root: root, start: time.Now(), known: f.known, seen: make(map[string]*record)}, nil
}

func (l *look) close() { l.root.Close() }

// unread is the error of a read that did not get through.
func unread(name string, err error) error {
	return fmt.Errorf("read %q: %w: %w: see that it is there and may be read", name, tracker.ErrRequest, err)
}

func interrupted(ctx context.Context) error {
	return fmt.Errorf("read issue files: %w: %w", tracker.ErrRequest, context.Cause(ctx))
}

// identifiers lists the names of the folder that may be issues, in order.
func (l *look) identifiers() ([]string, error) {
	dir, err := l.root.Open(".")
	if err != nil {
		return nil, unread(l.root.Name(), err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, unread(l.root.Name(), err)
	}
	var ids []string
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, extension); ok && visible(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// record is what the file of an issue holds; nil when there is no such issue.
func (l *look) record(ctx context.Context, id string) (*record, error) {
	if r, ok := l.seen[id]; ok {
		return r, nil
	}
	if ctx.Err() != nil {
		return nil, interrupted(ctx)
	}
	r, err := l.fresh(id)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, unread(fileName(id), err)
	}
	l.seen[id] = r
	return r, nil
}

// fresh is the known record of a file that has not changed, or a new one.
func (l *look) fresh(id string) (*record, error) {
	if !visible(id) {
		return nil, nil
	}
	info, err := l.root.Lstat(fileName(id))
	if err != nil {
		return nil, err
	}
	old := l.known[id]
	if old != nil && old.settled && old.of(info) {
		return old, nil
	}
	r, err := read(l.root, id, info)
	if err != nil || r == nil {
		return nil, err
	}
	r.settled = l.start.Sub(r.info.ModTime()) > granularity
	l.known[id] = r
	return r, nil
}

// issue is the issue of a well-formed record, the caller's own, with the states
// of its blockers.
func (l *look) issue(ctx context.Context, r *record) (tracker.Issue, error) {
	issue := r.issue
	issue.Labels = slices.Clone(issue.Labels)
	issue.BlockedBy = slices.Clone(issue.BlockedBy)
	if issue.Priority != nil {
		issue.Priority = new(*issue.Priority)
	}
	for i := range issue.BlockedBy {
		blocker := &issue.BlockedBy[i]
		b, err := l.record(ctx, blocker.Identifier)
		if err != nil {
			return tracker.Issue{}, err
		}
		if b != nil {
			blocker.State = b.issue.State
		}
	}
	return issue, nil
}
