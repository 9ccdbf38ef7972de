package store

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// The files of a state branch.
const (
	stateFile = "state.json"
	pageFile  = "README.md"
)

// maxHistory is how many commits a state branch has before its history begins anew.
const maxHistory = 500

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
	history int64 // see maxHistory

	rev  Revision // what was loaded or saved last: the commit's name; empty before
	head string   // the same, empty when there is no branch
	kept record   // what it holds
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
	b := &Branch{api: api, name: cfg.Branch, page: cfg.Page, message: cfg.Message, history: maxHistory}
	if b.message == nil {
		b.message = describe
	}
	return b, nil
}

// Load reads the state and its revision, which is good for a Save of this
// Branch. A missing branch is an empty state; one that was there before is an
// [ErrUnreadable], as is a branch that holds no state. It also fails with
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

func (b *Branch) String() string { return "branch " + b.name + " of " + b.api.repo }

// ref is the branch as a URL names it.
func (b *Branch) ref() string {
	u := url.URL{Path: "heads/" + b.name}
	return u.EscapedPath()
}

// readHead is the commit that the branch is at, empty when there is no branch.
func (b *Branch) readHead(ctx context.Context) (string, error) {
	const op = "read the branch"
	var ref struct {
		Ref    string
		Object struct{ SHA string }
	}
	err := b.api.decode(ctx, request{op: op, method: http.MethodGet, url: b.api.rest + "/git/ref/" + b.ref(), need: contentsRead}, &ref)
	switch {
	case isRefusal(err, http.StatusNotFound):
		return "", nil
	case err != nil:
		return "", err
	case ref.Ref != "refs/heads/"+b.name || !objectName.MatchString(ref.Object.SHA):
		return "", fmt.Errorf("%s: %w: this is not what GitHub answers: see that %s is right", op, errUnanswered, b.api.rest)
	}
	return ref.Object.SHA, nil
}

// readState is the state file of a commit.
func (b *Branch) readState(ctx context.Context, commit string) ([]byte, error) {
	data, err := b.api.do(ctx, request{
		op: "read " + stateFile, method: http.MethodGet, raw: true, need: contentsRead,
		url: b.api.rest + "/contents/" + stateFile + "?ref=" + commit,
	})
	if isRefusal(err, http.StatusNotFound) {
		return nil, fmt.Errorf("%w: the branch holds no %s, so it is not a state branch: nothing was changed: give the name of another branch, or of none",
			ErrUnreadable, stateFile)
	}
	return data, err
}

// begin is the state of a branch that does not exist. GitHub gives the same
// answer for a branch and for a repository that is not there, so it is asked
// for the repository.
func (b *Branch) begin(ctx context.Context) ([]byte, error) {
	if b.head != "" {
		return nil, fmt.Errorf("%w: the branch is gone: it was deleted or renamed under this run: restore it, or run again to begin with no claims", ErrUnreadable)
	}
	if _, err := b.repository(ctx); err != nil {
		return nil, err
	}
	return Encode(schedule.New(schedule.Owner{}), 0)
}

type repository struct {
	NodeID        string `json:"node_id"`
	DefaultBranch string `json:"default_branch"`
	Archived      bool
}

func (b *Branch) repository(ctx context.Context) (repository, error) {
	var r repository
	err := b.api.decode(ctx, request{op: "read the repository", method: http.MethodGet, url: b.api.rest, need: contentsRead}, &r)
	if err == nil && r.DefaultBranch == b.name {
		return r, &refusal{"read the repository", http.StatusOK, b.api.quote("default_branch: " + r.DefaultBranch), "the default branch is for the code: give the name of another one"}
	}
	return r, err
}
