package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// The check of the work, Repository.Verify, runs in a clean checkout of the commit that was
// harvested, in a scratch folder that the agent can neither read nor write. In the agent's
// own folder a file that git ignores could make it pass, and nobody who reads the pull
// request would see that file. The hooks prepare the folder as they prepare the workspace
// of the next issue: in the sandbox, on the work itself. Hooks that are trusted run outside
// the sandbox and so on the base alone, before the work is checked out over it.

// unfinished is the text about tests for the work of a session that did not end well.
const unfinished = "The session ended before the agent was done."

// unchecked is the text about tests for work that nothing but the agent has checked.
const unchecked = "Nothing but the agent has checked it: `delivery.verify` is empty."

// checkPassed is the text about tests for work that has passed its check.
const checkPassed = "The check of this repository (`delivery.verify`) passed in a clean checkout of the work."

const (
	defaultVerifyTime = 10 * time.Minute
	maxVerifyLines    = 40 // of the output of a check that the agent is shown
)

// proof says what the check of the work decides.
type proof int

const (
	mustPass proof = iota // work that fails is not published
	mayFail               // work that fails is published as unproven
	untested              // the work is published as unproven, without a check
)

// prove runs the check of the work if it is needed. It returns what is known of the
// tests, and whether the work must be shown as unproven.
func (a *attempt) prove(ctx context.Context, work *git.Incoming, proof proof) (tested string, unproven bool, err error) {
	switch {
	case proof == untested:
		return unfinished, true, nil
	case a.Repository.Verify == "":
		return unchecked, false, nil
	}
	err = a.verify(ctx, work)
	if failed, isVerify := errors.AsType[*verifyError](err); isVerify && proof == mayFail {
		a.work.warnings = append(a.work.warnings, "the work is published, a pull request as a draft, although its check (delivery.verify) failed: "+failed.how)
		return "The check of this repository (`delivery.verify`) failed in a clean checkout of the work: " + failed.how + ".", true, nil
	}
	return checkPassed, false, err
}

// verifyError reports work that failed Repository.Verify.
type verifyError struct{ how, output string }

func (e *verifyError) Error() string { return "check the work: delivery.verify failed: " + e.how }

// text returns the failure as the agent gets it.
func (e *verifyError) text() string {
	text := "The work was not published, because its check failed in a clean checkout of it: " + e.how + "."
	if e.output != "" {
		text += " The end of its output:\n\n```\n" + e.output + "\n```"
	}
	return text
}

// verify runs the check in a clean checkout of the work. Work that fails it is a
// [*verifyError].
func (a *attempt) verify(ctx context.Context, work *git.Incoming) error {
	folder, err := a.Workspaces.Scratch(a.work.ws)
	if err != nil {
		return fmt.Errorf("check the work: %w", err)
	}
	defer func() {
		if err := a.Workspaces.RemoveScratch(folder); err != nil {
			a.warn("the folder of a check was not removed", err)
		}
	}()
	err = forceRemoveAll(a.bubblewrap.CheckTmp())
	if err == nil {
		err = a.bubblewrap.RenewCheckTmp()
	}
	if err == nil {
		err = a.fillScratch(ctx, folder, work)
	}
	if err != nil {
		return fmt.Errorf("check the work: %w", err)
	}
	err = a.takePack(ctx, folder.Path, a.scratchHome(folder.Path))
	if err == nil {
		err = a.prepareWork(ctx, folder.Path, work)
	}
	if err == nil {
		err = a.prepareScratch(ctx, folder)
	}
	if err != nil {
		return err
	}
	timeout := a.verifyTime()
	code, output, err := a.shell(ctx, a.work.session, folder.Path, "checking the work (delivery.verify)", a.Repository.Verify, "", timeout, a.Repository.Hooks.Env)
	failed := &verifyError{output: lastLines(output)}
	switch {
	case errors.Is(err, codex.ErrExecTimeout):
		failed.how = fmt.Sprintf("it was not done after %v", timeout)
	case errors.Is(err, codex.ErrExecOutput):
		failed.how = "it printed too much"
	case errors.Is(err, codex.ErrExecKilled):
		failed.how = "it was killed"
	case err != nil:
		return err
	case code != 0:
		failed.how = fmt.Sprintf("exit status %d", code)
	default:
		return nil
	}
	return failed
}

// fillScratch checks the work out in an empty folder. If hooks are trusted, it first checks
// out the base and runs them there.
func (a *attempt) fillScratch(ctx context.Context, folder workspace.Workspace, work *git.Incoming) error {
	checkout := a.work.checkout
	checkout.Aside, checkout.Exclude = nil, a.keptPaths()
	if hooks := a.Repository.Hooks; a.Repository.TrustedHooks && (hooks.AfterCreate != "" || hooks.BeforeRun != "") {
		base := checkout
		base.Head, base.Pushed = base.BaseHead, git.ObjectID{}
		err := a.checkOutScratch(ctx, folder, base, nil)
		began := time.Now()
		if err == nil {
			err = a.logHook(began, a.Workspaces.AfterCreate(ctx, folder))
		}
		if err == nil {
			err = a.logHook(began, a.Workspaces.BeforeRun(ctx, folder))
		}
		if err != nil {
			return err
		}
	}
	checkout.Head = work.Tip
	return a.checkOutScratch(ctx, folder, checkout, work)
}

