package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

const ourSecret = "hunter2-hunter2"

var now = time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)

// fixture is a real remote, a store that has fetched it, and a GitHub that is not real.
type fixture struct {
	t         testing.TB
	dir       string
	origin    string // the remote
	host      *git.Host
	store     *git.Store
	branch    git.Branch
	hub       *hub
	saved     []Record
	harvested []byte // by the latest session
	*Publisher
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, dir: dir, origin: filepath.Join(dir, "origin.git")}
	f.write("seed/README.md", "hello\n")
	f.write("seed/.github/workflows/ci.yml", "on: push\n")
	f.write("seed/model.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
	f.git("seed", "init", "-q", "-b", "main")
	f.git("seed", "add", "-A")
	f.git("seed", "commit", "-q", "-m", "first")
	f.git(".", "clone", "-q", "--bare", "seed", f.origin)
	f.host, err = git.Open(t.Context(), git.Config{
		Dir: filepath.Join(dir, "stores"), Workspaces: filepath.Join(dir, "workspaces"),
		Env: []string{"PATH=" + os.Getenv("PATH")}, Log: slog.New(slog.DiscardHandler),
	})
	f.check(err)
	remote, err := git.ParseRemote(f.origin, "")
	f.check(err)
	f.store, err = f.host.Store(t.Context(), remote)
	f.check(err)
	t.Cleanup(func() { f.store.Close() })
	f.branch, err = git.BranchFor("symphony/", "GH-7")
	f.check(err)
	f.hub = newHub(t)
	c, err := client.New(client.Config{Repo: "acme/shop", Token: "ghp_0123456789abcdefghij", APIURL: f.hub.URL}, nil)
	f.check(err)
	c.Transport.Pause = time.Millisecond
	f.Publisher = &Publisher{
		Policy: delivery.Defaults(), Secrets: redact.New(ourSecret), GitHub: c,
		Author: git.Person{Name: "Symphony", Email: "symphony@example.com"},
	}
	return f
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

// hub is GitHub as far as pull requests go.
type hub struct {
	*httptest.Server
	mu       sync.Mutex
	pulls    []*pull
	requests []string
	// disturb answers a request in place of the hub if it returns true.
	disturb func(http.ResponseWriter, *http.Request) bool
}

// pull is a pull request.
type pull struct {
	Number      int            `json:"number"`
	Title       string         `json:"title"`
	Body        string         `json:"body"`
	State       string         `json:"state"`
	Draft       bool           `json:"draft"`
	URL         string         `json:"html_url"`
	MergedAt    *time.Time     `json:"merged_at"`
	MergeCommit string         `json:"merge_commit_sha"`
	Head        map[string]any `json:"head"`
	Base        map[string]any `json:"base"`
}

func newHub(t testing.TB) *hub {
	h := &hub{}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, r.Method+" "+r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	if h.disturb != nil && h.disturb(w, r) {
		return
	}
	var answer any = map[string]any{}
	path := strings.TrimPrefix(r.URL.Path, "/repos/acme/shop")
	switch {
	case r.Method == http.MethodGet && path == "/pulls":
		list := []*pull{}
		for i := len(h.pulls) - 1; i >= 0; i-- {
			if "acme:"+fmt.Sprint(h.pulls[i].Head["ref"]) == r.URL.Query().Get("head") {
				list = append(list, h.pulls[i])
			}
		}
		answer = list
	case r.Method == http.MethodPost && path == "/pulls":
		var body struct {
			Title, Body, Head, Base string
			Draft                   bool
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		n := len(h.pulls) + 1
		h.pulls = append(h.pulls, &pull{
			Number: n, Title: body.Title, Body: strings.ReplaceAll(body.Body, "\n", "\r\n"), State: "open", Draft: body.Draft,
			URL:  fmt.Sprintf("https://github.com/acme/shop/pull/%d", n),
			Head: map[string]any{"ref": body.Head, "repo": map[string]any{"full_name": "acme/shop"}}, Base: map[string]any{"ref": body.Base},
		})
		answer = h.pulls[n-1]
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodPatch:
		var body struct{ Title, Body *string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		for _, p := range h.pulls {
			if path != fmt.Sprintf("/pulls/%d", p.Number) {
				continue
			}
			if body.Title != nil {
				p.Title = *body.Title
			}
			if body.Body != nil {
				p.Body = *body.Body
			}
			answer = p
		}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// took returns the requests since the last call.
func (h *hub) took() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	requests := strings.Join(h.requests, "\n")
	h.requests = nil
	return requests
}

// refuse answers requests with a status and a message, n times.
func (h *hub) refuse(method, path string, status, n int, message string) {
	h.disturb = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || !strings.HasSuffix(r.URL.Path, path) || n == 0 {
			return false
		}
		n--
		w.WriteHeader(status)
		fmt.Fprint(w, message)
		return true
	}
}
