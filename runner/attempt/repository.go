package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// checkoutTime bounds each command that fills a workspace.
const checkoutTime = 10 * time.Minute

// Errors of Repository.Deliver and Settle. Those of package git need no mark.
var (
	// ErrDelivery marks an error that every issue shares, such as missing permissions.
	ErrDelivery = errors.New("delivery_unavailable")
	// ErrPerson marks an error after which a person has to decide about the issue, such as
	// a pull request that was closed. It parks the issue with its text.
	ErrPerson = errors.New("delivery_needs_a_person")
)

// Repository says where the files of an issue come from and where the agent's work
// goes. No process of the host runs in the workspace: what happens there happens in the
// agent's sandbox, with the agent's rights. The root of the workspaces needs no hooks.
//
// The work begins at Checkout.Head and is meant for Checkout.Base.
type Repository struct {
	Host     *git.Host
	Store    *git.Store // has fetched what Checkout names
	Checkout git.Checkout

	// Hooks run in the sandbox: after_create and before_run when the files are there,
	// after_run each time before the work is taken, which has what it leaves. They see,
	// of the variables that they name, those that the agent sees as well. BeforeRemove is
	// not used.
	Hooks workspace.Hooks

	// Verify is a shell command that checks the work in the sandbox before it is
	// published; empty checks nothing. If it fails at the end of the session, the end of
	// its output is the text of one more turn, at most VerifyRounds times.
	Verify        string
	VerifyRounds  int
	VerifyTimeout time.Duration // not positive means ten minutes

	// Deliver publishes work, or says why it must not leave. It may be called several
	// times in a session: each time for all the work since Checkout.Head, even if some
	// of it is published. It may keep work that it does not publish as files. The caller
	// closes Delivery.Incoming. The errors are those of package git, [ErrDelivery],
	// [ErrPerson], and others that concern the issue. Work that changes nothing is
	// [git.ErrNothingNew]. If Deliver is nil, the work stays in the workspace.
	Deliver func(context.Context, Delivery) (Delivered, error)

	// Settle is called when a session ends well and has nothing new: it publishes what an
	// earlier session has left half published. Its zero answer means that nothing is
	// published. The errors are those of Deliver. It may be nil.
	Settle func(context.Context) (Delivered, error)
}

// Delivery is work to publish.
type Delivery struct {
	Incoming    *git.Incoming
	Title, Text string // by the agent; empty if it gave none
	Tested      string // what is known of tests, by the host; empty for nothing
	Unproven    bool   // the work failed its check, or the session did not end well
}

// Delivered is the answer to a Delivery.
type Delivered struct {
	URL      string       // of the pull request; empty for none
	Head     git.ObjectID // of the branch
	Refused  string       // why nothing was published, in Markdown for the agent; empty if it was
	Warnings []string     // failures that do not matter for the work
}

// RefusedError reports work at the end of a session that must not leave.
type RefusedError struct{ Reasons string }

func (e *RefusedError) Error() string {
	return "deliver the work: " + git.ErrRefused.Error() + ": " + e.Reasons
}

// Unwrap returns [git.ErrRefused].
func (e *RefusedError) Unwrap() error { return git.ErrRefused }

// delivers reports whether the work is taken from the workspace.
func (a *attempt) delivers() bool { return a.Repository != nil && a.Repository.Deliver != nil }

// runInRepository runs the agent in a workspace of Job.Repository. A new workspace that
// was not filled, and a kept one that cannot be, are removed: the next attempt begins
// with a new one.
func (a *attempt) runInRepository(ctx context.Context, ws workspace.Workspace, template *prompt.Template) error {
	a.work.unfilled = ws.CreatedNow
	err := a.runAgent(ctx, ws, codex.Connect, func(session *codex.Session) error {
		return a.workInRepository(ctx, session, ws, template)
	})
	a.changed = !a.work.published.IsZero()
	if !a.work.unfilled {
		return err
	}
	_, removed := a.Workspaces.Remove(context.WithoutCancel(ctx), ws.Issue)
	return errors.Join(err, removed)
}

