package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store/storetest"
)

// aged is a hub whose branch is one save short of a new beginning.
func aged(t *testing.T) (h hub, b *Branch, s *schedule.State, rev Revision) {
	h, b, s, rev = saving(t)
	b.history = 5
	for range 3 {
		s.Pause.Since = s.Pause.Since.Add(time.Hour)
		rev = mustSave(t, b, s, rev)
	}
	s.Pause.Why = "the fifth"
	return h, b, s, rev
}

func TestHistoryBeginsAnewAtItsBound(t *testing.T) {
	t.Parallel()
	h, b, s, rev := aged(t)
	for want := 1; want <= 7; want++ { // the fifth generation is a first commit, and the tenth
		rev = mustSave(t, b, s, rev)
		if got := h.Git("rev-list", "--count", branchName); got != string(rune('0'+(want-1)%5+1)) {
			t.Errorf("%s commits after the save %d", got, want)
		}
		got, _ := mustLoad(t, h.open(t))
		if diff := cmp.Diff(s, got); diff != "" {
			t.Error(diff)
		}
		s.Pause.Since = s.Pause.Since.Add(time.Hour)
	}
}

func TestANewBeginningOverwritesNobody(t *testing.T) {
	t.Parallel()
	h, b, s, rev := aged(t)
	between := mustEncode(t, many(3), 5)
	h.Fail(storetest.GraphQL, storetest.Fault{Before: func() { h.put(between) }})
	_, err := b.Save(t.Context(), s, rev)
	refused(t, place{raw: h.raw}, between, err, ErrConflict)
	if got := h.Git("rev-list", "--count", branchName); got != "5" {
		t.Errorf("%s commits are left", got)
	}
}

func TestWhoLoadedBeforeANewBeginningMeetsAConflict(t *testing.T) {
	t.Parallel()
	h, b, s, rev := aged(t)
	late := h.open(t)
	old, oldRev := mustLoad(t, late)
	mustSave(t, b, s, rev)
	want := h.raw(t)
	old.Days = nil
	_, err := late.Save(t.Context(), old, oldRev)
	refused(t, place{raw: h.raw}, want, err, ErrConflict)
}

func TestALostAnswerToANewBeginningIsNoLostSave(t *testing.T) {
	t.Parallel()
	h, b, s, rev := aged(t)
	h.Fail(storetest.GraphQL, storetest.Fault{Status: 502}, storetest.Fault{Lose: true})
	rev = mustSave(t, b, s, rev)
	if rev != Revision(h.Head(branchName)) || h.Git("rev-list", "--count", branchName) != "1" {
		t.Errorf("saved as %s, the branch is at %s", rev, h.Head(branchName))
	}
}

func TestHistoryGoesOnWhereItMayNotBeginAnew(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]storetest.Fault{
		"a rule against force": {Errors: "Cannot force-push to this branch"},
		"no such API":          {Status: 404, Says: "Not Found"},
		"no permission":        {Status: 403, Says: "Resource not accessible by integration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, b, s, rev := aged(t)
			h.Fail(storetest.GraphQL, f)
			mustSave(t, b, s, rev)
			if got := h.Git("rev-list", "--count", branchName); got != "5" {
				t.Errorf("%s commits", got)
			}
		})
	}
}
