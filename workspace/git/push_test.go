package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// work makes an Incoming with one new file, whose commit the host has built.
func (d *delivery) work(t testing.TB, text string) (*Incoming, ObjectID) {
	t.Helper()
	p := &packWriter{}
	in := d.receive(t, p.harvested(p.commit(p.tree(entry("100644", "a", p.blob(text))), d.from.Start)))
	return in, squash(t, in, changes(t, in), ObjectID{})
}

// overHTTP puts the origin behind a server.
func (d *delivery) overHTTP(t testing.TB) *server {
	t.Helper()
	git(t, d.origin, "config", "http.receivepack", "true")
	srv := serve(t, d.dir)
	d.store = d.machine.store(t, srv.remote(t, filepath.Base(d.origin), testToken))
	fetch(t, d.store, ours)
	srv.seen()
	return srv
}

func hook(t testing.TB, repository, name, script string) {
	t.Helper()
	path := filepath.Join(repository, "hooks", name)
	write(t, path, "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// refs returns the references of a repository as text.
func refsOf(t testing.TB, repository string) string {
	t.Helper()
	return git(t, repository, "for-each-ref", "--format=%(refname) %(objectname)")
}

var target = Branch{"symphony/GH-1"}

func TestAPushMovesOneBranchAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"file", "http"} {
		t.Run(transport, func(t *testing.T) {
			d := newDelivery(t)
			var srv *server
			if transport == "http" {
				srv = d.overHTTP(t)
			}
			main := d.from.Start.String()
			in, one := d.work(t, "one")
			for range 2 {
				if err := in.Push(t.Context(), target, one, ObjectID{}); err != nil {
					t.Fatal(err)
				}
				if srv != nil && len(srv.seen()) > 2 {
					t.Error("a push costs more than two requests")
				}
			}
			if got, want := refsOf(t, d.origin), "refs/heads/main "+main+"\nrefs/heads/symphony/GH-1 "+one.String(); got != want {
				t.Errorf("the remote has\n%s\nwant\n%s", got, want)
			}
			if git(t, d.origin, "fsck", "--strict", "--no-dangling") != "" || git(t, d.origin, "show", one.String()+":a") != "one" {
				t.Error("the objects of the commit did not arrive")
			}
			d.from.Start = fetch(t, d.store, ours).Branches[target]
			in, _ = d.work(t, "two")
			two := squash(t, in, changes(t, in), one)
			if err := in.Push(t.Context(), target, two, one); err != nil || headOf(t, d.origin, target.ref()) != two {
				t.Errorf("an update: %v", err)
			}
		})
	}
}

// A naive host forces: a lease with the right old value overwrites what is there.
func TestWorkOfAPersonIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	in, one := d.work(t, "one")
	theirs := commit(t, d.origin, target.String(), "theirs", "theirs")
	err := in.Push(t.Context(), target, one, ObjectID{})
	if !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), theirs.String()) {
		t.Errorf("a branch that should not exist: %v", err)
	}
	if err := in.Push(t.Context(), target, one, d.from.Start); !errors.Is(err, ErrMoved) {
		t.Errorf("a branch that should be elsewhere: %v", err)
	}
	if err := in.Push(t.Context(), target, one, theirs); !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), "fetch first") {
		t.Errorf("a commit that is not known here: %v", err)
	}
	fetch(t, d.store, ours)
	in, one = d.work(t, "one")
	if err := in.Push(t.Context(), target, one, theirs); !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), "does not follow") {
		t.Errorf("the right lease: %v", err)
	}
	naive := d.path("naive-origin")
	git(t, d.dir, "clone", "-q", "--bare", d.origin, naive)
	if out, err := plain(t, in.dir, "", "push", "-q", "--force-with-lease="+target.ref()+":"+theirs.String(), naive, one.String()+":"+target.ref()); err != nil {
		t.Errorf("a naive host does not overwrite it: %s", out)
	}
	if headOf(t, d.origin, target.ref()) != theirs {
		t.Error("the person's commit is gone")
	}
	made := squash(t, in, changes(t, in), theirs)
	if err := in.Push(t.Context(), target, made, theirs); err != nil || git(t, d.origin, "show", target.ref()+":a") != "one" {
		t.Errorf("work that follows it: %v", err)
	}
}