// checkOutScratch gives a scratch folder a new .git and brings its files to the commit of a
// checkout, which is in the store or in work. Ignored files stay.
func (a *attempt) checkOutScratch(ctx context.Context, folder workspace.Workspace, c git.Checkout, work *git.Incoming) error {
	store := a.Repository.Store
	var err error
	if c.ReadOnly, err = store.ReadOnly(ctx, work, c.Head, c.BaseHead, c.Pushed); err != nil {
		return err
	}
	err = a.Workspaces.ReplaceGit(folder, func(into *os.Root) error {
		err := store.Populate(ctx, into, c)
		if err == nil && work != nil {
			err = work.CopyPacks(ctx, into)
		}
		if err == nil {
			err = a.makeScratchRoom(folder, into)
		}
		if err == nil {
			err = a.stagePack(into, setup.Places{Work: folder.Path, Home: a.scratchHome(folder.Path)}, true)
		}
		return err
	})
	if err == nil {
		err = a.seal(folder)
	}
	if err == nil {
		_, err = a.checkOut(ctx, a.work.session, folder.Path, c, a.Repository.Host.SubmodulesCommand(c.Submodules))
	}
	return err
}

// makeScratchRoom makes the room of a scratch folder in the new .git there.
func (a *attempt) makeScratchRoom(folder workspace.Workspace, git *os.Root) error {
	if err := git.Mkdir(scratchTemp, 0o700); err != nil {
		return err
	}
	root, err := git.OpenRoot(scratchTemp)
	if err != nil {
		return err
	}
	defer root.Close()
	return a.roomIn(scratchRoom(folder.Path), a.Network).Make(root, codex.ShellStart())
}

// prepareScratch runs the hooks that run in the sandbox. One that fails on the work is a
// [*verifyError].
func (a *attempt) prepareScratch(ctx context.Context, folder workspace.Workspace) error {
	if a.Repository.TrustedHooks {
		return nil // they have run on the base
	}
	hooks := a.Repository.Hooks
	err := a.sandboxedHook(ctx, a.work.session, folder.Path, "after_create", hooks.AfterCreate)
	if err == nil {
		err = a.sandboxedHook(ctx, a.work.session, folder.Path, "before_run", hooks.BeforeRun)
	}
	failed, isHook := errors.AsType[*workspace.HookError](err)
	if isHook && isAny(failed.Err, workspace.ErrHook, workspace.ErrHookTimeout) {
		return &verifyError{how: hookFailure(failed), output: lastLines(failed.Lines)}
	}
	return err
}

// hookFailure describes the failure of a hook on the work, for people.
func hookFailure(failed *workspace.HookError) string {
	if exit, ok := errors.AsType[*workspace.ExitError](failed.Err); ok {
		return fmt.Sprintf("hooks.%s, which prepares it, failed with exit status %d", failed.Hook, exit.Code)
	}
	return fmt.Sprintf("hooks.%s, which prepares it, was not done in time or was killed", failed.Hook)
}

// scratchTemp is the room and the temporary folder of what runs in a scratch folder, below its
// .git, where git does not see it. The agent, which may run beside the check, can write to that
// of the session.
const scratchTemp = "symphony-tmp"

// scratchRoom returns the folder of the room of what runs in a scratch folder.
func scratchRoom(folder string) string { return filepath.Join(folder, ".git", scratchTemp) }

// execIn returns a program to run in a scratch folder, with a temporary folder of its own.
// Without a folder it runs in the workspace.
func execIn(folder string, x codex.Exec) codex.Exec {
	if folder == "" {
		return x
	}
	temp := scratchRoom(folder)
	x.Dir, x.Env = folder, append(x.Env, codex.ForCheck)
	// Codex's own TMPDIR stays: it makes that read-only. git in the folder finds no repository above it.
	x.Argv = append([]string{"env", "TMPDIR=" + temp, "GIT_CEILING_DIRECTORIES=" + temp}, x.Argv...)
	return x
}

func (a *attempt) verifyTime() time.Duration {
	if a.Repository.VerifyTimeout > 0 {
		return a.Repository.VerifyTimeout
	}
	return defaultVerifyTime
}

// proveTime returns a bound of the time that prove takes, with the checkout and the hooks
// before the check.
func (a *attempt) proveTime() time.Duration {
	time := a.verifyTime() + checkoutTime + 2*a.Repository.Hooks.Timeout
	if s := a.setup(); s != nil {
		time += s.Timeout
	}
	return time
}

// lastLines returns the end of output as text that can stand in a fenced block.
func lastLines(output string) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(text.Lines(output), "```", "` ` `")), "\n")
	return strings.Join(lines[max(0, len(lines)-maxVerifyLines):], "\n")
}
