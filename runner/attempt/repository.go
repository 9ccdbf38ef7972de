package attempt

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/setup"
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
	// ErrRenewed says that Delivery.Incoming is on a newer base now: it has to be checked again
	// and delivered again.
	ErrRenewed = fmt.Errorf("%w: the work was put on a newer base", git.ErrMoved)
)

// Repository says where the files of an issue come from and where the agent's work
// goes. Unless its hooks are trusted, no process of the host runs in the workspace: what
// happens there happens in the agent's sandbox, with the agent's rights.
//
// The work begins at Checkout.Head and is meant for Checkout.Base.
type Repository struct {
	Host     *git.Host
	Store    *git.Store // has fetched what Checkout names
	Checkout git.Checkout
	// Submodules says that the submodules of Checkout.Head are in the workspace, as
	// Checkout.BaseHead names them.
	Submodules bool
	LFS        *LFS // nil leaves files in Git LFS pointers

	// Hooks run in the sandbox: after_create and before_run when the files are there,
	// after_run each time before the work is taken, which has what it leaves. They see,
	// of the variables that they name, those that the agent sees as well. BeforeRemove is
	// not used.
	Hooks workspace.Hooks
	// TrustedHooks says that those of Job.Workspaces run instead, outside the sandbox, as
	// they do without a repository: when no process of the agent is alive. after_run runs
	// when the work has been taken, which does not have what the hook leaves.
	TrustedHooks bool

	Setup *Setup // how the project is prepared; nil, or one without a script, for a project that is not

	// Verify is a shell command that checks the work in the sandbox, in a clean checkout of
	// it, before it is published; empty checks nothing. If it fails at the end of the session, the end of
	// its output is the text of one more turn, at most VerifyRounds times.
	Verify        string
	VerifyRounds  int
	VerifyTimeout time.Duration // not positive means ten minutes

	// Deliver publishes work, or returns why it must not leave. It may be called several
	// times in a session: each time for all the work since Checkout.Head, even if some of
	// it is published. It may keep work that it does not publish as files. The caller
	// closes Delivery.Incoming. It fails with the errors of package git, [ErrDelivery],
	// [ErrPerson], [ErrRenewed], and others that concern the issue. Work that changes nothing is
	// [git.ErrNothingNew]. If Deliver is nil, the work stays in the workspace.
	Deliver func(context.Context, Delivery) (Delivered, error)

	// Settle is called when a session ends well and has nothing new, and before the agent of
	// one that is [Job.Unsettled]: it publishes what an earlier session has left half
	// published. tested is what is known of tests, empty for nothing. Its zero answer means
	// that nothing is published. It fails with the errors of Deliver. It may be nil.
	Settle func(ctx context.Context, tested string) (Delivered, error)
}

// Delivery is work to publish.
type Delivery struct {
	Incoming    *git.Incoming
	Title, Text string // by the agent; empty if it gave none
	Tested      string // what is known of tests, by the host; empty for nothing
	Blocked     string // paragraph on the hosts that commands were refused; empty for none
	Unproven    bool   // the work failed its check, or the session did not end well
}

