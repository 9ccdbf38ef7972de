package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/tracker"
)

// folder is the adapter. Every read and write holds the mutex: the work on the files
// is short, and two writes of the tool never overlap.
type folder struct {
	path          string
	startsNothing bool // see [tracker.Options]
	mu            sync.Mutex
}

// IssuesByState returns the issues in any of the states; see [tracker.Reader].
func (f *folder) IssuesByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	if len(states) == 0 {
		return nil, nil
	}
	wanted := make(map[string]bool, len(states))
	for _, state := range states {
		wanted[tracker.NormalState(state)] = true
	}
	if err := f.checkWritable(ctx); err != nil && !f.startsNothing {
		return nil, err
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

const (
	extension = ".md"
	maxName   = 255     // bytes of a file name, everywhere
	maxSize   = 1 << 20 // bytes of an issue file
)

// snapshot is one read of the folder. It reads each file at most once, so that its
// result holds one version of every issue, also of one that is a blocker.
type snapshot struct {
	folder  *folder
	root    *os.Root
	records map[string]*record // records by identifier; nil for a file that is no issue
}

// record holds the content of an issue file.
type record struct {
	issue     tracker.Issue // zero when malformed; blockers have no state
	malformed error         // reason why the file is not an issue, with a remedy
}

// checkWritable returns an [tracker.ErrInvalidConfig] for a folder in which no file can be
// replaced: agents would work on issues that nobody can hand over.
func (f *folder) checkWritable(context.Context) error {
	const writeAndSearch = 0o3
	err := syscall.Access(f.path, writeAndSearch)
	if err == nil || errors.Is(err, fs.ErrNotExist) { // a read reports a folder that is gone
		return nil
	}
	return fmt.Errorf("file tracker: %w: the folder %s cannot be written, and no issue handed over: %w: let the user of this program write there",
		tracker.ErrInvalidConfig, f.path, err)
}

// openSnapshot begins a read, which holds f.mu until the caller closes it.
func (f *folder) openSnapshot(ctx context.Context) (*snapshot, error) {
	if ctx.Err() != nil {
		return nil, interruptedError(ctx)
	}
	f.mu.Lock()
	root, err := os.OpenRoot(f.path)
	if err != nil {
		f.mu.Unlock()
		return nil, readError(f.path, err)
	}
	return &snapshot{folder: f, root: root, records: make(map[string]*record)}, nil
}

func (s *snapshot) close() {
	s.root.Close()
	s.folder.mu.Unlock()
}

// identifiers returns, in order, the names in the folder that may be issues.
func (s *snapshot) identifiers() ([]string, error) {
	dir, err := s.root.Open(".")
	if err != nil {
		return nil, readError(s.root.Name(), err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, readError(s.root.Name(), err)
	}
	var ids []string
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, extension); ok && isIssueName(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// record returns the content of an issue file; nil when there is no such issue.
func (s *snapshot) record(ctx context.Context, id string) (*record, error) {
	if r, ok := s.records[id]; ok {
		return r, nil
	}
	if ctx.Err() != nil {
		return nil, interruptedError(ctx)
	}
	r, err := read(s.root, id)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, readError(fileName(id), err)
	}
	s.records[id] = r
	return r, nil
}

// issue returns the issue of a well-formed record with the states of its blockers.
func (s *snapshot) issue(ctx context.Context, r *record) (tracker.Issue, error) {
	for i := range r.issue.BlockedBy {
		blocker := &r.issue.BlockedBy[i]
		b, err := s.record(ctx, blocker.Identifier)
		if err != nil {
			return tracker.Issue{}, err
		}
		if b != nil {
			blocker.State = b.issue.State
		}
	}
	return r.issue, nil
}

func (r *record) asMalformed(id string) tracker.Malformed {
	return tracker.Malformed{
		ID: tracker.ID(id), Identifier: id, Reason: r.malformed.Error(),
	}
}

func fileName(id string) string { return id + extension }

// isIssueName reports whether a file with this identifier can be an issue.
func isIssueName(id string) bool {
	return id != "" && id[0] != '.' && len(fileName(id)) <= maxName && !strings.ContainsAny(id, "/\x00")
}

// read reads the file of an issue. It returns nil for a file that is not an issue,
// and an error only for a file that cannot be read.
func read(root *os.Root, id string) (*record, error) {
	if !isIssueName(id) {
		return nil, nil
	}
	info, err := root.Lstat(fileName(id))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return &record{malformed: fmt.Errorf("it is not a regular file (%v): put the file itself here, or move this away", info.Mode())}, nil
	}
	if !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return &record{malformed: errors.New("its name is not plain text: rename it")}, nil
	}
	info, content, err := readFile(root, fileName(id))
	if err != nil {
		return nil, err
	}
	issue, err := parse(id, content, info.ModTime())
	if errors.Is(err, errNoFrontMatter) && strings.EqualFold(id, "readme") {
		return nil, nil
	}
	return &record{issue: issue, malformed: err}, nil
}

// readFile reads at most one byte more than an issue may have. The file it opens may
// no longer be the one that was listed, so it never waits for the other end of a pipe.
func readFile(root *os.Root, name string) (fs.FileInfo, []byte, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is no longer a regular file", name)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	return info, content, err
}

func readError(name string, err error) error {
	return fmt.Errorf("read %q: %w: %w: check that it exists and may be read", name, tracker.ErrRequest, err)
}

func interruptedError(ctx context.Context) error {
	return fmt.Errorf("read issue files: %w: %w", tracker.ErrRequest, context.Cause(ctx))
}
