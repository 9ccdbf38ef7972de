package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/gittest"
	"github.com/symphony-runner/symphony/internal/shell"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/file"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

const issueName = "ABC-1"

// fixture has an issue in a folder, a repository, and a host, which is this process. The scripted agent
// does what the issue says.
type fixture struct {
	t      testing.TB
	dir    string
	job    attempt.Job
	hosts  *Hosts
	hooks  workspace.Hooks
	origin string // the remote
	store  *git.Store
	branch git.Branch

	deliver  func(context.Context, attempt.Delivery) (attempt.Delivered, error) // replaces publish
	serving  sync.WaitGroup
	updates  []attempt.Update
	there    context.Context // of the host
	programs string          // PATH of the host; empty for that of the test
	report   func(attempt.Update)
	log      lockedBuffer
}

// lockedBuffer is a buffer that several goroutines may use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newFixture(t testing.TB, script string) *fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	f := &fixture{t: t, dir: dir, there: context.WithoutCancel(t.Context()), report: func(attempt.Update) {}}
	f.check(err)
	for _, name := range []string{"issues", "home", "logs", "seed", "host-home"} {
		f.check(os.Mkdir(f.path(name), 0o700))
	}
	f.hooks = workspace.Hooks{Timeout: time.Minute}
	adapter, err := (&file.Config{Path: f.path("issues")}).Open(tracker.Options{}, nil, nil)
	f.check(err)
	f.job = attempt.Job{
		Host: "build1", Account: attempt.Account{Key: "sk-0123456789"}, MaxTurns: 3, Tracker: adapter, Version: "1", Log: slog.New(slog.NewJSONHandler(&f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Codex: codex.Config{
			Command:     "export GORACE=atexit_sleep_ms=0; exec " + shell.Word(os.Args[0]) + ` agent "$CODEX_HOME"`,
			ReadTimeout: time.Minute, TurnTimeout: time.Hour,
		},
		Policy: schedule.Policy{ActiveStates: []string{"Todo", "In Progress"}, TerminalStates: []string{"Done"}},
	}
	f.write("issues/"+issueName+".md", "---\ntitle: A title\nstate: Todo\n---\n"+script)
	issues, err := adapter.IssuesByID(t.Context(), []tracker.ID{issueName})
	f.check(err)
	f.job.Issue = issues[0]
	f.hosts = &Hosts{Dial: f.dial, Log: f.job.Log, Temp: f.dir, Place: Place{Workspaces: workspace.Config{Root: "~/work"}}}
	return f
}

// newRepositoryFixture returns a fixture whose files come from a repository, where its work goes.
func newRepositoryFixture(t testing.TB, script string) *fixture {
	t.Helper()
	f := newFixture(t, script)
	f.origin = f.path("origin.git")
	f.write("seed/README.md", "hello\n")
	f.git("seed", "init", "-q", "-b", "main")
	f.git("seed", "add", "-A")
	f.git("seed", "commit", "-q", "-m", "first")
	f.git(".", "clone", "-q", "--bare", "seed", f.origin)
	host, err := git.Open(t.Context(), git.Config{Dir: f.path("stores"), Workspaces: f.path("no"), Env: []string{"PATH=" + os.Getenv("PATH")}, Log: slog.New(slog.DiscardHandler)})
	f.check(err)
	remote, err := git.ParseRemote(f.origin, "")
	f.check(err)
	f.store, err = host.Store(t.Context(), remote)
	f.check(err)
	t.Cleanup(func() { f.store.Close() })
	f.branch, err = git.BranchFor("symphony/", issueName)
	f.check(err)
	f.deliver = f.publish
	f.job.Repository = &attempt.Repository{
		Host: host, Source: attempt.FromStore(f.store), Hooks: f.hooks,
		Deliver: func(ctx context.Context, d attempt.Delivery) (attempt.Delivered, error) { return f.deliver(ctx, d) },
	}
	f.fetch()
	return f
}

func (f *fixture) fetch() {
	f.t.Helper()
	fetched, err := f.store.Fetch(f.t.Context(), git.Source{Prefix: "symphony/"})
	f.check(err)
	there := fetched.Branches[f.branch]
	start := there
	if start.IsZero() {
		start = fetched.Head
	}
	f.job.Repository.Checkout = git.Checkout{
		Base: fetched.Base, BaseHead: fetched.Head, Branch: f.branch, Head: start, Pushed: there, User: git.Person{Name: "Agent", Email: "agent@example.com"},
	}
}

// publish pushes the work as one commit.
func (f *fixture) publish(ctx context.Context, d attempt.Delivery) (attempt.Delivered, error) {
	in := d.Work.(*git.Incoming)
	changes, err := in.Changes(ctx, in.MergeBase, in.Tip)
	if err != nil {
		return attempt.Delivered{}, err
	}
	who := git.Person{Name: "Symphony", Email: "symphony@example.com", When: time.Unix(1_700_000_000, 0)}
	there := f.job.Repository.Checkout.Pushed
	commit, err := in.Squash(ctx, changes, there, git.Commit{Author: who, Committer: who, Message: "Work\n\n" + d.Title + "\n"})
	if err == nil {
		err = in.Push(ctx, f.branch, commit, there)
	}
	return attempt.Delivered{URL: "https://example.com/pull/1", Head: commit}, err
}

// machine returns the host.
func (f *fixture) machine() Machine {
	environ := []string{"PATH=" + cmp.Or(f.programs, os.Getenv("PATH")), "HOME=" + f.path("host-home")}
	return Machine{Environ: environ, Temp: f.dir, Lookup: func(name string) (string, bool) {
		for _, one := range environ {
			if value, ok := strings.CutPrefix(one, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}}
}

// dial connects to the host.
func (f *fixture) dial(context.Context, string) (Conn, error) {
	here, there := net.Pipe()
	f.serving.Go(func() {
		if err := f.machine().Serve(f.there, there, f.t.Output()); err != nil {
			f.t.Errorf("serve: %v", err)
		}
	})
	return &piped{Conn: here, done: make(chan struct{})}, nil
}

// piped is a connection that says nothing of its end.
type piped struct {
	net.Conn
	once sync.Once
	done chan struct{}
}

func (p *piped) Close() error {
	p.once.Do(func() { close(p.done) })
	return p.Conn.Close()
}

func (p *piped) Done() <-chan struct{} { return p.done }

func (p *piped) Err() error { return nil }

// run runs the session on the host, and returns its outcome when the host has ended.
func (f *fixture) run(ctx context.Context) schedule.Outcome {
	f.t.Helper()
	f.updates = nil
	f.job.EventLog = attempt.OpenEventLog(attempt.LogOptions{
		Folder: f.path("logs"), Name: transcript.Name(issueName, time.Now(), 1), Redact: f.job.Redact, Log: f.job.Log,
		Session: transcript.Session{Began: time.Now(), IssueID: string(f.job.Issue.ID), Identifier: f.job.Issue.Identifier, Number: 1},
	})
	run := f.hosts.Run
	if f.job.Host == "" {
		run = attempt.Run
	}
	outcome := run(ctx, f.job, func(u attempt.Update) {
		f.updates = append(f.updates, u)
		f.report(u)
	})
	f.serving.Wait()
	return f.job.EventLog.End(outcome)
}

// here has the session run here.
func (f *fixture) here() {
	f.t.Helper()
	root, err := workspace.Open(workspace.Config{Root: f.path("host-home/work")}, workspace.Env{Parent: f.machine().Environ}, f.job.Log)
	f.check(err)
	f.t.Cleanup(func() { root.Close() })
	f.job.Host, f.job.Workspaces, f.job.SessionDir = "", root, f.path("sessions")
}

func (f *fixture) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

func (f *fixture) write(name, text string) {
	f.t.Helper()
	f.check(os.WriteFile(f.path(name), []byte(text), 0o600))
}

// read returns the text of a file; empty if there is none.
func (f *fixture) read(name string) string {
	f.t.Helper()
	text, err := os.ReadFile(f.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Fatal(err)
	}
	return string(text)
}

func (f *fixture) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// git runs git in a folder, which may be one of the fixture.
func (f *fixture) git(folder string, args ...string) string {
	f.t.Helper()
	if !filepath.IsAbs(folder) {
		folder = f.path(folder)
	}
	return gittest.Run(f.t, folder, args...)
}

// lines returns the lines of the event log.
func (f *fixture) lines() (lines []transcript.Line) {
	f.t.Helper()
	files, err := transcript.List(os.DirFS(f.path("logs")))
	f.check(err)
	for _, one := range files {
		for line := range strings.Lines(f.read("logs/" + one.Path)) {
			var l transcript.Line
			f.check(json.Unmarshal([]byte(line), &l))
			lines = append(lines, l)
		}
	}
	return lines
}
