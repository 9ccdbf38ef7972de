package github

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gh "github.com/google/go-github/v62/github"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/tracker"
)

func TestAnOpenBlockerKeepsAnIssueFromBeingStarted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(nil)
	f.put(func(i *fakeIssue) { i.State = stateClosed })
	f.put(func(i *fakeIssue) { i.BlockedBy = []int{1, 2} })
	r := f.open()
	got := f.read(r, "3")[0]
	want := []tracker.Blocker{{ID: "1", Identifier: "GH-1", State: "open"}, {ID: "2", Identifier: "GH-2", State: "closed"}}
	if diff := cmp.Diff(want, got.BlockedBy); diff != "" {
		t.Error(diff)
	}
	if got.Dispatchable || got.WhyNot != "GH-1 blocks it" {
		t.Errorf("dispatchable %t, why %q", got.Dispatchable, got.WhyNot)
	}
	// Only the blocker changes.
	f.Change(1, func(i *fakeIssue) { i.State = stateClosed })
	if got := f.read(r, "3")[0]; !got.Dispatchable || got.BlockedBy[0].State != "closed" {
		t.Errorf("dispatchable %t, why %q, blocked by %v", got.Dispatchable, got.WhyNot, got.BlockedBy)
	}
}

func TestABlockedIssueCostsNothingWhileNothingChanges(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(nil)
	f.put(func(i *fakeIssue) { i.BlockedBy = []int{1} })
	r := f.open()
	f.list(r, "open")
	f.asked()
	f.list(r, "open")
	wantRequests(t, f, listPath+" 304")
}

func TestABlockerThatCannotBeReadStillBlocks(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(nil)
	f.put(func(i *fakeIssue) { i.BlockedBy = []int{1} })
	f.SetQuirks(githubtest.Quirks{NoDependencies: true})
	if got := f.read(f.open(), "2")[0]; got.Dispatchable || !strings.Contains(got.WhyNot, "cannot see") {
		t.Errorf("dispatchable %t, why %q", got.Dispatchable, got.WhyNot)
	}
}

func TestAServerWithoutDependenciesIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.SetQuirks(githubtest.Quirks{NoSummary: true, NoDependencies: true})
	f.put(nil)
	r := f.open()
	for range 3 {
		if got := f.list(r, "open")[0]; !got.Dispatchable {
			t.Errorf("why %q", got.WhyNot)
		}
	}
	if got := strings.Count(f.log.String(), "no issue dependencies"); got != 1 {
		t.Errorf("%d warnings, want 1", got)
	}
}

func TestAnIssueThatGoesMeanwhileIsNoServerWithoutDependencies(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.SetQuirks(githubtest.Quirks{NoSummary: true})
	f.put(nil)
	f.put(func(i *fakeIssue) { i.BlockedBy = []int{1} })
	r := f.open()
	f.setFault(func(w http.ResponseWriter, q *http.Request) bool {
		if strings.HasSuffix(q.URL.Path, "/1/dependencies/blocked_by") {
			f.Change(1, func(i *fakeIssue) { i.Gone = http.StatusGone })
			w.WriteHeader(http.StatusNotFound)
			return true
		}
		return false
	})
	f.list(r, "open")
	if got := f.read(r, "2")[0]; got.Dispatchable {
		t.Error("its blocker was forgotten")
	}
}

func TestWithoutACountInTheRecordTheBlockersAreAskedForByETag(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.SetQuirks(githubtest.Quirks{NoSummary: true})
	f.put(nil)
	f.put(func(i *fakeIssue) { i.BlockedBy = []int{1} })
	r := f.open()
	f.read(r, "2")
	f.asked()
	if got := f.read(r, "2")[0]; got.Dispatchable {
		t.Error("it is dispatchable")
	}
	wantRequests(t, f, "GET /repos/acme/shop/issues/2 304", "GET /repos/acme/shop/issues/2/dependencies/blocked_by?per_page=100 304")
}

func TestABlockerThatCannotBeReadHoldsUpItsIssueAlone(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.SetQuirks(githubtest.Quirks{NoSummary: true}) // nothing but the list of blockers says that there is one
	f.put(func(i *fakeIssue) { i.Corrupt = true })
	f.put(func(i *fakeIssue) { i.BlockedBy = []int{1} })
	f.put(nil)
	got := f.list(f.open(), "open")
	if len(got) != 2 || got[0].Dispatchable || !strings.Contains(got[0].WhyNot, "GH-1") || !got[1].Dispatchable {
		t.Errorf("got %+v, want GH-2 held up by what cannot be read of GH-1, and GH-3 free", got)
	}
}

func TestABlockerElsewhereIsNamedInFull(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open()
	got := r.toBlocker(&record{Issue: gh.Issue{Number: gh.Int(7), State: gh.String(stateOpen), RepositoryURL: gh.String("https://api.github.com/repos/other/place")}})
	if diff := cmp.Diff(tracker.Blocker{Identifier: "other/place#7", State: "open"}, got); diff != "" {
		t.Error(diff)
	}
}
