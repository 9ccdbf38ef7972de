package store

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// saving is a hub whose branch holds a state, and a run that is about to save
// another one.
func saving(t *testing.T) (h *hub, b *Branch, s *schedule.State, rev Revision) {
	h = newHub(t)
	h.put(t, mustEncode(t, sample(), 1))
	b = h.open(t)
	s, rev = mustLoad(t, b)
	s.Pause = schedule.Pause{}
	h.asked()
	return h, b, s, rev
}

func TestALostAnswerIsNoLostSaveAndNoSecondOne(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		faults []fault
		want   map[string]int
	}{
		"it broke after the move":           {[]fault{{lose: true}}, map[string]int{"move": 1, "ref": 1}},
		"it broke before the move":          {[]fault{{status: 502}}, map[string]int{"move": 2, "ref": 1}},
		"it broke before, then after":       {[]fault{{status: 503}, {lose: true}}, map[string]int{"move": 2, "ref": 2}},
		"it broke before, and before again": {[]fault{{status: 500}, {status: 504}}, map[string]int{"move": 3, "ref": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, b, s, rev := saving(t)
			h.fail("move", test.faults...)
			rev = mustSave(t, b, s, rev)
			test.want["tree"], test.want["commit"] = 1, 1
			if diff := cmp.Diff(test.want, h.asked()); diff != "" {
				t.Error(diff)
			}
			if rev != Revision(h.head(branchName)) || h.must(t, "rev-list", "--count", branchName) != "2" {
				t.Errorf("saved as %s, the branch is at %s", rev, h.head(branchName))
			}
		})
	}
}

func TestAnAnswerThatNeverComesIsNoLostSave(t *testing.T) {
	t.Parallel()
	h, b, s, rev := saving(t)
	b.api.timeout = time.Second
	h.fail("move", fault{hang: true})
	rev = mustSave(t, b, s, rev)
	if rev != Revision(h.head(branchName)) || h.must(t, "rev-list", "--count", branchName) != "2" {
		t.Errorf("saved as %s, the branch is at %s", rev, h.head(branchName))
	}
}

func TestALostAnswerToTheFirstSaveIsNoLostSave(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	b := h.open(t)
	_, rev := mustLoad(t, b)
	h.fail("create", fault{status: 502}, fault{lose: true})
	if rev = mustSave(t, b, sample(), rev); rev != Revision(h.head(branchName)) {
		t.Errorf("saved as %s, the branch is at %s", rev, h.head(branchName))
	}
}

func TestASaveWhoseAnswerIsLostCountsThoughAnotherCameOnTop(t *testing.T) {
	t.Parallel()
	h, b, s, rev := saving(t)
	h.fail("move", fault{lose: true, after: func() { h.put(t, mustEncode(t, s, 3)) }})
	rev = mustSave(t, b, s, rev)
	s.Days = nil
	if _, err := b.Save(t.Context(), s, rev); !errors.Is(err, ErrConflict) {
		t.Errorf("the next save: got %v", err)
	}
}

func TestASaveWhoseMoveNeverHappenedMeetsWhoCameFirst(t *testing.T) {
	t.Parallel()
	h, b, s, rev := saving(t)
	between := mustEncode(t, many(1), 2)
	h.fail("move", fault{status: 502, before: func() { h.put(t, between) }})
	_, err := b.Save(t.Context(), s, rev)
	refused(t, place{raw: h.raw}, between, err, ErrConflict)
}

func TestASaveThatCannotBeAskedAboutSaysSo(t *testing.T) {
	t.Parallel()
	h, b, s, rev := saving(t)
	h.fail("move", fault{lose: true})
	h.fail("ref", fault{lose: true}, fault{lose: true}, fault{lose: true})
	_, err := b.Save(t.Context(), s, rev)
	if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "not known whether") {
		t.Errorf("got %v", err)
	}
}

func TestAStopDoesNotCutTheMoveShort(t *testing.T) {
	t.Parallel()
	h, b, s, rev := saving(t)
	ctx, cancel := context.WithCancel(t.Context())
	h.fail("move", fault{before: cancel, lose: true})
	rev, err := b.Save(ctx, s, rev)
	if err != nil || rev != Revision(h.head(branchName)) {
		t.Errorf("saved as %q, %v", rev, err)
	}
}

func TestAStopBeforeTheMoveSavesNothing(t *testing.T) {
	t.Parallel()
	h, b, s, rev := saving(t)
	stop := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	h.fail("commit", fault{hang: true, before: func() { cancel(stop) }})
	_, err := b.Save(ctx, s, rev)
	refused(t, place{raw: h.raw}, mustEncode(t, sample(), 1), err, stop)
}

