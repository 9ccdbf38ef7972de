package store

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// The files of a state branch.
const (
	stateFile = "state.json"
	pageFile  = "README.md"
)

// noBranch is the revision of a branch that does not exist yet.
const noBranch Revision = "none"

// BranchConfig says where a state branch is, and what people find there.
type BranchConfig struct {
	Repo   string // owner/name
	Branch string // never one that holds anything else
	APIURL string // the root of the REST API; empty for github.com's
	Token  string // may write contents

	// Page is the README.md of the branch; nil for none.
	Page func(s *schedule.State, now time.Time) string
	// Message is the commit message for a change; nil for the plan in words.
	Message func(old, new *schedule.State) string
}

// Branch is a state on a branch of a GitHub repository, for any number of runs
// at once. Each Branch is for one goroutine.
type Branch struct {
	api     *api
	name    string
	page    func(*schedule.State, time.Time) string
	message func(old, new *schedule.State) string

	rev  Revision // what was loaded or saved last: the commit's name; empty before
	head string   // the same, empty when there is no branch
	kept record   // what it holds

	defaultBranch string // of the repository; empty until GitHub was asked
}

// OpenBranch checks the names and the address; it asks nothing of GitHub. It
// fails with [ErrRefused].
func OpenBranch(cfg BranchConfig, client *http.Client) (*Branch, error) {
	if err := checkBranch(cfg.Branch); err != nil {
		return nil, fmt.Errorf("open state branch: %w", err)
	}
	api, err := newAPI(cfg.Repo, cfg.APIURL, cfg.Token, client)
	if err != nil {
		return nil, fmt.Errorf("open state branch: %w", err)
	}
	b := &Branch{api: api, name: cfg.Branch, page: cfg.Page, message: cfg.Message}
	if b.message == nil {
		b.message = describe
	}
	return b, nil
}

// Load reads the state and its revision, which is good for a Save of this
// Branch. A missing branch is an empty state; one that was there before is an
// [ErrUnreadable]; one that holds no state an [ErrRefused]. It also fails with
// [ErrNewer], [ErrRefused] and [ErrUnavailable].
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
		return b.kept.state(), nil // a commit does not change
	}
	var data []byte
	if head == "" {
		data, err = b.begin(ctx)
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
	b.know(head, newRecord(s, generation))
	return s, nil
}

// know remembers what the branch holds.
func (b *Branch) know(head string, kept record) {
	b.rev, b.head, b.kept = Revision(head), head, kept
	if head == "" {
		b.rev = noBranch
	}
}

func (b *Branch) String() string { return "branch " + b.name + " of " + b.api.wire.repo }

// ref is the branch's whole name.
func (b *Branch) ref() string { return "refs/heads/" + b.name }

// readHead is the commit that the branch is at, empty when there is no branch.
func (b *Branch) readHead(ctx context.Context) (string, error) {
	ref, _, err := b.api.getRef(ctx, b.api.owner, b.api.name, b.ref())
	if isRefusal(err, http.StatusNotFound) {
		return "", nil
	}
	if err == nil && ref.GetRef() != b.ref() {
		err = errShape
	}
	return b.api.object(ctx, "read the branch", ref.GetObject().GetSHA(), err)
}

// readState is the state file of a commit. The library's own call for a file
// asks for it as JSON, in which GitHub leaves out files of more than 1 MiB.
func (b *Branch) readState(ctx context.Context, commit string) ([]byte, error) {
	const op = "read " + stateFile
	req, err := b.api.newRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/contents/%s?ref=%s", b.api.owner, b.api.name, stateFile, commit), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w: report this as a defect", op, ErrRefused, err)
	}
	req.Header.Set("Accept", "application/vnd.github.raw+json")
	var data bytes.Buffer
	_, err = b.api.do(ctx, req, &data)
	if isRefusal(err, http.StatusNotFound) {
		return nil, fmt.Errorf("%w: the branch holds no %s, so it is not a state branch: nothing was changed: give the name of another branch, or of none",
			ErrRefused, stateFile)
	}
	return data.Bytes(), b.api.explain(ctx, op, err)
}

// begin is the state of a branch that does not exist. GitHub gives the same
// answer for a branch and for a repository that is not there, so it is asked
// for the repository.
func (b *Branch) begin(ctx context.Context) ([]byte, error) {
	if b.head != "" {
		return nil, fmt.Errorf("%w: the branch is gone: it was deleted or renamed under this run: restore it, or run again to begin with no claims", ErrUnreadable)
	}
	if err := b.mayBeOurs(ctx); err != nil {
		return nil, err
	}
	return Encode(schedule.New(schedule.Owner{}), 0)
}

// mayBeOurs refuses the default branch, whatever it holds. GitHub is asked once,
// before the first write.
func (b *Branch) mayBeOurs(ctx context.Context) error {
	if b.defaultBranch == "" {
		repo, err := b.api.repository(ctx)
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
