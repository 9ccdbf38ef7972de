package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/bounds"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// The files of a state branch.
const (
	stateFile = "state.json"
	pageFile  = "README.md"
)

// noBranch is the revision of a branch that does not exist yet.
const noBranch Revision = "none"

// BranchConfig holds the settings of a state branch.
type BranchConfig struct {
	Repo   string // owner/name
	Branch string // used for the state and nothing else
	APIURL string // root of the REST API; empty for github.com's
	Token  string // needs the permission contents: write

	// Page returns the README.md of the branch; nil for none.
	Page func(s *schedule.State, now time.Time) string
}

// Branch is a state on a branch of a GitHub repository, which any number of runs
// can share. One goroutine uses a Branch.
type Branch struct {
	client *client.Client
	name   string
	page   func(*schedule.State, time.Time) string // nil for no page

	rev        Revision // the commit that was loaded or saved last, or noBranch; empty before the first Load
	head       string   // that commit; empty if there was no branch
	headRecord record   // the state in it

	defaultBranch string // default branch of the repository; empty until GitHub was asked
}

// OpenBranch returns the state on a branch. It checks the names and the address,
// and sends no request. It fails with [ErrRefused].
func OpenBranch(cfg BranchConfig, base *http.Client) (*Branch, error) {
	if err := validateBranchName(cfg.Branch); err != nil {
		return nil, fmt.Errorf("open state branch: %w", err)
	}
	c, err := client.New(client.Config{Repo: cfg.Repo, APIURL: cfg.APIURL, Token: cfg.Token}, base.Transport)
	if err != nil {
		return nil, fmt.Errorf("open state branch: %w: %w", ErrRefused, err)
	}
	c.Transport.MaxAnswer = maxBytes
	return &Branch{client: c, name: cfg.Branch, page: cfg.Page}, nil
}

// Load reads the state and its revision, over which this Branch can then save.
// The state of a missing branch is empty. Load fails with [ErrUnreadable] for a
// damaged state and for a branch that is gone or older than at the last Load, with
// [ErrRefused] for a branch without a state, and with [ErrNewer] and
// [ErrUnavailable].
func (b *Branch) Load(ctx context.Context) (*schedule.State, Revision, error) {
	s, err := b.load(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("load state from %s: %w", b, err)
	}
	return s, b.rev, nil
}

func (b *Branch) load(ctx context.Context) (*schedule.State, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	head, err := b.readHead(ctx)
	if err != nil {
		return nil, err
	}
	if head != "" && head == b.head {
		return b.headRecord.toState(), nil // a commit never changes
	}
	var data []byte
	if head == "" {
		data, err = b.emptyState(ctx)
	} else {
		data, err = b.readState(ctx, head)
	}
	if err != nil {
		return nil, err
	}
	s, generation, err := Decode(data)
	if err != nil {
		return nil, err
	}
	r := newRecord(s, generation)
	if b.head != "" && !reflect.DeepEqual(r, b.headRecord) { // it is the same when the history was shortened
		if err := follows(generation, b.headRecord.Generation); err != nil {
			return nil, err
		}
	}
	b.setHead(head, r)
	return s, nil
}

// setHead records the commit that the branch points to and the state in it.
func (b *Branch) setHead(head string, r record) {
	b.rev, b.head, b.headRecord = Revision(head), head, r
	if head == "" {
		b.rev = noBranch
	}
}

func (b *Branch) String() string { return "branch " + b.name + " of " + b.client.Repo() }

// ref returns the full name of the branch's ref.
func (b *Branch) ref() string { return "refs/heads/" + b.name }

// readHead returns the commit that the branch points to, "" if there is no branch.
func (b *Branch) readHead(ctx context.Context) (string, error) {
	head, err := b.client.Git.Ref(ctx, b.ref())
	if client.HasStatus(err, http.StatusNotFound) {
		return "", nil
	}
	return head, failed("read the branch", err)
}

func (b *Branch) readState(ctx context.Context, commit string) ([]byte, error) {
	data, err := b.client.Git.File(ctx, stateFile, commit)
	if client.HasStatus(err, http.StatusNotFound) {
		return nil, fmt.Errorf("%w: the branch holds no %s, so it is not a state branch: nothing was changed: give the name of another branch, or of none",
			ErrRefused, stateFile)
	}
	if e, ok := errors.AsType[*transport.Error](err); ok && e.Kind == transport.Unreadable { // raw content is only ever too large
		return nil, unreadable("%s", e.Reason)
	}
	return data, failed("read "+stateFile, err)
}

// emptyState returns the encoded state of a branch that does not exist. GitHub
// gives the same answer for a missing branch and a missing repository, so
// emptyState also checks the repository.
func (b *Branch) emptyState(ctx context.Context) ([]byte, error) {
	if b.head != "" {
		return nil, vanished("the branch")
	}
	if err := b.rejectDefaultBranch(ctx); err != nil {
		return nil, err
	}
	return Encode(schedule.New(schedule.Owner{}), 0)
}

// rejectDefaultBranch returns an error if the branch is the repository's default one, whatever
// it holds. It asks GitHub once, before the first write.
func (b *Branch) rejectDefaultBranch(ctx context.Context) error {
	if b.defaultBranch == "" {
		repo, err := b.readRepository(ctx)
		if err != nil {
			return err
		}
		b.defaultBranch = repo.GetDefaultBranch()
	}
	if b.defaultBranch == b.name {
		return fmt.Errorf("%w: nothing was changed: the default branch is for the code: give the name of another one", ErrRefused)
	}
	return nil
}

// readRepository reads the repository's settings, with its default branch. It
// refuses servers that only resemble GitHub.
func (b *Branch) readRepository(ctx context.Context) (*client.Repository, error) {
	const op = "read the repository"
	r, err := b.client.Repository(ctx)
	if err == nil && r.GetNodeID() == "" && r.GetDefaultBranch() != "" { // Gitea and Forgejo answer so
		return nil, fmt.Errorf("%s: %w: the server does not know GitHub's git API: use `state: cache` (--state cache:PATH)", op, ErrRefused)
	}
	if err == nil && r.GetDefaultBranch() == "" {
		err = b.client.Incomplete()
	}
	return r, failed(op, err)
}

// maxBranchName is the length limit of a branch's name in bytes, GitHub's own.
const maxBranchName = 244

// validateBranchName returns an error if no branch can have this name, by git's
// rules (git-check-ref-format) and by GitHub's, which forbids names that look like
// something else.
func validateBranchName(name string) error {
	problem := ""
	switch {
	case name == "" || len(name) > maxBranchName:
		problem = fmt.Sprintf("it has %d bytes; 1 to %d are allowed", len(name), maxBranchName)
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }):
		problem = `it has a space, a control character or one of ~^:?*[\`
	case bounds.Line(name, maxBranchName) != name:
		problem = "it is not plain text"
	case strings.Contains(name, "..") || strings.Contains(name, "@{"):
		problem = `it has ".." or "@{"`
	case name == "@" || name == "HEAD" || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "refs/"):
		problem = "it reads as something other than a branch"
	case client.IsObject(name):
		problem = "it reads as the name of a commit"
	case strings.HasSuffix(name, "."):
		problem = "it ends in a dot"
	}
	for part := range strings.SplitSeq(name, "/") {
		if problem == "" && (part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock")) {
			problem = "a part of it is empty, begins with a dot or ends in .lock"
		}
	}
	if problem != "" {
		return fmt.Errorf("%w: no branch can be named %.100q: %s: give another name, such as symphony-state", ErrRefused, name, problem)
	}
	return nil
}
