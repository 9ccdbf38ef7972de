package publish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

func TestMain(m *testing.M) {
	cleanupTime = time.Minute
	m.Run()
}

// verified is a fixture whose remote is GitHub's as well: a commit that is made over
// REST is in the repository that git pushes to.
type verified struct {
	*fixture
	dead *atomic.Bool // whether no request is answered any more
}

func newVerified(t *testing.T) verified {
	t.Helper()
	var dead atomic.Bool
	g := githubtest.New(t, storetest.Config{Repo: "acme/shop", Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if dead.Load() {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	}})
	f := openFixture(t, g, g.CloneURL(), "ghs_storetest")
	f.Verified, f.Author = true, git.Person{Name: "Local", Email: "local@example.com"}
	return verified{f, &dead}
}

// requests returns the requests since mark, those of git without their queries.
func (f verified) requests(mark int) (rest, ofGit []string) {
	for _, r := range f.github.Log()[mark:] {
		path, _, _ := strings.Cut(r, "?")
		if strings.Contains(path, "/api/v3/") {
			rest = append(rest, strings.Replace(path, "/api/v3/repos/acme/shop", "", 1))
		} else {
			ofGit = append(ofGit, strings.Replace(path, "/acme/shop", "", 1))
		}
	}
	return rest, ofGit
}

// wantSigned fails the test unless the branch is where the record says, changes these
// files by commits of GitHub, and is all that is new.
func (f verified) wantSigned(r Result, files string) {
	f.t.Helper()
	if got, want := f.github.Git("for-each-ref", "--format=%(refname)"), "refs/heads/main\nrefs/heads/symphony/GH-7"; got != want {
		f.t.Errorf("the remote has\n%s", got)
	}
	if head := f.github.Head("symphony/GH-7"); head != r.Record.Head.String() || !r.Record.Pushing.IsZero() {
		f.t.Errorf("the branch is at %s, the record is %+v", head, r.Record)
	}
	if got := f.github.Git("diff", "--name-only", "main", "symphony/GH-7"); got != files {
		f.t.Errorf("the branch changes %q", got)
	}
	if who := f.github.Git("log", "--format=%an", "main..symphony/GH-7"); strings.Contains(who, "Local") {
		f.t.Errorf("the branch has a commit that GitHub has not made: %s", who)
	}
}

func TestACommitThatGitHubSignsHasTheSameTreeAndMessage(t *testing.T) {
	t.Parallel()
	f := newVerified(t)
	w := f.session(f.adds("a", "1\n"))
	mark := len(f.github.Log())
	save := w.Save
	w.Save = func(ctx context.Context, r Record) error {
		if announced := !r.Pushing.IsZero(); announced && (f.github.Head("symphony/GH-7") != "" || f.github.Git("cat-file", "-t", r.Pushing.String()) != "commit") {
			t.Errorf("the record announces %+v too late, or what GitHub does not have", r)
		}
		return save(ctx, r)
	}
	r := f.publish(w)
	f.wantSigned(r, "a")
	if got, want := f.github.Git("log", "-1", "--format=%B", "symphony/GH-7"), "Add a cart\n\nIt has wheels.\n\nFixes #7"; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
	if len(f.saved) != 2 || f.saved[0].Pushing != r.Record.Head || !f.saved[0].Head.IsZero() || f.saved[1].Head != r.Record.Head || !f.saved[1].Pushing.IsZero() {
		t.Errorf("saved %+v", f.saved)
	}
	pulls := f.github.Pulls()
	if r.State != PullOpened || len(pulls) != 1 || len(r.Warnings) > 0 || !strings.Contains(pulls[0].Body, " head="+r.Record.Head.String()+" ") {
		t.Errorf("got %+v with %+v", r, pulls)
	}
	rest, ofGit := f.requests(mark)
	if diff := cmp.Diff([]string{"GET /pulls", "POST /git/commits", "POST /git/refs", "POST /pulls"}, rest); diff != "" {
		t.Error(diff)
	}
	if len(ofGit) > 6 { // a look, a push and the deletion
		t.Errorf("git makes %d requests: %v", len(ofGit), ofGit)
	}
}

