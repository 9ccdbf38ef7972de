package publish

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// halfPublished publishes work without opening its pull request, as a run does that is
// killed in between. It returns the work as the next session knows it if that has nothing
// new.
func (f *fixture) halfPublished(agent func(string)) Work {
	f.t.Helper()
	if f.GitHub != nil {
		f.refuse("POST /pulls", http.StatusForbidden, 1, `{"message":"GitHub Actions is not permitted to create or approve pull requests."}`)
	}
	ctx, killed := f.killAt(f.session(agent), 1)
	if _, err := f.Publish(ctx, killed, now); !errors.Is(err, context.Canceled) {
		f.t.Fatalf("got %v", err)
	}
	return f.idle(f.saved[0])
}

// idle returns what a session that makes nothing new knows of the issue.
func (f *fixture) idle(last Record) Work {
	f.t.Helper()
	fetched, err := f.store.Fetch(f.t.Context(), git.Source{Prefix: "symphony/"})
	f.check(err)
	w := Work{Issue: "GH-7", Store: f.store, Base: fetched.Base, Default: "GH-7: A cart", Closing: "Fixes #7", Last: last, Save: f.save}
	w.Branch, w.RemoteHead = Locate(f.branch, last, fetched)
	return w
}

func TestWorkThatIsHalfPublishedIsSettled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.halfPublished(f.adds("go.mod", "module a\n"))
	if f.took(); len(f.github.Pulls()) > 0 {
		t.Fatal("there is a pull request already")
	}
	f.saved = nil
	r, err := f.Settle(t.Context(), w, now)
	f.check(err)
	if len(f.saved) != 1 || f.saved[0] != r.Record {
		t.Errorf("saved %+v", f.saved)
	}
	if r.State != PullOpened || r.Record.Number != 1 || r.Record.Head != w.RemoteHead || !r.Record.Pushing.IsZero() || r.Record.At.IsZero() || r.Pushed {
		t.Errorf("got %+v", r)
	}
	pull := f.github.Pulls()[0]
	if pull.Title != "Add a cart" || pull.Draft || strings.Count(pull.Body, "Fixes #7") != 1 || !strings.Contains(pull.Body, "It has wheels.") || !strings.Contains(pull.Body, "- `go.mod`") ||
		!strings.Contains(pull.Body, "head="+w.RemoteHead.String()) || pull.Base != "main" {
		t.Errorf("the pull request is %+v", pull)
	}
	if got, want := f.took(), "GET /repos/acme/shop/pulls\nPOST /repos/acme/shop/pulls"; got != want {
		t.Errorf("requests:\n%s", got)
	}
	// The pull request that is there is reported.
	again, err := f.Settle(t.Context(), f.idle(r.Record), now)
	if err != nil || again.State != PullUnchanged || again.Record != r.Record || len(f.github.Pulls()) != 1 || len(f.saved) != 1 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if got := f.took(); got != "GET /repos/acme/shop/pulls" {
		t.Errorf("requests:\n%s", got)
	}
}

func TestAPullRequestThatDoesNotKnowOfAPushIsSettled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publish(f.session(f.adds("a", "1\n")))
	w := f.session(f.adds("b", "2\n"))
	w.Last, w.Text, w.Receipt.Unfinished = first.Record, "It has brakes.", true
	f.refuse("PATCH /pulls/{n}", http.StatusForbidden, 1, `{"message":"Resource not accessible by integration"}`)
	f.saved = nil
	ctx, killed := f.killAt(w, 1)
	if _, err := f.Publish(ctx, killed, now); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	w = f.idle(f.saved[0])
	r, err := f.Settle(t.Context(), w, now)
	f.check(err)
	if r.State != PullUpdated || r.Record.Number != 1 || r.Record.Head != w.RemoteHead {
		t.Errorf("got %+v", r)
	}
	first.Record.Head, first.Record.At = w.RemoteHead, now
	if body := f.github.Pulls()[0].Body; r.Record != first.Record || !strings.Contains(body, "head="+w.RemoteHead.String()) || !strings.Contains(body, "It has brakes.") {
		t.Errorf("the record is %+v, the body\n%s", r.Record, body)
	}
}

func TestThereIsNothingToSettle(t *testing.T) {
	t.Parallel()
	one := git.ObjectID{1}
	for name, test := range map[string]struct {
		last   func(head git.ObjectID) Record
		branch bool // whether the remote has the branch
	}{
		"nothing was published":       {func(git.ObjectID) Record { return Record{} }, false},
		"the branch is a person's":    {func(git.ObjectID) Record { return Record{} }, true},
		"the push did not happen":     {func(git.ObjectID) Record { return Record{Pushing: one} }, false},
		"a person made the branch":    {func(git.ObjectID) Record { return Record{Pushing: one} }, true},
		"a person deleted the branch": {func(h git.ObjectID) Record { return Record{Head: h, Number: 1} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			head, err := git.ParseObjectID(strings.TrimSpace(f.git(f.origin, "rev-parse", "main")))
			f.check(err)
			if test.branch {
				f.git(f.origin, "branch", "symphony/GH-7", "main")
			}
			r, err := f.Settle(t.Context(), f.idle(test.last(head)), now)
			if err != nil || !r.Record.IsZero() || f.took() != "" {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}

func TestWhatIsSettledIsJudgedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.halfPublished(f.adds("a", "1\n"))
	f.Policy.Allowed = []string{"docs/**"} // in the meantime
	r, err := f.Settle(t.Context(), w, now)
	f.check(err)
	if len(r.Verdict.Refusals) > 0 || !f.github.Pulls()[0].Draft {
		t.Errorf("got %+v; %+v", r, f.github.Pulls()[0])
	}
}

func TestSettlingFailsAsPublishingDoes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.halfPublished(f.adds("a", "1\n"))
	f.refuse("POST /pulls", http.StatusForbidden, 1, `{"message":"GitHub Actions is not permitted to create or approve pull requests."}`)
	if r, err := f.Settle(t.Context(), w, now); !errors.Is(err, ErrNotPermitted) || r.Record.Head != w.RemoteHead {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, err := f.Settle(t.Context(), w, now); err != nil || r.State != PullOpened {
		t.Errorf("when it is permitted: %+v, %v", r, err)
	}
}

func TestALocalBranchIsSettled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.inUserRepository()
	w := f.halfPublished(f.adds("a", "1\n"))
	if r, err := f.Settle(t.Context(), w, now); err != nil || r.Record.Head != w.RemoteHead || !r.Record.Pushing.IsZero() || r.Record.Branch != f.branch {
		t.Errorf("got %+v, %v", r, err)
	}
}

// The limits of GitHub on new content pass, and are no fault of the issue or the settings.
func TestAPullRequestThatGitHubTakesLaterFailsNoIssue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.refuse("POST /pulls", http.StatusUnprocessableEntity, 1, `{"message":"Validation Failed","errors":["was submitted too quickly"]}`)
	ctx, end := context.WithTimeout(t.Context(), 15*time.Second) // shorter than the wait
	defer end()
	r, err := f.Publish(ctx, f.session(f.adds("go.mod", "module a\n")), now)
	if !errors.Is(err, client.ErrContent) || !errors.Is(err, git.ErrTimeout) || errors.Is(err, git.ErrUnavailable) || !r.Pushed || r.IsLost(err) {
		t.Fatalf("got %+v, %v", r, err)
	}
	if r, err = f.Settle(t.Context(), f.idle(r.Record), now); err != nil || r.State != PullOpened || len(f.github.Pulls()) != 1 {
		t.Errorf("later: %+v, %v", r, err)
	}
}
