package runner_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/runner/publish"
	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// remote is a real repository that sessions of a fixture deliver to.
type remote struct {
	*fixture
	origin     string
	repository *runner.Repository
	work       func(folder string) // what the agent does
	meanwhile  func()              // what others do before it delivers; nil for nothing
	more       func(folder string) // what the agent does after it has delivered, before it delivers again; nil for nothing
	delivered  []attempt.Delivered
	errs       []error
	renewed    int // deliveries that were put on a newer base
}

// newRemote returns a fixture whose workflow has a repository. Its sessions work in a
// folder that was filled as the job says, and deliver.
func newRemote(t *testing.T, issues ...tracker.Issue) *remote {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	dir := t.TempDir()
	r := &remote{fixture: newFixture(t, issues...), origin: filepath.Join(dir, "origin.git")}
	r.git(dir, "init", "-q", "-b", "main", "seed")
	if err := os.WriteFile(filepath.Join(dir, "seed", "README.md"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.git(filepath.Join(dir, "seed"), "add", "-A")
	r.git(filepath.Join(dir, "seed"), "commit", "-q", "-m", "first")
	r.git(dir, "clone", "-q", "--bare", "seed", r.origin)
	log := slog.New(slog.DiscardHandler)
	host, err := git.Open(t.Context(), git.Config{Dir: filepath.Join(dir, "stores"), Workspaces: r.dir, Env: os.Environ(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	at, err := git.ParseRemote(r.origin, "")
	if err != nil {
		t.Fatal(err)
	}
	someone := git.Person{Name: "Symphony", Email: "symphony@example.com"}
	r.repository = &runner.Repository{
		Host: host, Remote: at, Source: git.Source{Prefix: "symphony/"}, User: someone, Kept: filepath.Join(dir, "refused"),
		Publisher: &publish.Publisher{Policy: delivery.Defaults(), Secrets: redact.New(), Author: someone},
	}
	r.flow.change(func(s *workflow.Settings) {
		s.Repository = &workflow.Repository{Remote: r.origin, BranchPrefix: "symphony/"}
		s.Delivery = workflow.Delivery{Kind: workflow.KindBranch, HandOver: workflow.HandOver{State: "Review"}}
		s.SandboxHooks = true
	}, nil)
	r.work = func(folder string) {
		if err := os.WriteFile(filepath.Join(folder, "work.txt"), []byte("done\n"), 0o644); err != nil {
			t.Error(err)
		}
	}
	r.sessions = r.session
	return r
}

// onGitHub makes the remote one of a GitHub with pull requests.
func (r *remote) onGitHub() *githubtest.GitHub {
	r.t.Helper()
	g := githubtest.New(r.t, storetest.Config{Repo: "acme/shop"})
	at, err := git.ParseRemote(g.CloneURL(), "ghs_storetest")
	if err == nil {
		r.repository.Remote = at
		r.repository.Publisher.GitHub, err = client.New(client.Config{Repo: "acme/shop", Token: "ghs_storetest", APIURL: g.URL()}, nil)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

// run returns a runner over the fixture.
func (r *remote) run() *runner.Runner {
	run := r.fixture.run()
	run.Connect = func(context.Context, workflow.Workflow) (runner.Connection, error) {
		return runner.Connection{Tracker: tracker.Adapter{Reader: r.board, Writer: r.board}, Workspaces: r.root, Repository: r.repository}, nil
	}
	return run
}

func (r *remote) tick() report.Tick {
	r.t.Helper()
	tick, err := r.run().Run(r.t.Context())
	if err != nil {
		r.t.Fatalf("tick: %v\n%s", err, r.log)
	}
	return tick
}

// session does what attempt.Run does with a repository, without a sandbox.
func (r *remote) session(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
	folder := r.t.TempDir()
	fill := func() error {
		if err := os.Mkdir(filepath.Join(folder, ".git"), 0o755); err != nil {
			return err
		}
		root, err := os.OpenRoot(filepath.Join(folder, ".git"))
		if err != nil {
			return err
		}
		defer root.Close()
		return job.Repository.Source.Populate(ctx, root, job.Repository.Checkout)
	}
	if err := fill(); err != nil {
		return schedule.Outcome{Class: schedule.IssueFailed, Why: err.Error()}
	}
	for _, command := range job.Repository.Host.CheckoutCommands(job.Repository.Checkout) {
		r.command(folder, "", command)
	}
	r.work(folder)
	if r.meanwhile != nil {
		r.meanwhile()
	}
	answer, err := r.deliver(ctx, job, folder)
	if r.more != nil && err == nil {
		r.more(folder)
		answer, err = r.deliver(ctx, job, folder)
	}
	r.board.mu.Lock()
	r.delivered, r.errs = append(r.delivered, answer), append(r.errs, err)
	r.board.mu.Unlock()
	switch {
	case err != nil:
		return schedule.Outcome{Class: schedule.IssueFailed, Why: err.Error(), Turns: 1, Thread: "thread"}
	case answer.Refused != "":
		return schedule.Outcome{Class: schedule.IssueFailed, Why: "refused", Refused: answer.Refused, Turns: 1, Thread: "thread"}
	}
	return schedule.Outcome{Class: schedule.Done, Delivered: !answer.Head.IsZero() || answer.URL != "", Turns: 1, Thread: "thread"}
}

// deliver takes the work out of a folder and has it published.
func (r *remote) deliver(ctx context.Context, job attempt.Job, folder string) (attempt.Delivered, error) {
	from := git.From{Start: job.Repository.Checkout.Head, Base: job.Repository.Checkout.Base}
	harvest := r.command(folder, "", job.Repository.Host.Harvest(from.Start, r.t.TempDir(), git.WorkTree{}))
	in, err := job.Repository.Source.Receive(ctx, strings.NewReader(harvest), from)
	if errors.Is(err, git.ErrNothingNew) {
		return job.Repository.Settle(ctx, receipt.Receipt{})
	}
	if err != nil {
		return attempt.Delivered{}, err
	}
	defer in.Close()
	got, err := job.Repository.Deliver(ctx, attempt.Delivery{Work: in, Title: "Add work"})
	if errors.Is(err, attempt.ErrRenewed) {
		r.renewed++
		got, err = job.Repository.Deliver(ctx, attempt.Delivery{Work: in, Title: "Add work"})
	}
	return got, err
}

// command runs a command in a folder as an agent does.
func (r *remote) command(folder, stdin string, c git.Command) string {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = folder, append(os.Environ(), c.Env...), strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Errorf("%v: %v\n%s", c.Args, err, &stderr)
	}
	return string(out)
}

// git runs git as a person does.
func (r *remote) git(folder string, args ...string) string {
	r.t.Helper()
	return strings.TrimSpace(r.command(folder, "", git.Command{Args: append([]string{"git"}, args...), Env: []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
	}}))
}

// branches returns the branches of the remote.
func (r *remote) branches() string {
	return r.git(r.origin, "for-each-ref", "--format=%(refname:short)")
}

func (b *board) Comment(context.Context, tracker.ID, string, string) error { return nil }

func (b *board) Label(context.Context, tracker.ID, string, bool) error { return nil }

func (b *board) Move(_ context.Context, id tracker.ID, state string) error {
	b.mu.Lock()
	fail := b.moved
	b.mu.Unlock()
	if fail != nil {
		if err := fail(id); err != nil {
			return err
		}
	}
	b.move(id, state)
	return nil
}