func TestWhatTheRemoteRefusesHasACategoryAndItsWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, origin string)
		kind    error
		says    string
	}{
		"a protected branch": {func(t *testing.T, origin string) {
			hook(t, origin, "pre-receive", `echo "error: GH006: Protected branch update failed for refs/heads/x." >&2; printf 'error: \033[31mRequired\033[0m status check\n' >&2; exit 1`)
		}, ErrRejected, "the branch is protected"},
		"a ruleset": {func(t *testing.T, origin string) {
			hook(t, origin, "pre-receive", `echo "error: GH013: Repository rule violations found" >&2; exit 1`)
		}, ErrRejected, "a rule of the repository"},
		"a workflow file": {func(t *testing.T, origin string) {
			hook(t, origin, "update", `echo 'refusing to allow a GitHub App to create or update workflow .github/workflows/x.yml without workflows permission' >&2; exit 1`)
		}, ErrWorkflows, "no branch has the workflow files of the work"},
		"a rule with that name": {func(t *testing.T, origin string) {
			hook(t, origin, "pre-receive", `echo "error: GH013: Repository rule violations found for refs/heads/x." >&2; echo "- Required workflow 'workflow check' is missing" >&2; exit 1`)
		}, ErrRejected, "a rule of the repository"},
		"a failure of GitHub": {func(t *testing.T, origin string) {
			hook(t, origin, "pre-receive", `echo "fatal error in commit_refs" >&2; exit 1`)
		}, ErrUnavailable, "a failure of its own"},
		"something else": {func(t *testing.T, origin string) {
			hook(t, origin, "update", `echo no >&2; exit 1`)
		}, ErrRejected, "(hook declined): no"},
		"a folder in its place": {func(t *testing.T, origin string) { commit(t, origin, "symphony", "a", "a") }, ErrRejected, "repository.branch_prefix"},
		"a size":                {func(t *testing.T, origin string) { git(t, origin, "config", "receive.maxInputSize", "10") }, ErrTooBig, "does not take so much"},
		"a lock": {func(t *testing.T, origin string) {
			write(t, filepath.Join(origin, "refs/heads/symphony/GH-1.lock"), "")
		}, ErrUnavailable, "another push"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDelivery(t)
			in, made := d.work(t, "one")
			c.prepare(t, d.origin)
			before := refsOf(t, d.origin)
			err := in.Push(t.Context(), target, made, ObjectID{})
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("the error is %v", err)
			}
			if after := refsOf(t, d.origin); after != before {
				t.Errorf("the remote has\n%s", after)
			}
		})
	}
}

// Two pushes that a rule for all branches refuses have the same text, and one that is refused
// for its content has none.
func TestTheRuleOfARefusalIsTheSameForAllBranches(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		says string
		same bool
	}{
		"signatures": {`echo "error: GH013: Repository rule violations found for $ref." >&2; echo "Review all repository rules at https://github.com/acme/shop/rules?ref=$ref" >&2; echo "- Commits must have verified signatures." >&2; echo "  Found 1 violation:" >&2; echo "  $new" >&2`, true},
		"a secret":   {`echo "error: GH013: Repository rule violations found for $ref." >&2; echo "- GITHUB PUSH PROTECTION" >&2; echo "  Push cannot contain secrets" >&2`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rules []string
			for _, text := range []string{"one", "a longer one"} {
				d := newDelivery(t)
				in, made := d.work(t, text)
				hook(t, d.origin, "pre-receive", "read old new ref; "+test.says+"; exit 1")
				err := in.Push(t.Context(), branch(t, "symphony/"+strings.ReplaceAll(text, " ", "-")), made, ObjectID{})
				rejected, ok := errors.AsType[*RejectedError](err)
				if !ok || !errors.Is(err, ErrRejected) {
					t.Fatal(err)
				}
				rules = append(rules, rejected.Rule)
			}
			if rules[0] != rules[1] || (rules[0] != "") != test.same {
				t.Errorf("%q", rules)
			}
		})
	}
}

