package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// aged is a hub whose branch is one save short of a new beginning.
func aged(t *testing.T) (h *hub, b *Branch, s *schedule.State, rev Revision) {
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
		if got := h.must(t, "rev-list", "--count", branchName); got != string(rune('0'+(want-1)%5+1)) {
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
	h.fail("graphql", fault{before: func() { h.put(t, between) }})
	_, err := b.Save(t.Context(), s, rev)
	refused(t, place{raw: h.raw}, between, err, ErrConflict)
	if got := h.must(t, "rev-list", "--count", branchName); got != "5" {
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
	h.fail("graphql", fault{status: 502}, fault{lose: true})
	rev = mustSave(t, b, s, rev)
	if rev != Revision(h.head(branchName)) || h.must(t, "rev-list", "--count", branchName) != "1" {
		t.Errorf("saved as %s, the branch is at %s", rev, h.head(branchName))
	}
}

func TestHistoryGoesOnWhereItMayNotBeginAnew(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fault{
		"a rule against force": {errors: "Cannot force-push to this branch"},
		"no such API":          {status: 404, says: "Not Found"},
		"no permission":        {status: 403, says: "Resource not accessible by integration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, b, s, rev := aged(t)
			h.fail("graphql", f)
			mustSave(t, b, s, rev)
			if got := h.must(t, "rev-list", "--count", branchName); got != "5" {
				t.Errorf("%s commits", got)
			}
		})
	}
}

func TestTheDefaultBranchKeepsItsHistory(t *testing.T) {
	t.Parallel()
	h, b, s, rev := aged(t)
	h.trunk = branchName
	mustSave(t, b, s, rev)
	if got := h.must(t, "rev-list", "--count", branchName); got != "5" {
		t.Errorf("%s commits", got)
	}
}