func TestASignedCommitFollowsTheOneBefore(t *testing.T) {
	t.Parallel()
	f := newVerified(t)
	first := f.publish(f.session(f.adds("a", "1\n")))
	w := f.session(f.adds("b", "2\n"))
	if w.RemoteHead != first.Record.Head {
		t.Fatalf("the next session begins at %s", w.RemoteHead)
	}
	w.Last = first.Record
	mark := len(f.github.Log())
	second := f.publish(w)
	f.wantSigned(second, "a\nb")
	if got, want := f.github.Git("log", "--format=%H", "main..symphony/GH-7"), second.Record.Head.String()+"\n"+first.Record.Head.String(); got != want {
		t.Errorf("the branch has\n%s\nwant\n%s", got, want)
	}
	rest, _ := f.requests(mark)
	if diff := cmp.Diff([]string{"GET /pulls", "POST /git/commits", "PATCH /git/refs/heads/symphony/GH-7", "PATCH /pulls/1"}, rest); diff != "" {
		t.Error(diff)
	}
	same := f.session(func(folder string) {
		f.adds("d", "")(folder)
		f.git(folder, "add", "-A")
		f.git(folder, "commit", "-q", "-m", "add")
		f.git(folder, "revert", "--no-edit", "HEAD")
	})
	same.Last = second.Record
	if r := f.publish(same); r.Pushed || r.Record.Head != same.RemoteHead {
		t.Errorf("the same tree: %+v", r)
	}
}

func TestARunThatIsKilledAtAnyRequestLeavesOnePullRequestAndNothingElse(t *testing.T) {
	t.Parallel()
	f := newVerified(t)
	w := f.session(f.adds("a", "1\n"))
	mark := len(f.github.Log())
	f.publish(w)
	all := len(f.github.Log()) - mark
	for n := 1; n <= all; n++ {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			killedAt(newVerified(t), n, n == all)
		})
	}
}

// killedAt kills a run after a request, and has the next one work on the issue.
func killedAt(f verified, n int, last bool) {
	f.t.Helper()
	w := f.session(f.adds("a", "1\n"))
	f.github.FailNth(n, storetest.Fault{After: func() { f.dead.Store(true) }, Lose: true})
	if _, err := f.Publish(f.t.Context(), w, now); err == nil && !last {
		f.t.Error("there was no kill")
	}
	f.dead.Store(false)
	next := f.session(f.adds("b", "2\n"))
	if len(f.saved) > 0 {
		next.Last = f.saved[len(f.saved)-1]
	}
	r := f.publish(next)
	files := "b" // if the work of the killed run is lost
	if !next.RemoteHead.IsZero() {
		files = "a\nb"
	}
	f.wantSigned(r, files)
	if pulls := f.github.Pulls(); len(pulls) != 1 || r.Record.Number != pulls[0].Number {
		f.t.Errorf("got %+v with %+v", r, pulls)
	}
}

func TestWhatAKilledRunSignedIsSettled(t *testing.T) {
	t.Parallel()
	f := newVerified(t)
	w := f.session(f.adds("a", "1\n"))
	f.github.Fail(storetest.Create, storetest.Fault{After: func() { f.dead.Store(true) }, Lose: true})
	if _, err := f.Publish(t.Context(), w, now); err == nil {
		t.Fatal("there was no kill")
	}
	f.dead.Store(false)
	fetched, err := f.store.Fetch(t.Context(), git.Source{Prefix: "symphony/"})
	f.check(err)
	last := f.saved[len(f.saved)-1]
	if there := fetched.Branches[f.branch]; there != last.Pushing {
		t.Fatalf("the branch is at %s, the record is %+v", there, last)
	}
	r, err := f.Settle(t.Context(), Work{
		Issue: "GH-7", Branch: f.branch, RemoteHead: last.Pushing, Default: "GH-7: A cart", Last: last, Store: f.store, Base: fetched.Base, Save: w.Save,
	}, now)
	if err != nil || r.State != PullOpened || r.Record.Head != last.Pushing || len(f.github.Pulls()) != 1 || len(r.Warnings) > 0 {
		t.Errorf("got %+v, %v", r, err)
	}
	if left := f.github.Git("for-each-ref", "refs/symphony"); left != "" {
		t.Errorf("left: %s", left)
	}
}

