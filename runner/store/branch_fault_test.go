package store

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// readyToSave returns a hub whose branch holds a state, and a run that is about to
// save another one.
func readyToSave(t *testing.T) (h hub, b *Branch, s *schedule.State, rev Revision) {
	h = newHub(t)
	h.put(mustEncode(t, sample(), 1))
	b = h.open(t)
	s, rev = mustLoad(t, b)
	if err := b.rejectDefaultBranch(t.Context()); err != nil { // the first save of a run does this
		t.Fatal(err)
	}
	s.Pause = schedule.Pause{}
	h.Asked()
	return h, b, s, rev
}

func TestALostAnswerIsNoLostSaveAndNoSecondOne(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		faults []storetest.Fault
		want   map[storetest.Op]int
	}{
		"it broke after the move":           {[]storetest.Fault{{Lose: true}}, map[storetest.Op]int{storetest.Move: 1, storetest.Ref: 1}},
		"it broke before the move":          {[]storetest.Fault{{Status: 502}}, map[storetest.Op]int{storetest.Move: 2, storetest.Ref: 1}},
		"it broke before, then after":       {[]storetest.Fault{{Status: 503}, {Lose: true}}, map[storetest.Op]int{storetest.Move: 2, storetest.Ref: 2}},
		"it broke before, and before again": {[]storetest.Fault{{Status: 500}, {Status: 504}}, map[storetest.Op]int{storetest.Move: 3, storetest.Ref: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, b, s, rev := readyToSave(t)
			h.Fail(storetest.Move, test.faults...)
			rev = mustSave(t, b, s, rev)
			test.want[storetest.Tree], test.want[storetest.Commit] = 1, 1
			if diff := cmp.Diff(test.want, h.Asked()); diff != "" {
				t.Error(diff)
			}
			if rev != Revision(h.Head(branchName)) || h.Git("rev-list", "--count", branchName) != "2" {
				t.Errorf("saved as %s, the branch is at %s", rev, h.Head(branchName))
			}
		})
	}
}

func TestAnAnswerThatNeverComesIsNoLostSave(t *testing.T) {
	t.Parallel()
	h, b, s, rev := readyToSave(t)
	b.client.Transport.Timeout = time.Second
	h.Fail(storetest.Move, storetest.Fault{Hang: true})
	rev = mustSave(t, b, s, rev)
	if rev != Revision(h.Head(branchName)) || h.Git("rev-list", "--count", branchName) != "2" {
		t.Errorf("saved as %s, the branch is at %s", rev, h.Head(branchName))
	}
}

func TestALostAnswerToTheFirstSaveIsNoLostSave(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	b := h.open(t)
	_, rev := mustLoad(t, b)
	h.Fail(storetest.Create, storetest.Fault{Status: 502}, storetest.Fault{Lose: true})
	if rev = mustSave(t, b, sample(), rev); rev != Revision(h.Head(branchName)) {
		t.Errorf("saved as %s, the branch is at %s", rev, h.Head(branchName))
	}
}

func TestASaveWhoseAnswerIsLostCountsThoughAnotherCameOnTop(t *testing.T) {
	t.Parallel()
	h, b, s, rev := readyToSave(t)
	h.Fail(storetest.Move, storetest.Fault{Lose: true, After: func() { h.put(mustEncode(t, s, 3)) }})
	rev = mustSave(t, b, s, rev)
	s.Days = nil
	if _, err := b.Save(t.Context(), s, rev); !errors.Is(err, ErrConflict) {
		t.Errorf("the next save: got %v", err)
	}
}

func TestASaveThatDidNotLandMeetsAConflict(t *testing.T) {
	t.Parallel()
	h, b, s, rev := readyToSave(t)
	between := mustEncode(t, sampleWithClaims(1), 2)
	h.Fail(storetest.Move, storetest.Fault{Status: 502, Before: func() { h.put(between) }})
	_, err := b.Save(t.Context(), s, rev)
	wantRefused(t, storage{raw: h.raw}, between, err, ErrConflict)
}

func TestASaveThatCannotBeAskedAboutSaysSo(t *testing.T) {
	t.Parallel()
	h, b, s, rev := readyToSave(t)
	h.Fail(storetest.Move, storetest.Fault{Lose: true})
	h.Fail(storetest.Ref, storetest.Fault{Lose: true}, storetest.Fault{Lose: true}, storetest.Fault{Lose: true})
	_, err := b.Save(t.Context(), s, rev)
	if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "not known whether") {
		t.Errorf("got %v", err)
	}
}

