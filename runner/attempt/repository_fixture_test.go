package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/internal/gittest"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// repositoryFixture is a fixture whose workspace comes from a real remote. What the
// agent makes is pushed there as one commit, unless it changes .github.
type repositoryFixture struct {
	*fixture
	origin string // the remote
	store  *git.Store
	branch git.Branch

	deliveries []Delivery           // so far; their work is closed
	deliver    func(Delivery) error // called for each delivery; an error fails it
	there      git.ObjectID         // where the branch is
	host       *git.Host            // of the store
	paths      []string             // of the checkout
}

func newRepositoryFixture(t testing.TB, script string) *repositoryFixture {
	t.Helper()
	f := &repositoryFixture{fixture: newFixture(t, script), deliver: func(Delivery) error { return nil }}
	f.dir = realPath(t, f.dir)
	f.inRepository()
	f.job.Codex.Command = "echo $$ > " + quote(f.path("agent.pid")) + "\nexport GORACE=atexit_sleep_ms=0; exec " + quote(os.Args[0]) + ` agent "$CODEX_HOME"`
	return f
}

// newCodexRepository returns a fixture with the real Codex, whose model gives these replies, and
// with these files in the repository.
func newCodexRepository(t testing.TB, files map[string]string, replies ...codextest.Reply) *repositoryFixture {
	t.Helper()
	of, _ := newCodexFixture(t, codextest.Lane{Replies: replies})
	f := &repositoryFixture{fixture: of, deliver: func(Delivery) error { return nil }}
	f.dir = realPath(t, f.dir)
	for name, text := range files {
		writeFile(t, f.path("seed", filepath.FromSlash(name)), text)
	}
	account := f.job.Account
	f.inRepository()
	f.job.Account = account
	return f
}

// inUsersHome has Codex work in the home of the user, with a model.
func (f *fixture) inUsersHome(m *codextest.Model) {
	f.t.Helper()
	f.job.Account = Account{}
	if err := (codextest.Home{URL: m.URL()}).Write(f.path("home/.codex")); err != nil {
		f.t.Fatal(err)
	}
}

// done is the reply of a model that ends its turn.
var done = codextest.Reply{Items: []codextest.Item{codextest.Message{Text: "Done."}}}

// runs returns a reply that runs a command.
func runs(t testing.TB, command string) codextest.Reply {
	t.Helper()
	return calls(t, "exec_command", map[string]any{"cmd": command, "yield_time_ms": 30000})
}

// calls returns a reply that calls a tool.
func calls[V any](t testing.TB, tool string, arguments map[string]V) codextest.Reply {
	t.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return codextest.Reply{Items: []codextest.Item{codextest.Call{Name: tool, Arguments: string(text)}}}
}