func TestPartsOfGitHubThatDoNotKnowYetAreAskedAgain(t *testing.T) {
	t.Parallel()
	refuse := func(status int, says string) storetest.Fault { return storetest.Fault{Status: status, Says: says} }
	for name, fail := range map[string]func(*githubtest.GitHub){
		"the tree": func(g *githubtest.GitHub) {
			g.Fail(storetest.Commit, refuse(422, "Tree SHA does not exist"), refuse(404, "Not Found"))
		},
		"the parent": func(g *githubtest.GitHub) {
			g.Fail(storetest.Commit, refuse(422, "Parent SHA does not exist or is not a commit object"))
		},
		"a conflict": func(g *githubtest.GitHub) { g.Fail(storetest.Commit, refuse(409, "Conflict")) },
		"the commit": func(g *githubtest.GitHub) {
			g.Fail(storetest.Create, refuse(422, "Object does not exist"), refuse(404, "Not Found"))
		},
		"a fault":       func(g *githubtest.GitHub) { g.Fail(storetest.Create, refuse(502, "Bad Gateway")) },
		"a fault, done": func(g *githubtest.GitHub) { g.Fail(storetest.Create, storetest.Fault{Lose: true}) },
		"a fault of commit": func(g *githubtest.GitHub) {
			g.Fail(storetest.Commit, refuse(502, "Bad Gateway"), storetest.Fault{Lose: true})
		},
		"a branch that is there": func(g *githubtest.GitHub) { // at the base, where it has no work
			g.Fail(storetest.Create, storetest.Fault{Before: func() { g.Git("update-ref", "refs/heads/symphony/GH-7", "main") }})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newVerified(t)
			w := f.session(f.adds("a", "1\n"))
			fail(f.github)
			r := f.publish(w)
			f.wantSigned(r, "a")
			if len(f.github.Pulls()) != 1 || len(r.Warnings) > 0 {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestASignedCommitOverwritesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		update bool // whether the branch is there already
		at     storetest.Op
		theirs func(g *githubtest.GitHub)
	}{
		"made before":    {false, githubtest.Refs, func(g *githubtest.GitHub) { g.Commit("symphony/GH-7", map[string]string{"theirs": ""}) }},
		"made meanwhile": {false, storetest.Create, func(g *githubtest.GitHub) { g.Commit("symphony/GH-7", map[string]string{"theirs": ""}) }},
		"moved before":   {true, githubtest.Refs, func(g *githubtest.GitHub) { g.Commit("symphony/GH-7", map[string]string{"theirs": ""}) }},
		"moved":          {true, storetest.Move, func(g *githubtest.GitHub) { g.Commit("symphony/GH-7", map[string]string{"theirs": ""}) }},
		"reset":          {true, githubtest.Refs, func(g *githubtest.GitHub) { g.Git("update-ref", "refs/heads/symphony/GH-7", "main") }},
		"deleted":        {true, storetest.Move, func(g *githubtest.GitHub) { g.Delete("symphony/GH-7") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newVerified(t)
			var last Record
			if test.update {
				last = f.publish(f.session(f.adds("a", "1\n"))).Record
			}
			w := f.session(f.adds("b", "1\n"))
			w.Last = last
			var theirs string
			f.github.Fail(test.at, storetest.Fault{Before: func() {
				test.theirs(f.github)
				theirs = f.github.Git("for-each-ref", "--format=%(objectname)", "refs/heads/symphony")
			}})
			r, err := f.Publish(t.Context(), w, now)
			if !errors.Is(err, git.ErrMoved) || r.Pushed {
				t.Errorf("got %+v, %v", r, err)
			}
			if got := f.github.Git("for-each-ref", "--format=%(objectname)", "refs/heads/symphony"); got != theirs {
				t.Errorf("the branch is at %q, not at %q", got, theirs)
			}
			if got := f.github.Git("for-each-ref", "refs/symphony"); got != "" {
				t.Errorf("the remote has %s", got)
			}
		})
	}
}

func TestWhatGitHubRefusesToSignOrToMoveHasACategoryAndItsWords(t *testing.T) {
	t.Parallel()
	refuse := func(op storetest.Op, status int, says string) func(*githubtest.GitHub) {
		return func(g *githubtest.GitHub) {
			g.Fail(op, slices.Repeat([]storetest.Fault{{Status: status, Says: says}}, 9)...)
		}
	}
	for name, test := range map[string]struct {
		fail func(*githubtest.GitHub)
		kind error
		want string
	}{
		"a ruleset":      {func(g *githubtest.GitHub) { g.Protect("symphony/GH-7") }, git.ErrRejected, "a ruleset of the repository refuses it"},
		"no permission":  {refuse(storetest.Commit, 403, "Resource not accessible by integration"), git.ErrForbidden, "permissions: {contents: write}"},
		"a bad token":    {refuse(storetest.Create, 401, "Bad credentials"), git.ErrUnauthorized, "set GITHUB_TOKEN to another one"},
		"an outage":      {refuse(storetest.Create, 502, "Bad Gateway"), git.ErrUnavailable, "try again later"},
		"it never comes": {refuse(storetest.Commit, 422, "Tree SHA does not exist"), git.ErrRejected, "Tree SHA does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newVerified(t)
			w := f.session(f.adds("a", "1\n"))
			test.fail(f.github)
			r, err := f.Publish(t.Context(), w, now)
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "publish GH-7: ") || r.Pushed {
				t.Errorf("got %+v, %v", r, err)
			}
			if got := f.github.Git("for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
				t.Errorf("the remote has\n%s", got)
			}
		})
	}
}

