package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// Errors of Repository.Deliver and Settle. Errors of package git need no mark.
var (
	// ErrDelivery marks an error that every issue shares, such as missing permissions.
	ErrDelivery = errors.New("delivery_unavailable")
	// ErrPerson marks an error after which a person has to decide about the issue, such as
	// a pull request that was closed. It parks the issue with its text.
	ErrPerson = errors.New("delivery_needs_a_person")
	// ErrRenewed says that Delivery.Work is on a newer base now: it has to be checked again
	// and delivered again.
	ErrRenewed = fmt.Errorf("%w: the work was put on a newer base", git.ErrMoved)
)

// Repository names the source of the files of an issue and the target of the agent's work.
// Unless its hooks are trusted, no process of the host runs in the workspace: everything there
// happens in the agent's sandbox, with the agent's rights.
//
// The work begins at Checkout.Head and is meant for Checkout.Base.
type Repository struct {
	Host     *git.Host `json:"-"`
	Source   Source    `json:"-"` // has the commits of Checkout
	Checkout git.Checkout
	// Submodules says that the submodules of Checkout.Head are in the workspace, as
	// Checkout.BaseHead names them.
	Submodules bool
	LFS        *LFS // nil leaves files in Git LFS pointers

	// Hooks run in the sandbox: after_create and before_run when the files are there, after_run
	// each time before the work is taken, which includes the files of the hook. A variable
	// that they name is theirs only if the agent sees it as well. BeforeRemove is not used.
	Hooks workspace.Hooks
	// TrustedHooks says that the hooks of Job.Workspaces run instead, outside the sandbox, as
	// they do without a repository: when no process of the agent is alive. after_run runs when
	// the work has been taken, which does not include the files of the hook.
	TrustedHooks bool

	Setup *Setup // preparation of the project; nil, or one without a script, for none

	// Verify holds shell commands that check the work in the sandbox, one after the other in one
	// clean checkout of it, before it is published; none checks nothing. If one fails at the end of
	// the session, the end of its output is the text of one more turn, at most VerifyRounds times.
	Verify        []string
	VerifyRounds  int
	VerifyTimeout time.Duration // time of the whole check; not positive means ten minutes

	Review *Review // second look at the work before it is published; nil for none

	// Deliver publishes work, or returns an error if it must not leave. It may be called
	// several times in a session: each time for all the work since Checkout.Head, even if some
	// of it is published. It may keep work that it does not publish as files. The caller closes
	// Delivery.Work. It fails with the errors of package git, [ErrDelivery], [ErrPerson],
	// [ErrRenewed], and others that concern the issue. Work that changes nothing is
	// [git.ErrNothingNew]. If Deliver is nil, the work stays in the workspace.
	Deliver func(context.Context, Delivery) (Delivered, error) `json:"-"`

	// Settle is called when a session ends well and has nothing new, and before the agent of
	// one that is [Job.Unsettled]: it publishes work that an earlier session has left half
	// published. Its zero answer means that nothing is published. It fails with the errors of
	// Deliver. It may be nil.
	Settle func(context.Context, receipt.Receipt) (Delivered, error) `json:"-"`
}

// Delivery is work to publish.
type Delivery struct {
	Work        Work   `json:"-"`
	Title, Text string // the agent's title and text; empty if it gave none
	Receipt     receipt.Receipt
	Unproven    bool // the work failed its check, or the session did not end well
}

// Delivered is the answer to a Delivery.
type Delivered struct {
	URL      string       // address of the pull request; empty for none
	Head     git.ObjectID // head of the branch
	Refused  string       // reasons why nothing was published, in Markdown for the agent; empty if it was
	Warnings []string     // failures that do not matter for the work
	// Published says of an error that the branch has all the work, and a later try needs no agent.
	Published bool
	// Unchanged says that all of it was published before.
	Unchanged bool
}

// RefusedError reports work at the end of a session that must not leave.
type RefusedError struct{ Reasons string }

func (e *RefusedError) Error() string {
	return "deliver the work: " + git.ErrRefused.Error() + ": " + e.Reasons
}

// Unwrap returns [git.ErrRefused].
func (e *RefusedError) Unwrap() error { return git.ErrRefused }

// delivers reports whether the work is taken from the workspace. A nil Repository does not.
func (r *Repository) delivers() bool { return r != nil && r.Deliver != nil }

// setup returns the preparation of the project; nil for a project that is not prepared.
func (r *Repository) setup() *Setup {
	if r == nil || r.Setup == nil || r.Setup.Run == "" {
		return nil
	}
	return r.Setup
}