// Delivered is the answer to a Delivery.
type Delivered struct {
	URL      string       // of the pull request; empty for none
	Head     git.ObjectID // of the branch
	Refused  string       // why nothing was published, in Markdown for the agent; empty if it was
	Warnings []string     // failures that do not matter for the work
	// There says of an error that the branch has all the work, and a later try needs no agent.
	There bool
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

// delivers reports whether the work is taken from the workspace.
func (a *attempt) delivers() bool { return a.Repository != nil && a.Repository.Deliver != nil }

// runInRepository runs the agent in a workspace of Job.Repository. A new workspace that
// was not filled, and a kept one that cannot be, are removed: the next attempt begins
// with a new one.
func (a *attempt) runInRepository(ctx context.Context, ws workspace.Workspace, template *prompt.Template) error {
	a.work.ws, a.work.began, a.work.publishing = ws, time.Now(), make(chan struct{}, 1)
	a.work.unfilled = ws.CreatedNow
	run := a.runWithSandboxedHooks
	if a.Repository.TrustedHooks {
		run = a.runWithTrustedHooks
	}
	err := a.findPack(ctx, ws)
	if err == nil {
		err = run(ctx, ws, template)
	}
	if !a.work.unfilled {
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
	return a.runAgent(ctx, ws, codex.Connect, func(session *codex.Session) error {
		if err := a.fill(ctx, session, ws); err != nil {
			return err
		}
		if ws.CreatedNow {
			err := a.sandboxedHook(ctx, session, "", "after_create", hooks.AfterCreate)
			if err == nil {
				err = a.finishWorkspace(ws)
			}
			if err != nil {
				return err
			}
		}
		if err := a.sandboxedHook(ctx, session, "", "before_run", hooks.BeforeRun); err != nil {
			return err
		}
		return a.runThread(ctx, session, ws, template)
	})
}

// runWithTrustedHooks runs the agent. Its process fills the workspace and ends before the
// hooks run, and after_run runs when that of the turns has ended: a hook outside the
// sandbox never runs beside the agent, except in the folder of a check (verify.go).
func (a *attempt) runWithTrustedHooks(ctx context.Context, ws workspace.Workspace, template *prompt.Template) error {
	err := a.runAgent(ctx, ws, codex.Connect, func(session *codex.Session) error { return a.fill(ctx, session, ws) })
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
	return a.runAgent(ctx, ws, codex.Connect, func(session *codex.Session) error {
		a.work.session = session
		err := a.seal(ws)
		if err == nil {
			err = a.takePack(ctx, "", a.sessionHome())
		}
		if err != nil {
			return err
		}
		return a.runThread(ctx, session, ws, template)
	})
}

// finishWorkspace records that a new workspace is filled.
func (a *attempt) finishWorkspace(ws workspace.Workspace) error {
	err := a.Workspaces.Finish(ws)
	a.work.unfilled = err != nil
	return err
}

// runThread opens the thread, runs the turns and delivers the work.
func (a *attempt) runThread(ctx context.Context, session *codex.Session, ws workspace.Workspace, template *prompt.Template) error {
	a.work.session = session
	prompts, err := a.prompts(template, a.work.kept) // only now it is known what the workspace has
	if err == nil {
		err = session.OpenThread(ctx)
	}
	if err == nil {
		err = a.awaitPreflight(ctx, session)
	}
	if err != nil {
		return err
	}
	before := ""
	if !a.delivers() {
		before = a.fingerprint(ctx, ws)
	}
	err = a.runTurns(ctx, session, prompts.first(session.Resumed()))
	if !a.delivers() {
		a.changed = before == "" || before != a.fingerprint(context.WithoutCancel(ctx), ws)
	}
	settled, taken := false, false
	if err == nil && len(a.questions) == 0 {
		settled, err = a.finish(ctx, session)
		taken = err == nil
	}
	switch {
	case a.work.unsettled: // the branch has all of it, and the same again would be refused
		taken = true
	case !settled:
		taken = a.abandon(ctx, session)
	}
	a.endAside(settled && taken)
	if !a.delivers() {
		return err
	}
	a.changed = a.work.changed
	if taken {
		if err := a.Workspaces.SaveNote(ws, nothingLeft); err != nil {
			a.warn("the next session continues with work that is published", err)
		}
	}
	return err
}

// fill gives the workspace a new .git and brings its files to the commit where the work
// begins. Of a kept workspace only ignored files stay, and the commits of work that was
// not taken. The session has no thread.
func (a *attempt) fill(ctx context.Context, session *codex.Session, ws workspace.Workspace) error {
	a.work.session = session
	err := session.CanExec(ctx)
	var checkout git.Checkout
	if err == nil {
		checkout, err = a.renewGit(ctx, ws)
	}
	if err == nil {
		err = a.seal(ws)
	}
	if err == nil {
		err = a.awaitPreflight(ctx, session) // the checkout is the first to need the sandbox
	}
	if err != nil {
		return err
	}
	var further []git.Command
	if !ws.CreatedNow || len(checkout.Submodules) > 0 {
		further = append(further, a.Repository.Host.SubmodulesCommand(checkout.Submodules))
	}
	left, err := a.checkOut(ctx, session, "", checkout, further...)
	if err == nil {
		err = a.takePrepared(ctx, ws)
	}
	if errors.Is(err, errCheckout) {
		a.work.unfilled = true // what the agent left there may be in the way
		err = fmt.Errorf("%w; the workspace is removed, and the next attempt makes a new one", err)
	}
	if err != nil {
		return fmt.Errorf("fill workspace %s: %w", ws.Path, err)
	}
	a.work.checkout = checkout
	a.work.tree = git.WorkTree{Paths: checkout.Paths, LeftOut: left, LFS: checkout.Objects != nil}
	if err := a.saveStart(git.ObjectID{}, filesOf(a.work.tree)); err != nil || a.work.head.number == 0 {
		return err
	}
	return a.Workspaces.DropWork(ws, a.work.head.number)
}

// checkOut brings the files of a folder with a new .git to the commit of a checkout, by
// commands in the sandbox, and runs further ones after them. An empty folder is the
// workspace; see execIn. It returns the folders that are left out.
func (a *attempt) checkOut(ctx context.Context, session *codex.Session, folder string, c git.Checkout, further ...git.Command) ([]string, error) {
	doing := "filling the workspace"
	if folder != "" {
		doing = "preparing the folder in which the work is checked"
	}
	var printed bytes.Buffer
	for _, command := range append(a.Repository.Host.CheckoutCommands(c), further...) {
		result, err := session.Exec(ctx, execIn(folder, codex.Exec{
			Argv: command.Args, Doing: doing, Env: command.Env, Timeout: checkoutTime, MaxOutput: maxProgramOutput, Stdout: &printed,
		}))
		if err == nil && result.ExitCode != 0 {
			err = fmt.Errorf("%w with exit status %d: %s", errCheckout, result.ExitCode, a.brief(result.Stderr))
		}
		if err != nil {
			return nil, err
		}
	}
	return git.LeftOut(strings.Fields(printed.String())), nil
}

// seal prepares the .git of the host for the agent.
func (a *attempt) seal(ws workspace.Workspace) error {
	isRepository, err := a.Workspaces.Seal(ws)
	if err == nil && !isRepository {
		err = fmt.Errorf("workspace %s: %w: its new .git is gone: find out what else writes there", ws.Path, workspace.ErrUnsafe)
	}
	return err
}

// renewGit gives the workspace a new .git: with what the last session left, if that
// was not taken, else with what the remote has. It returns what is to be checked out.
func (a *attempt) renewGit(ctx context.Context, ws workspace.Workspace) (git.Checkout, error) {
	checkout, store := a.Repository.Checkout, a.Repository.Store
	works, err := a.leftover(ctx, ws)
	if err != nil {
		return checkout, err
	}
	defer closeAll(works)
	checkout.ReadOnly, err = store.ReadOnly(ctx, nil, checkout.Head, checkout.BaseHead, checkout.Pushed)
	for _, work := range works {
		a.work.lost = cmp.Or(a.work.lost, work.Untaken.String())
		if err == nil && !checkout.ReadOnly {
			checkout.ReadOnly, err = store.ReadOnly(ctx, work.Incoming, work.Tip)
		}
		saved := savedWork{work.number, work.Tip}
		if a.work.head.number > 0 || !a.continues(work) {
			a.work.aside, checkout.Aside = append(a.work.aside, saved), append(checkout.Aside, work.Tip)
			continue
		}
		a.work.head, checkout.Head = saved, work.Tip
		if checkout.Pushed.IsZero() { // the base may have moved, without the work
			a.work.start = work.from.Start
		}
	}
	if err == nil {
		checkout.Objects, err = a.objects(ctx)
	}
	if err == nil {
		err = a.findSubmodules(ctx)
		checkout.Submodules, checkout.Exclude = a.work.submodules, a.keptPaths()
	}
	if err == nil {
		err = a.saveStart(git.ObjectID{}, replacing)
	}
	if err != nil {
		return checkout, err
	}
	err = a.Workspaces.ReplaceGit(ws, func(folder *os.Root) error {
		err := store.Populate(ctx, folder, checkout)
		if err == nil {
			err = a.stagePack(folder, setup.Places{Work: ws.Path, Home: a.sessionHome()}, a.needsPack(ws))
		}
		for _, work := range works {
			if err == nil {
				err = work.CopyPacks(ctx, folder)
			}
		}
		return err
	})
	if err == nil {
		err = a.saveStart(git.ObjectID{}, filling)
	}
	return checkout, err
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