// workInRepository fills the workspace, opens the thread, runs the turns and delivers
// the work. The session has no thread yet, so nothing of the agent runs.
func (a *attempt) workInRepository(ctx context.Context, session *codex.Session, ws workspace.Workspace, template *prompt.Template) error {
	a.work.ws = ws
	a.work.session, a.work.began, a.work.publishing = session, time.Now(), make(chan struct{}, 1)
	var prompts prompts
	err := session.CanExec(ctx)
	if err == nil {
		err = a.fill(ctx, session, ws)
	}
	if err == nil { // only now it is known what the workspace has
		prompts, err = a.prompts(template, a.work.kept)
	}
	if err == nil {
		err = session.OpenThread(ctx)
	}
	if err == nil {
		err = a.awaitPreflight(ctx, session)
	}
	if err != nil {
		return err
	}
	settled, taken := false, false
	if err = a.runTurns(ctx, session, prompts.first(session.Resumed())); err == nil && len(a.questions) == 0 {
		settled, err = a.finish(ctx, session)
		taken = err == nil
	}
	if !settled {
		taken = a.abandon(ctx, session)
	}
	if taken && a.delivers() {
		if err := a.Workspaces.SaveNote(ws, nothingLeft); err != nil {
			a.warn("the next session continues with work that is published", err)
		}
	}
	return err
}

// fill gives the workspace a new .git, brings its files to the commit where the work
// begins, and runs the hooks that prepare it. Of a kept workspace only ignored files
// stay, and the commits of work that was not taken.
func (a *attempt) fill(ctx context.Context, session *codex.Session, ws workspace.Workspace) error {
	repo := a.Repository
	err := a.renewGit(ctx, ws)
	if err != nil {
		return err
	}
	switch isRepository, err := a.Workspaces.Seal(ws); {
	case err != nil:
		return err
	case !isRepository:
		return fmt.Errorf("workspace %s: %w: its new .git is gone: find out what else writes there", ws.Path, workspace.ErrUnsafe)
	}
	for _, command := range repo.Host.CheckoutCommands() {
		result, err := session.Exec(ctx, codex.Exec{Argv: command.Args, Env: command.Env, Timeout: checkoutTime, MaxOutput: maxProgramOutput})
		if err == nil && result.ExitCode != 0 {
			err = fmt.Errorf("%w with exit status %d: %s; the workspace is removed, and the next attempt makes a new one",
				errCheckout, result.ExitCode, a.brief(result.Stderr))
			a.work.unfilled = true // what the agent left there may be in the way
		}
		if err != nil {
			return fmt.Errorf("fill workspace %s: %w", ws.Path, err)
		}
	}
	if ws.CreatedNow {
		if err := a.sandboxedHook(ctx, session, "after_create", repo.Hooks.AfterCreate); err != nil {
			return err
		}
		if err := a.Workspaces.Finish(ws); err != nil {
			return err
		}
		a.work.unfilled = false
	}
	return a.sandboxedHook(ctx, session, "before_run", repo.Hooks.BeforeRun)
}

// renewGit gives the workspace a new .git: with what the last session left, if that
// was not taken, else with what the remote has.
func (a *attempt) renewGit(ctx context.Context, ws workspace.Workspace) error {
	left, err := a.leftover(ctx, ws)
	if err != nil {
		return err
	}
	checkout := a.Repository.Checkout
	if left != nil {
		defer left.Close()
		checkout.Head = left.Tip
	}
	err = a.Workspaces.ReplaceGit(ws, func(folder *os.Root) error {
		err := a.Repository.Store.Populate(folder, checkout)
		if err == nil && left != nil {
			err = left.CopyPacks(folder)
		}
		return err
	})
	if err != nil {
		return err
	}
	return a.saveStart(git.ObjectID{})
}

// errCheckout: git could not fill a workspace.
var errCheckout = errors.New("checkout_failed")

// abandon saves what can be saved of a session that did not end well: it runs after_run,
// unless that ran, and publishes the work as unproven, unless the issue is no longer
// ours or there is no time. What ended the session is its outcome, so failures are
// warnings. It reports whether nothing is left to publish.
func (a *attempt) abandon(ctx context.Context, session *codex.Session) (taken bool) {
	a.enter(schedule.StatusFinishing)
	rest, cancel := a.restOf(ctx)
	defer cancel()
	if err := session.CleanTerminals(rest); err != nil {
		a.warn("the work was not taken from the workspace", err)
		return false
	}
	if !a.work.hooked {
		a.sandboxedAfterRun(rest, session)
	}
	if !a.delivers() || ctx.Err() != nil && !isWanted(context.Cause(ctx)) {
		return false
	}
	err := a.publish(rest, untested)
	if err != nil && !errors.Is(err, git.ErrNothingNew) {
		a.warn("the work of the session was not published", err)
		return false
	}
	return true
}

// isWanted reports whether the work of a session that was stopped for a cause is still
// wanted from it, and whether there is time to publish it.
func isWanted(cause error) bool {
	var stop schedule.StopError
	if !errors.As(cause, &stop) {
		return false
	}
	switch schedule.Reason(stop) {
	case schedule.DeadlineReached, schedule.Stalled, schedule.IssueBudget, schedule.TickBudget, schedule.DayBudget:
		return true
	}
	return false
}