func TestAPushThatGetsNoAnswerIsLookedUp(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	srv := d.overHTTP(t)
	backend := srv.Config.Handler
	isPush := func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "git-receive-pack")
	}
	in, one := d.work(t, "one")

	// The remote takes the push, and the connection is cut before it says so.
	var once sync.Once
	srv.answer(func(w http.ResponseWriter, r *http.Request) (done bool) {
		if isPush(r) {
			once.Do(func() {
				done = true
				srv.mu.Lock()
				before := srv.before
				srv.before = nil
				srv.mu.Unlock()
				backend.ServeHTTP(httptest.NewRecorder(), r)
				srv.answer(before)
				panic(http.ErrAbortHandler)
			})
		}
		return done
	})
	if err := in.Push(t.Context(), target, one, ObjectID{}); err != nil || headOf(t, d.origin, target.ref()) != one {
		t.Errorf("cut after it: %v", err)
	}

	two := Branch{"symphony/GH-2"}
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		kind   error
		says   string
	}{
		"cut before it": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, ErrUnavailable, "tried again"},
		"502":           {func(w http.ResponseWriter) { w.WriteHeader(502) }, ErrUnavailable, "failure of its own"},
		"429":           {func(w http.ResponseWriter) { w.WriteHeader(429) }, ErrUnavailable, "limits the rate"},
		"403":           {func(w http.ResponseWriter) { w.WriteHeader(403) }, ErrForbidden, "permission to read and write"},
		"413":           {func(w http.ResponseWriter) { w.WriteHeader(413) }, ErrTooBig, "so much at once"},
		"401":           {func(w http.ResponseWriter) { w.WriteHeader(401) }, ErrUnauthorized, "repository.token"},
	} {
		srv.answer(func(w http.ResponseWriter, r *http.Request) bool {
			if isPush(r) {
				io.Copy(io.Discard, r.Body)
				c.answer(w)
				return true
			}
			return false
		})
		if err := in.Push(t.Context(), two, one, ObjectID{}); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), testToken) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// Nothing can be found out: the remote is gone after the push.
	var gone atomic.Bool
	srv.answer(func(w http.ResponseWriter, r *http.Request) bool {
		if isPush(r) {
			gone.Store(true)
		}
		if gone.Load() {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	if err := in.Push(t.Context(), two, one, ObjectID{}); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "whether the push has happened is not known") {
		t.Errorf("gone: %v", err)
	}
	srv.answer(nil)
	if err := in.Push(t.Context(), two, one, ObjectID{}); err != nil {
		t.Errorf("again: %v", err)
	}
	if strings.Contains(d.log.String(), testToken) {
		t.Error("the token is in the log")
	}
}

// Many sessions push at the same moment, some of them to one branch.
func TestOfPushesAtTheSameTimeOneWins(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	type push struct {
		in     *Incoming
		commit ObjectID
	}
	var pushes []push
	for _, text := range []string{"1", "2", "3", "4"} {
		in, made := d.work(t, text)
		pushes = append(pushes, push{in, made})
	}
	results := make([]error, len(pushes))
	var all sync.WaitGroup
	for i, p := range pushes {
		all.Go(func() { results[i] = p.in.Push(t.Context(), target, p.commit, ObjectID{}) })
	}
	all.Wait()
	won := 0
	for i, err := range results {
		switch {
		case err == nil:
			won++
			if headOf(t, d.origin, target.ref()) != pushes[i].commit {
				t.Errorf("push %d says it is done, and is not", i)
			}
		case !errors.Is(err, ErrMoved) && !errors.Is(err, ErrUnavailable):
			t.Errorf("push %d: %v", i, err)
		}
	}
	if won != 1 {
		t.Errorf("%d pushes won: %v", won, results)
	}
}

// userRepository makes a clone in which somebody works.
func (d *delivery) userRepository(t testing.TB) string {
	t.Helper()
	folder := d.path("user")
	git(t, d.dir, "clone", "-q", d.origin, folder)
	write(t, filepath.Join(folder, "README.md"), "being edited")
	write(t, filepath.Join(folder, "new"), "not committed")
	git(t, folder, "add", "new")
	hook(t, filepath.Join(folder, ".git"), "reference-transaction", "touch "+d.path("ran"))
	hook(t, filepath.Join(folder, ".git"), "post-checkout", "touch "+d.path("ran"))
	return folder
}

func TestALocalDeliveryIsABranchAndNothingElse(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	user := d.userRepository(t)
	look := func() string {
		return git(t, user, "status", "--porcelain") + git(t, user, "symbolic-ref", "HEAD") + git(t, user, "rev-parse", "main") + read(t, filepath.Join(user, "README.md"))
	}
	before := look()
	in, one := d.work(t, "one")
	for range 2 {
		if err := in.DeliverLocal(t.Context(), user, target, one, ObjectID{}); err != nil {
			t.Fatal(err)
		}
	}
	if git(t, user, "show", target.ref()+":a") != "one" || headOf(t, user, target.ref()) != one {
		t.Error("the branch is not there")
	}
	git(t, user, "-c", "core.hooksPath=/dev/null", "fsck", "--strict")
	remove(t, d.path("ran"))
	if look() != before || exists(filepath.Join(user, ".git/FETCH_HEAD")) {
		t.Errorf("before:\n%s\nafter:\n%s", before, look())
	}

	if err := in.DeliverLocal(t.Context(), filepath.Join(user, ".git"), Branch{"symphony/GH-9"}, one, ObjectID{}); err != nil {
		t.Errorf("by its .git: %v", err)
	}
	if exists(d.path("ran")) {
		t.Error("a hook of the user ran")
	}
	git(t, user, "-c", "core.hooksPath=/dev/null", "branch", "theirs", "main")
	if err := in.DeliverLocal(t.Context(), user, Branch{"theirs/x"}, one, ObjectID{}); !errors.Is(err, ErrRejected) {
		t.Errorf("a folder in the place of a branch: %v", err)
	}
	if err := in.DeliverLocal(t.Context(), d.path("missing"), target, one, ObjectID{}); err == nil {
		t.Error("a folder that is missing")
	}
	if err := in.DeliverLocal(t.Context(), d.workspaces, target, one, ObjectID{}); !errors.Is(err, ErrFolder) {
		t.Errorf("the root of the workspaces: %v", err)
	}
}

// A branch that the user has moved or made is not ours to move, even forward.
func TestALocalDeliveryMovesOnlyWhatIsWhereItWas(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	user := d.userRepository(t)
	git(t, user, "config", "core.hooksPath", "/dev/null")
	in, one := d.work(t, "one")
	for name, test := range map[string]struct {
		now, old ObjectID // of the branch
		moved    bool
	}{
		"is where it was":              {d.from.Start, d.from.Start, true},
		"has commits of the user":      {commit(t, filepath.Join(user, ".git"), "mine", "mine", "mine"), d.from.Start, false},
		"was set back by the user":     {d.from.Start, ObjectID{1}, false},
		"was made by the user":         {d.from.Start, ObjectID{}, false},
		"was deleted by the user":      {ObjectID{}, d.from.Start, false},
		"has the commit of a dead run": {one, d.from.Start, true},
	} {
		t.Run(name, func(t *testing.T) {
			git(t, user, "update-ref", target.ref(), d.from.Start.String())
			if err := in.DeliverLocal(t.Context(), user, target, one, d.from.Start); err != nil { // one is known there
				t.Fatal(err)
			}
			if test.now.IsZero() {
				git(t, user, "update-ref", "-d", target.ref())
			} else {
				git(t, user, "update-ref", target.ref(), test.now.String())
			}
			before := refsOf(t, user)
			err := in.DeliverLocal(t.Context(), user, target, one, test.old)
			if test.moved && (err != nil || headOf(t, user, target.ref()) != one) {
				t.Errorf("not moved: %v", err)
			}
			if !test.moved && (!errors.Is(err, ErrMoved) || refsOf(t, user) != before) {
				t.Errorf("moved: %v\n%s", err, refsOf(t, user))
			}
		})
	}
	git(t, user, "update-ref", target.ref(), d.from.Start.String())
	git(t, user, "worktree", "add", "-q", d.path("tree"), target.String())
	if err := in.DeliverLocal(t.Context(), user, target, one, d.from.Start); !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), "checked out") {
		t.Errorf("checked out elsewhere: %v", err)
	}
	git(t, d.path("tree"), "reset", "-q", "--hard", one.String())
	if err := in.DeliverLocal(t.Context(), user, target, one, d.from.Start); err != nil {
		t.Errorf("checked out elsewhere, with the work: %v", err)
	}
}