// runInRepository runs the agent in a workspace of Job.Repository. A new workspace that
// was not filled, and a kept one that cannot be, are removed: the next attempt begins
// with a new one.
func (a *attempt) runInRepository(ctx context.Context, ws workspace.Workspace, template *prompt.Template) error {
	a.filler.unfilled = ws.CreatedNow
	run := a.runWithSandboxedHooks
	if a.Repository.TrustedHooks {
		run = a.runWithTrustedHooks
	}
	err := a.preparation.find(ctx, func(key setup.Key) error { return a.prepareProject(ctx, ws, key) })
	if err == nil {
		err = run(ctx, ws, template)
	}
	if !a.filler.unfilled {
		return err
	}
	rest, cancel := a.restOf(ctx)
	defer cancel()
	_, removed := a.Workspaces.Remove(rest, ws.Issue)
	return errors.Join(err, removed)
}

// runWithSandboxedHooks runs the agent. The hooks before it run in the same session, which
// has no thread yet, so nothing of the agent runs.
func (a *attempt) runWithSandboxedHooks(ctx context.Context, ws workspace.Workspace, template *prompt.Template) error {
	hooks := a.Repository.Hooks
	return a.runAgent(ctx, ws, codex.Connect, func() error {
		if err := a.filler.fill(ctx, a.awaitPreflight); err != nil {
			return err
		}
		if ws.CreatedNow {
			err := a.sandbox.hook(ctx, a.sandbox.here, "after_create", hooks.AfterCreate)
			if err == nil {
				err = a.finishWorkspace(ws)
			}
			if err != nil {
				return err
			}
		}
		if err := a.sandbox.hook(ctx, a.sandbox.here, "before_run", hooks.BeforeRun); err != nil {
			return err
		}
		return a.runThread(ctx, ws, template)
	})
}

// runWithTrustedHooks runs the agent. Its process fills the workspace and ends before the hooks
// run, and after_run runs when the process of the turns has ended: a hook outside the sandbox
// never runs beside the agent, except in the folder of a check (verify.go).
func (a *attempt) runWithTrustedHooks(ctx context.Context, ws workspace.Workspace, template *prompt.Template) error {
	err := a.runAgent(ctx, ws, codex.Connect, func() error { return a.filler.fill(ctx, a.awaitPreflight) })
	if err != nil {
		return err
	}
	if ws.CreatedNow {
		began := time.Now()
		if err = a.logHook(began, a.Workspaces.AfterCreate(ctx, ws)); err == nil {
			err = a.finishWorkspace(ws)
		}
		if err != nil {
			return err
		}
	}
	defer a.afterRun(ctx, ws)
	if err := a.beforeRun(ctx, ws); err != nil {
		return err
	}
	return a.runAgent(ctx, ws, codex.Connect, func() error {
		err := a.filler.seal(ws)
		if err == nil {
			err = a.preparation.take(ctx, a.sandbox.here, a.sandbox.here.home())
		}
		if err != nil {
			return err
		}
		return a.runThread(ctx, ws, template)
	})
}

func (a *attempt) finishWorkspace(ws workspace.Workspace) error {
	err := a.Workspaces.Finish(ws)
	a.filler.unfilled = err != nil
	return err
}

// runThread opens the thread, runs the turns and delivers the work.
func (a *attempt) runThread(ctx context.Context, ws workspace.Workspace, template *prompt.Template) error {
	prompts, err := a.prompts(template, a.leftovers.kept) // only now the contents of the workspace are known
	if err == nil {
		err = a.sandbox.session.OpenThread(ctx)
	}
	if err == nil {
		err = a.awaitPreflight(ctx)
	}
	if err != nil {
		return err
	}
	before := ""
	if !a.Repository.delivers() {
		before = a.fingerprint(ctx, ws)
	}
	err = a.runTurns(ctx, prompts.first(a.sandbox.session.Resumed()))
	if !a.Repository.delivers() {
		a.changed = before == "" || before != a.fingerprint(context.WithoutCancel(ctx), ws)
	}
	settled, taken := false, false
	if err == nil && len(a.questions) == 0 {
		settled, err = a.finish(ctx)
		taken = err == nil
	}
	switch {
	case a.publication.unsettled: // the branch has all of it, and the same again would be refused
		taken = true
	case !settled:
		taken = a.abandon(ctx)
	}
	a.leftovers.endAside(settled && taken)
	if !a.Repository.delivers() {
		return err
	}
	a.changed = a.publication.changed
	if taken {
		if err := a.Workspaces.SaveNote(ws, noteTaken); err != nil {
			a.warn("the next session continues with work that is published", err)
		}
	}
	return err
}
