package publish

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

const ourSecret = "hunter2-hunter2"

var now = time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)

// fixture is a real remote on a GitHub that is not real, and a store that has fetched it.
type fixture struct {
	t         testing.TB
	dir       string
	github    *githubtest.GitHub
	asked     int    // requests to it that took has returned
	origin    string // the remote
	host      *git.Host
	store     *git.Store
	branch    git.Branch
	saved     []Record
	harvested []byte // by the latest session
	*Publisher
}

// newFixture returns a fixture with some files, whose git reads the remote without a server.
func newFixture(t testing.TB) *fixture {
	t.Helper()
	g := githubtest.New(t, storetest.Config{Repo: "acme/shop"})
	f := openFixture(t, g, g.GitDir(), "")
	history := "commit refs/heads/main\ncommitter A <a@example.com> 1700000000 +0000\ndata 5\nfirst\n"
	for name, text := range map[string]string{
		"README.md": "hello\n", ".github/workflows/ci.yml": "on: push\n", "model.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
	} {
		history += fmt.Sprintf("M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	f.replaceHistory(history)
	return f
}

// openFixture returns a fixture whose git reads a remote at an address.
func openFixture(t testing.TB, g *githubtest.GitHub, address, token string) *fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, dir: dir, github: g, origin: g.GitDir()}
	f.host, err = git.Open(t.Context(), git.Config{
		Dir: filepath.Join(dir, "stores"), Workspaces: filepath.Join(dir, "workspaces"),
		Env: []string{"PATH=" + os.Getenv("PATH")}, Log: slog.New(slog.DiscardHandler),
	})
	f.check(err)
	remote, err := git.ParseRemote(address, git.Token(token))
	f.check(err)
	f.store, err = f.host.Store(t.Context(), remote)
	f.check(err)
	t.Cleanup(func() { f.store.Close() })
	f.branch, err = git.BranchFor("symphony/", "GH-7")
	f.check(err)
	c, err := client.New(client.Config{Repo: "acme/shop", Token: "ghs_storetest", APIURL: g.URL()}, nil)
	f.check(err)
	c.Transport.Pause = time.Millisecond
	f.Publisher = &Publisher{
		Policy: delivery.Defaults(), Secrets: redact.New(ourSecret), GitHub: c,
		Author: git.Person{Name: "Symphony", Email: "symphony@example.com"},
	}
	return f
}

// replaceHistory imports the main branch of the remote, in place of the one that it has.
func (f *fixture) replaceHistory(text string) {
	f.t.Helper()
	f.write("import", text)
	f.run(f.origin, nil, "sh", "-c", `git fast-import --quiet --force <"$0"`, filepath.Join(f.dir, "import"))
}

func (f *fixture) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	f.check(os.MkdirAll(filepath.Dir(path), 0o755))
	f.check(os.WriteFile(path, []byte(text), 0o644))
}

// git runs git as a person does, in a folder of the fixture.
func (f *fixture) git(folder string, args ...string) string {
	f.t.Helper()
	return f.run(folder, nil, append([]string{"git"}, args...)...)
}

func (f *fixture) run(folder string, env []string, args ...string) string {
	f.t.Helper()
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(f.dir, folder)
	}
	f.check(os.MkdirAll(folder, 0o755))
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = folder
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
	}, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("%v in %s: %v\n%s", args, folder, err, &stderr)
	}
	return string(out)
}

// session makes a workspace as the host does, lets an agent work in it, and takes the
// work.
func (f *fixture) session(agent func(folder string)) Work {
	f.t.Helper()
	fetched, err := f.store.Fetch(f.t.Context(), git.Source{Prefix: "symphony/"})
	f.check(err)
	there := fetched.Branches[f.branch]
	start := there
	if start.IsZero() {
		start = fetched.Head
	}
	folder, err := os.MkdirTemp(f.dir, "work")
	f.check(err)
	f.check(os.Mkdir(filepath.Join(folder, ".git"), 0o755))
	root, err := os.OpenRoot(filepath.Join(folder, ".git"))
	f.check(err)
	defer root.Close()
	f.check(f.store.Populate(f.t.Context(), root, git.Checkout{
		Base: fetched.Base, BaseHead: fetched.Head, Branch: f.branch, Head: start, Pushed: there,
		User: git.Person{Name: "Agent", Email: "agent@example.com"},
	}))
	for _, command := range f.host.CheckoutCommands(git.Checkout{}) {
		f.run(folder, command.Env, command.Args...)
	}
	agent(folder)
	harvest := f.host.Harvest(start, f.t.TempDir(), git.WorkTree{})
	f.harvested = []byte(f.run(folder, harvest.Env, harvest.Args...))
	in, err := f.store.Receive(f.t.Context(), bytes.NewReader(f.harvested), git.From{Start: start, Base: fetched.Base})
	f.check(err)
	f.t.Cleanup(func() { in.Close() })
	return Work{
		Incoming: in, Issue: "GH-7", Branch: f.branch, RemoteHead: there, Title: "Add a cart", Text: "It has wheels.",
		Default: "GH-7: A cart", Closing: "Fixes #7",
		Save: f.save,
	}
}

// save is the Save of all works.
func (f *fixture) save(_ context.Context, r Record) error {
	f.saved = append(f.saved, r)
	return nil
}

// adds returns an agent that adds one file.
func (f *fixture) adds(name, text string) func(string) {
	return func(folder string) {
		path := filepath.Join(folder, name)
		f.check(os.MkdirAll(filepath.Dir(path), 0o755))
		f.check(os.WriteFile(path, []byte(text), 0o644))
	}
}

// publish publishes work, which has to succeed.
func (f *fixture) publish(w Work) Result {
	f.t.Helper()
	r, err := f.Publish(f.t.Context(), w, now)
	f.check(err)
	if len(r.Verdict.Refusals) > 0 {
		f.t.Fatalf("refused: %v", r.Verdict.Refusals)
	}
	return r
}

// remote returns the branches of the remote, one a line.
func (f *fixture) remote() string {
	f.t.Helper()
	return f.git(f.origin, "for-each-ref", "--format=%(refname)")
}

// onBranch runs git on the branch of the issue at the remote.
func (f *fixture) onBranch(args ...string) string {
	f.t.Helper()
	return f.git(f.origin, append(args, "refs/heads/symphony/GH-7")...)
}

// took returns the requests of the REST API since the last call.
func (f *fixture) took() string {
	log := f.github.Log()
	var requests []string
	for _, request := range log[f.asked:] {
		request, _, _ = strings.Cut(request, "?")
		requests = append(requests, strings.Replace(request, "/api/v3", "", 1))
	}
	f.asked = len(log)
	return strings.Join(requests, "\n")
}

// refuse answers the next requests of a kind with a status and a body, n times.
func (f *fixture) refuse(op storetest.Op, status, n int, body string) {
	f.github.Fail(op, slices.Repeat([]storetest.Fault{{Status: status, Body: body}}, n)...)
}

// edit has a person give a pull request another title or text.
func (f *fixture) edit(title, text *string) {
	f.t.Helper()
	_, err := f.GitHub.Pulls.Edit(f.t.Context(), 1, title, text)
	f.check(err)
}