func TestRefusedWorkCanBeAppliedByHand(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	folder := d.workspace(t, "GH-1")
	write(t, filepath.Join(folder, "a"), "one\x00binary")
	write(t, filepath.Join(folder, ".github/workflows/x.yml"), "on: push\n")
	remove(t, filepath.Join(folder, "README.md"))
	in := d.receive(t, d.harvest(t, folder))
	var bundle, patch bytes.Buffer
	if err := errors.Join(in.WriteBundle(t.Context(), &bundle, in.Tip), in.WritePatch(t.Context(), &patch, in.Tip)); err != nil {
		t.Fatal(err)
	}
	tree := inQuarantine(t, in, "rev-parse", in.Tip.String()+"^{tree}")
	user := d.path("user")
	git(t, d.dir, "clone", "-q", d.origin, user)
	git(t, user, "fetch", "-q", writeFile(t, d.path("work.bundle"), bundle.Bytes()), "refs/heads/out:work")
	if got := git(t, user, "rev-parse", "work^{tree}"); got != tree {
		t.Errorf("the bundle has the tree %s, want %s", got, tree)
	}
	git(t, user, "apply", "--index", writeFile(t, d.path("work.patch"), patch.Bytes()))
	if got := git(t, user, "write-tree"); got != tree {
		t.Errorf("the patch makes the tree %s, want %s", got, tree)
	}
}