func TestAStopDoesNotCutTheMoveShort(t *testing.T) {
	t.Parallel()
	h, b, s, rev := readyToSave(t)
	ctx, cancel := context.WithCancel(t.Context())
	h.Fail(storetest.Move, storetest.Fault{Before: cancel, Lose: true})
	rev, err := b.Save(ctx, s, rev)
	if err != nil || rev != Revision(h.Head(branchName)) {
		t.Errorf("saved as %q, %v", rev, err)
	}
}

func TestAStopBeforeTheMoveSavesNothing(t *testing.T) {
	t.Parallel()
	h, b, s, rev := readyToSave(t)
	stop := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	h.Fail(storetest.Commit, storetest.Fault{Hang: true, Before: func() { cancel(stop) }})
	_, err := b.Save(ctx, s, rev)
	wantRefused(t, storage{raw: h.raw}, mustEncode(t, sample(), 1), err, stop)
}

func TestATransientFailureIsRetriedTwice(t *testing.T) {
	t.Parallel()
	for _, op := range []storetest.Op{storetest.Ref, storetest.Contents, storetest.Tree, storetest.Commit} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			h, _, s, _ := readyToSave(t)
			both := func() error {
				b := h.open(t)
				_, rev, err := b.Load(t.Context())
				if err == nil {
					s.Days[0].Sessions++
					_, err = b.Save(t.Context(), s, rev)
				}
				return err
			}
			h.Fail(op, storetest.Fault{Status: 502}, storetest.Fault{Status: 503})
			if err := both(); err != nil || h.Asked()[op] != 3 {
				t.Errorf("two faults: %v", err)
			}
			before := h.raw(t)
			h.Fail(op, storetest.Fault{Status: 502}, storetest.Fault{Status: 503}, storetest.Fault{Status: 500, Says: "oops"})
			wantRefused(t, storage{raw: h.raw}, before, both(), ErrUnavailable)
			if n := h.Asked()[op]; n != 3 {
				t.Errorf("three faults: asked %d times", n)
			}
		})
	}
}

func TestARefusalSaysWhatToDo(t *testing.T) {
	t.Parallel()
	reset := time.Now().Add(30 * time.Minute).Truncate(time.Second)
	fails := func(op storetest.Op, f storetest.Fault) func(hub) { return func(h hub) { h.Fail(op, f) } }
	for name, test := range map[string]struct {
		op     storetest.Op // the request that fails: in a load if it is Ref, else in a save
		breaks func(hub)
		want   error
		remedy string
	}{
		"a token that may not write": {storetest.Tree, func(h hub) { h.Deny("contents: write") }, ErrRefused, "permissions: {contents: write}"},
		"a token that may not read":  {storetest.Ref, func(h hub) { h.Deny("contents: read") }, ErrRefused, "permissions: {contents: read}"},
		"a token that has expired":   {storetest.Ref, fails(storetest.Ref, storetest.Fault{Status: 401, Says: "Bad credentials"}), ErrRefused, "the token is not valid: set GITHUB_TOKEN to another one"},
		"an archived repository":     {storetest.Tree, func(h hub) { h.Archive(true) }, ErrRefused, "unarchive it"},
		"an empty repository":        {storetest.Ref, fails(storetest.Ref, storetest.Fault{Status: 409, Says: "Git Repository is empty."}), ErrRefused, "push a first commit"},
		"a protected branch":         {storetest.Move, func(h hub) { h.Protect(branchName) }, ErrRefused, "let the token past the rule"},
		"a rule, as it once was":     {storetest.Move, fails(storetest.Move, storetest.Fault{Status: 403, Says: "Protected branch update failed"}), ErrRefused, "let the token past the rule"},
		"a renamed repository":       {storetest.Ref, func(h hub) { h.Rename("octo/other") }, ErrRefused, "renamed or moved: write its new name in GITHUB_REPOSITORY"},
		"a renamed one, in a save":   {storetest.Tree, func(h hub) { h.Rename("octo/other") }, ErrRefused, "renamed or moved: write its new name in GITHUB_REPOSITORY"},
		"what nobody has thought of": {storetest.Commit, fails(storetest.Commit, storetest.Fault{Status: 418, Says: "I'm a teapot"}), ErrRefused, `GitHub says "I'm a teapot"`},
		"an error without words":     {storetest.Commit, fails(storetest.Commit, storetest.Fault{Status: 418, Body: "{}"}), ErrRefused, "state_refused: 418 I'm a teapot: see GitHub's documentation of this status"},
		"an error that is no JSON":   {storetest.Commit, fails(storetest.Commit, storetest.Fault{Status: 418, Body: "<p>"}), ErrRefused, "state_refused: 418 I'm a teapot: see"},
		"the rate limit":             {storetest.Tree, func(h hub) { h.LimitRate(reset) }, ErrUnavailable, "until " + reset.UTC().Format(time.RFC3339)},
		"the secondary rate limit": {storetest.Move, fails(storetest.Move, storetest.Fault{
			Status: 429, Says: "slow down", Header: http.Header{"Retry-After": {"60"}},
		}), ErrUnavailable, "rate limit is used up until"},
		"an answer by no API":       {storetest.Ref, fails(storetest.Ref, storetest.Fault{Body: "<p>Welcome to the login page"}), ErrUnavailable, "see that GITHUB_API_URL is the root of GitHub's REST API"},
		"an answer by another API":  {storetest.Ref, fails(storetest.Ref, storetest.Fault{Status: 200, Says: "Welcome"}), ErrUnavailable, "see that GITHUB_API_URL is the root of GitHub's REST API"},
		"an answer of nothing":      {storetest.Tree, fails(storetest.Tree, storetest.Fault{Body: "null"}), ErrUnavailable, "see that GITHUB_API_URL is the root of GitHub's REST API"},
		"an answer that comes late": {storetest.Commit, fails(storetest.Commit, storetest.Fault{Status: 202, Says: "Accepted"}), ErrUnavailable, "see that GITHUB_API_URL is the root of GitHub's REST API"},
		"words with the token": {storetest.Tree, fails(storetest.Tree, storetest.Fault{
			Status: 400, Says: "cannot parse Bearer " + hubToken,
		}), ErrRefused, "Bearer [secret]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, b, s, rev := readyToSave(t)
			test.breaks(h)
			var err error
			if test.op == storetest.Ref {
				_, _, err = b.Load(t.Context())
			} else {
				_, err = b.Save(t.Context(), s, rev)
			}
			wantRefused(t, storage{raw: h.raw}, mustEncode(t, sample(), 1), err, test.want)
			if !strings.Contains(err.Error(), test.remedy) {
				t.Errorf("the error does not say %q: %v", test.remedy, err)
			}
			if strings.Contains(err.Error(), `""`) {
				t.Errorf("the error quotes nothing: %v", err)
			}
			if strings.Contains(err.Error(), hubToken) || strings.Contains(err.Error(), h.URL()+"/repos") {
				t.Errorf("the error tells the token or an address: %v", err)
			}
			if n := h.Asked()[test.op]; n != 1 {
				t.Errorf("it was asked for %d times", n)
			}
		})
	}
}