func TestACommitThatGitHubDidNotSignIsAWarning(t *testing.T) {
	t.Parallel()
	f := newVerified(t)
	f.github.SignNothing()
	r := f.publish(f.session(f.adds("a", "1\n")))
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], `GitHub did not sign the commit ("unsigned"): delivery.commits verified needs the token of a job or of a GitHub App`) {
		t.Errorf("got %q", r.Warnings)
	}
	f.wantSigned(r, "a")
}

func TestATemporaryReferenceThatCannotBeDeletedIsAWarning(t *testing.T) {
	t.Parallel()
	f := newVerified(t)
	w := f.session(f.adds("a", "1\n"))
	f.github.Fail(githubtest.Push, storetest.Fault{}, storetest.Fault{Status: 502, Says: "Bad Gateway"})
	r := f.publish(w)
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "refs/symphony/push/symphony/GH-7/") || !strings.Contains(r.Warnings[0], "the next delivery of GH-7 deletes it") {
		t.Errorf("got %q", r.Warnings)
	}
	next := f.session(f.adds("b", "1\n"))
	next.Last = r.Record
	f.wantSigned(f.publish(next), "a\nb")
}

func TestACancelledRunStillDeletesItsTemporaryReference(t *testing.T) {
	t.Parallel()
	f := newVerified(t)
	w := f.session(f.adds("a", "1\n"))
	stop := errors.New("the run was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	f.github.Fail(storetest.Commit, storetest.Fault{Before: func() { cancel(stop) }})
	if _, err := f.Publish(ctx, w, now); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if got := f.github.Git("for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
		t.Errorf("the remote has\n%s", got)
	}
}

func TestAFailureOfGitHubHasTheCategoryOfGit(t *testing.T) {
	t.Parallel()
	f := newVerified(t)
	w := f.session(f.adds("a", "1\n"))
	for _, test := range []struct {
		kind  error
		fault storetest.Fault
		times int
	}{
		{git.ErrUnauthorized, storetest.Fault{Status: 401, Says: "Bad credentials"}, 1},
		{git.ErrForbidden, storetest.Fault{Status: 403, Says: "Resource not accessible by integration"}, 1},
		{git.ErrNotFound, storetest.Fault{Status: 404, Says: "Not Found"}, 1},
		{git.ErrUnavailable, storetest.Fault{Lose: true}, 9},
	} {
		f.github.Fail("GET /pulls", slices.Repeat([]storetest.Fault{test.fault}, test.times)...)
		if _, err := f.Publish(t.Context(), w, now); !errors.Is(err, test.kind) || strings.Contains(err.Error(), test.kind.Error()) {
			t.Errorf("got %v, want %v", err, test.kind)
		}
	}
	refused := fmt.Errorf("%w: install it", client.ErrApp)
	if err := hubError(refused); !errors.Is(err, git.ErrUnauthorized) || !errors.Is(err, client.ErrApp) || err.Error() != refused.Error() {
		t.Errorf("an App: %v", err)
	}
	if err := hubError(context.Canceled); err != context.Canceled {
		t.Errorf("another error: %v", err)
	}
}