func TestACancelledPushEndsAtOnce(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	srv := d.overHTTP(t)
	in, one := d.work(t, "one")
	stop := errors.New("the run was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	srv.answer(func(w http.ResponseWriter, r *http.Request) bool {
		cancel(stop)
		<-r.Context().Done()
		return true
	})
	if err := in.Push(ctx, target, one, ObjectID{}); !errors.Is(err, stop) {
		t.Errorf("the error is %v", err)
	}
}

// The rule of the package: git is started in one place.
func TestOneFunctionStartsPrograms(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	starts := 0
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			text := read(t, file)
			starts += strings.Count(text, "exec.Command") + strings.Count(text, "exec.Cmd{") + strings.Count(text, "os.StartProcess") + strings.Count(text, "ForkExec")
		}
	}
	if starts != 1 {
		t.Errorf("programs are started in %d places", starts)
	}
}

func FuzzAnswersToAPush(f *testing.F) {
	f.Add("To x\n!\tabc:refs/heads/x\t[rejected] (stale info)\nDone\n", "remote: error: GH006\n")
	f.Add("!\t\t\n", "")
	f.Fuzz(func(t *testing.T, out, stderr string) {
		answer, ok := parsePush(out, "refs/heads/x")
		if !ok {
			return
		}
		err := refusalOf(answer, stderr)
		if err == nil || strings.ContainsAny(err.Error(), "\n\r\x1b") || len(err.Error()) > 4*maxQuoted {
			t.Errorf("%q and %q are %q", out, stderr, err)
		}
	})
}