// go-github would refuse requests by itself until the limit ends, though only GitHub
// knows when that is.
func TestARateLimitThatIsUsedUpIsGitHubsToTell(t *testing.T) {
	t.Parallel()
	h, b, s, rev := readyToSave(t)
	last := http.Header{"Content-Type": {"application/json"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)}}
	ref := `{"ref":"refs/heads/` + branchName + `","object":{"sha":"` + h.Head(branchName) + `"}}`
	h.Fail(storetest.Ref, storetest.Fault{Body: ref, Header: last})
	h.Fail(storetest.Tree, storetest.Fault{Status: 403, Says: "slow down", Header: http.Header{"Retry-After": {"60"}}})
	if _, _, err := b.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Save(t.Context(), s, rev); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	mustSave(t, b, s, rev)
	want := map[storetest.Op]int{storetest.Ref: 1, storetest.Tree: 2, storetest.Commit: 1, storetest.Move: 1}
	if diff := cmp.Diff(want, h.Asked()); diff != "" {
		t.Error(diff)
	}
}

func TestARepositoryThatIsNotThereIsNoEmptyState(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.Hide(true)
	_, _, err := h.open(t).Load(t.Context())
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "the repository "+hubRepo+" is unknown or the token cannot see it: check GITHUB_REPOSITORY") {
		t.Errorf("got %v", err)
	}
}

func TestAHostThatDoesNotAnswerIsUnavailable(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	b := h.open(t)
	h.Close()
	_, _, err := b.Load(t.Context())
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "can be reached") || strings.Contains(err.Error(), hubToken) {
		t.Errorf("got %v", err)
	}
}

// endless is a transport whose answers never end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func (e endless) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(e), Request: req}, nil
}

func TestAnAnswerWithoutEndIsCutOff(t *testing.T) {
	t.Parallel()
	b, err := OpenBranch(BranchConfig{Repo: hubRepo, Branch: branchName, Token: hubToken}, &http.Client{Transport: endless{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Load(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a ref: got %v", err)
	}
	if data, err := b.readState(t.Context(), "0"); !errors.Is(err, ErrUnreadable) || data != nil {
		t.Errorf("a state: %d bytes, %v", len(data), err)
	}
}