func TestWhatPassesIsTriedAgainTwice(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"ref", "contents", "tree", "commit"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			h, b, s, _ := saving(t)
			both := func() error {
				_, rev, err := b.Load(t.Context())
				if err == nil {
					s.Days[0].Sessions++
					_, err = b.Save(t.Context(), s, rev)
				}
				return err
			}
			h.fail(op, fault{status: 502}, fault{status: 503})
			if err := both(); err != nil || h.asked()[op] != 3 {
				t.Errorf("two faults: %v", err)
			}
			before := h.raw(t)
			h.fail(op, fault{status: 502}, fault{status: 503}, fault{status: 500, says: "oops"})
			refused(t, place{raw: h.raw}, before, both(), ErrUnavailable)
			if n := h.asked()[op]; n != 3 {
				t.Errorf("three faults: asked %d times", n)
			}
		})
	}
}

func TestARefusalSaysWhatToMend(t *testing.T) {
	t.Parallel()
	reset := time.Now().Add(30 * time.Minute).Truncate(time.Second)
	for name, test := range map[string]struct {
		op       string // of a save, or "ref" for a load
		fault    fault
		archived bool
		want     error
		mend     string
	}{
		"a token that may not write": {"tree", fault{status: 403, says: "Resource not accessible by integration"}, false, ErrRefused, "permissions: {contents: write}"},
		"a token that may not read":  {"ref", fault{status: 403, says: "Resource not accessible by integration"}, false, ErrRefused, "permissions: {contents: read}"},
		"a token that has expired":   {"ref", fault{status: 401, says: "Bad credentials"}, false, ErrRefused, "give another one"},
		"an archived repository":     {"tree", fault{status: 403, says: "Repository was archived so is read-only."}, true, ErrRefused, "unarchive it"},
		"an empty repository":        {"ref", fault{status: 409, says: "Git Repository is empty."}, false, ErrRefused, "push a first commit"},
		"a protected branch":         {"move", fault{status: 422, says: "Protected branch update failed"}, false, ErrRefused, "let the token past the rule"},
		"a rule":                     {"move", fault{status: 403, says: "Repository rule violations found"}, false, ErrRefused, "let the token past the rule"},
		"a renamed repository":       {"ref", fault{status: 301, says: "Moved Permanently"}, false, ErrRefused, "give the name it has now"},
		"what nobody has thought of": {"commit", fault{status: 418, says: "I'm a teapot"}, false, ErrRefused, `GitHub says "I'm a teapot"`},
		"the rate limit": {"move", fault{status: 403, says: "API rate limit exceeded", header: http.Header{
			"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {strconv.FormatInt(reset.Unix(), 10)},
		}}, false, ErrUnavailable, "until " + reset.UTC().Format(time.RFC3339)},
		"the secondary rate limit": {"tree", fault{status: 429, says: "slow down", header: http.Header{"Retry-After": {"60"}}}, false, ErrUnavailable, "rate limit is used up until"},
		"an answer by no API":      {"ref", fault{status: 200, says: "Welcome to the login page"}, false, ErrUnavailable, "is right"},
		"words with the token":     {"tree", fault{status: 400, says: "cannot parse Bearer " + hubToken}, false, ErrRefused, "Bearer ***"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, b, s, rev := saving(t)
			h.archived = test.archived
			h.fail(test.op, test.fault)
			var err error
			if test.op == "ref" {
				_, _, err = b.Load(t.Context())
			} else {
				_, err = b.Save(t.Context(), s, rev)
			}
			refused(t, place{raw: h.raw}, mustEncode(t, sample(), 1), err, test.want)
			if !strings.Contains(err.Error(), test.mend) {
				t.Errorf("the error does not say %q: %v", test.mend, err)
			}
			if strings.Contains(err.Error(), hubToken) {
				t.Errorf("the error tells the token: %v", err)
			}
			if n := h.asked()[test.op]; n != 1 {
				t.Errorf("it was asked for %d times", n)
			}
		})
	}
}

func TestARepositoryThatIsNotThereIsNoEmptyState(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.isolated = true
	_, _, err := h.open(t).Load(t.Context())
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "see that the repository "+hubRepo+" exists, and give a token that may see it") {
		t.Errorf("got %v", err)
	}
}

func TestAHostThatDoesNotAnswerIsUnavailable(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	b := h.open(t)
	h.Server.Close()
	_, _, err := b.Load(t.Context())
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "can be reached") || strings.Contains(err.Error(), hubToken) {
		t.Errorf("got %v", err)
	}
}