func realPath(t testing.TB, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// inRepository makes the remote and gives the job a repository.
func (f *repositoryFixture) inRepository() {
	f.t.Helper()
	_, err := exec.LookPath("git")
	if err != nil {
		f.t.Skip("there is no git here")
	}
	f.hooks = workspace.Hooks{Timeout: forever}
	f.job.SessionDir, f.job.Account.Key = f.path("sessions"), "sk-0123456789"
	if f.job.Program, err = os.Executable(); err != nil {
		f.t.Fatal(err)
	}
	f.origin = f.path("origin.git")
	writeFile(f.t, f.path("seed", "README.md"), "hello\n")
	writeFile(f.t, f.path("seed", ".gitignore"), "cache/\n")
	f.git("seed", "init", "-q", "-b", "main")
	f.git("seed", "add", "-A")
	f.git("seed", "commit", "-q", "-m", "first")
	f.git(".", "clone", "-q", "--bare", "seed", f.origin)
	f.host, err = git.Open(f.t.Context(), git.Config{
		Dir: f.path("stores"), Workspaces: f.path("root"), Env: []string{"PATH=" + os.Getenv("PATH")}, Log: slog.New(slog.DiscardHandler),
	})
	f.check(err)
	remote, err := git.ParseRemote(f.origin, "")
	f.check(err)
	f.store, err = f.host.Store(f.t.Context(), remote)
	f.check(err)
	f.t.Cleanup(func() { f.store.Close() })
	f.branch, err = git.BranchFor("symphony/", issueName)
	f.check(err)
	f.job.Repository = &Repository{Host: f.host, Source: FromStore(f.store), Hooks: workspace.Hooks{Timeout: forever}, Deliver: f.publish}
}

func (f *repositoryFixture) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// git runs git in a folder, which may be one of the fixture.
func (f *repositoryFixture) git(folder string, args ...string) string {
	f.t.Helper()
	if !filepath.IsAbs(folder) {
		folder = f.path(folder)
	}
	return gittest.Run(f.t, folder, args...)
}

// publish is the job's Deliver.
func (f *repositoryFixture) publish(ctx context.Context, d Delivery) (Delivered, error) {
	if err := f.deliver(d); err != nil {
		return Delivered{}, err
	}
	in := d.Work.(*git.Incoming)
	changes, err := in.Changes(ctx, in.MergeBase, in.Tip)
	if err != nil {
		return Delivered{}, err
	}
	for _, change := range changes {
		if strings.HasPrefix(change.Path, ".github/") {
			return Delivered{Refused: "- " + change.Path + ": the path is protected\n"}, nil
		}
	}
	f.deliveries = append(f.deliveries, d)
	who := git.Person{Name: "Symphony", Email: "symphony@example.com", When: time.Unix(1_700_000_000, 0)}
	commit, err := in.Squash(ctx, changes, f.there, git.Commit{Author: who, Committer: who, Message: "Work\n\n" + d.Title + "\n"})
	if errors.Is(err, git.ErrNothingNew) && !f.there.IsZero() { // the words may be new
		return Delivered{URL: "https://example.com/pull/1", Head: f.there}, nil
	}
	if err == nil {
		err = in.Push(ctx, f.branch, commit, f.there)
	}
	if err != nil {
		return Delivered{}, err
	}
	f.there = commit
	if _, err := f.store.Fetch(ctx, git.Source{Prefix: "symphony/"}); err != nil {
		return Delivered{}, err
	}
	return Delivered{URL: "https://example.com/pull/1", Head: commit}, nil
}

// session makes an attempt that begins with what the remote has.
func (f *repositoryFixture) session(ctx context.Context) schedule.Outcome {
	f.t.Helper()
	f.fetch()
	outcome := f.run(ctx)
	f.assertNothingIsLeft()
	return outcome
}

// delivers runs a session that has to deliver its work, with nothing to warn of.
func (f *repositoryFixture) delivers() {
	f.t.Helper()
	if got := f.session(f.t.Context()); got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 {
		f.t.Errorf("%+v\n%.3000s", got, f.readLog())
	}
}

// fetch makes the job begin with what the remote has.
func (f *repositoryFixture) fetch() {
	f.t.Helper()
	fetched, err := f.store.Fetch(f.t.Context(), git.Source{Prefix: "symphony/"})
	f.check(err)
	f.there = fetched.Branches[f.branch]
	start := f.there
	if start.IsZero() {
		start = fetched.Head
	}
	f.job.Repository.Checkout = git.Checkout{
		Base: fetched.Base, BaseHead: fetched.Head, Branch: f.branch, Head: start, Pushed: f.there,
		User: git.Person{Name: "Agent", Email: "agent@example.com"}, Paths: f.paths,
	}
}

// assertNothingIsLeft fails the test if a session left a quarantine, a staging folder or
// a part of the old .git.
func (f *repositoryFixture) assertNothingIsLeft() {
	f.t.Helper()
	for _, pattern := range []string{"stores/*/incoming/*", "root/.symphony/*.git-*", "root/.scratch-*", "sessions/tmp/*"} {
		left, err := filepath.Glob(f.path(pattern))
		f.check(err)
		if len(left) > 0 {
			f.t.Errorf("left: %v", left)
		}
	}
}

// published returns the files of the issue's branch, and the number of its commits.
func (f *repositoryFixture) published() (files []string, commits string) {
	f.t.Helper()
	return strings.Fields(f.git(f.origin, "ls-tree", "-r", "--name-only", f.branch.String())),
		f.git(f.origin, "rev-list", "--count", "main.."+f.branch.String())
}

// isPublished reports whether the issue has a branch.
func (f *repositoryFixture) isPublished() bool {
	f.t.Helper()
	return f.git(f.origin, "branch", "--list", f.branch.String()) != ""
}
