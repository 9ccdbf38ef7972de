package attempt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// The check of the work, Repository.Verify, runs in a clean checkout of the commit that was
// harvested, in a scratch folder that the agent can neither read nor write. In the agent's
// own folder a file that git ignores could make it pass, and nobody who reads the pull
// request would see that file. The hooks prepare the folder as they prepare the workspace
// of the next issue: in the sandbox, on the work itself. Hooks that are trusted run outside
// the sandbox and so on the base alone, before the work is checked out over it.

const (
	defaultVerifyTime = 10 * time.Minute
	maxVerifyLines    = 40 // lines of a check's output that the agent is shown
)

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

// check runs Repository.Verify on work.
type check struct {
	*filler
	renewTmp func() error // empties the /tmp of the commands
}

// run runs the commands in a clean checkout of the work, until one fails, and returns those that
// ran. Work that fails is a [*verifyError].
func (c check) run(ctx context.Context, work Work) (ran []receipt.Check, err error) {
	folder, err := c.workspaces.Scratch(c.here.Workspace)
	if err != nil {
		return nil, fmt.Errorf("check the work: %w", err)
	}
	defer func() {
		if err := c.workspaces.RemoveScratch(folder); err != nil {
			c.warn("the folder of a check was not removed", err)
		}
	}()
	at := scratchPlace(folder)
	if err := c.make(ctx, at, work); err != nil {
		if failed, isVerify := errors.AsType[*verifyError](err); isVerify {
			ran = []receipt.Check{{Failed: failed.how, Output: failed.output}}
		}
		return ran, err
	}
	end := time.Now().Add(c.timeout())
	for _, command := range c.repository.Verify {
		left := max(time.Until(end), time.Millisecond)
		code, output, err := c.shell(ctx, at, script{text: command, doing: "checking the work (delivery.verify)", timeout: left, variables: c.hooks.Env})
		how, err := failureOf(code, err, fmt.Sprintf("it was not done after %v", c.timeout()), "it printed too much")
		if err != nil {
			return ran, err
		}
		check := receipt.Check{Command: command}
		if how != "" {
			check.Failed, check.Output = how, lastLines(output)
			if len(c.repository.Verify) > 1 {
				how = receipt.Code(command) + ": " + how
			}
			return append(ran, check), &verifyError{how: how, output: check.Output}
		}
		ran = append(ran, check)
	}
	return ran, nil
}

// make makes a clean checkout of the work and prepares it. Work that cannot be prepared is a
// [*verifyError].
func (c check) make(ctx context.Context, at place, work Work) error {
	err := c.renewTmp()
	if err == nil {
		err = c.fill(ctx, at, work)
	}
	if err != nil {
		return fmt.Errorf("check the work: %w", err)
	}
	err = c.preparation.take(ctx, at, at.home())
	if err == nil {
		err = c.preparation.prepareWork(ctx, at, work)
	}
	if err == nil {
		err = c.prepare(ctx, at)
	}
	return err
}

// fill checks the work out in an empty folder. If hooks are trusted, it first checks
// out the base and runs them there.
func (c check) fill(ctx context.Context, at place, work Work) error {
	checkout := c.filler.checkout
	checkout.Aside, checkout.Exclude = nil, c.preparation.keptPaths()
	if hooks := c.hooks; c.repository.TrustedHooks && (hooks.AfterCreate != "" || hooks.BeforeRun != "") {
		base := checkout
		base.Head, base.Pushed = base.BaseHead, git.ObjectID{}
		err := c.fillScratch(ctx, at, base, nil)
		began := time.Now()
		if err == nil {
			err = c.logHook(began, c.workspaces.AfterCreate(ctx, at.Workspace))
		}
		if err == nil {
			err = c.logHook(began, c.workspaces.BeforeRun(ctx, at.Workspace))
		}
		if err != nil {
			return err
		}
	}
	checkout.Head = work.About().Tip
	return c.fillScratch(ctx, at, checkout, work)
}

// prepare runs the hooks that run in the sandbox. The failure of a hook on the work is a
// [*verifyError].
func (c check) prepare(ctx context.Context, at place) error {
	if c.repository.TrustedHooks {
		return nil // they have run on the base
	}
	err := c.hook(ctx, at, "after_create", c.hooks.AfterCreate)
	if err == nil {
		err = c.hook(ctx, at, "before_run", c.hooks.BeforeRun)
	}
	failed, isHook := errors.AsType[*workspace.HookError](err)
	if isHook && isAny(failed.Err, workspace.ErrHook, workspace.ErrHookTimeout) {
		return &verifyError{how: hookFailure(failed), output: lastLines(failed.Lines)}
	}
	return err
}

func hookFailure(failed *workspace.HookError) string {
	if exit, ok := errors.AsType[*workspace.ExitError](failed.Err); ok {
		return fmt.Sprintf("hooks.%s, which prepares it, failed with exit status %d", failed.Hook, exit.Code)
	}
	return fmt.Sprintf("hooks.%s, which prepares it, was not done in time or was killed", failed.Hook)
}

func (c check) timeout() time.Duration {
	if c.repository.VerifyTimeout > 0 {
		return c.repository.VerifyTimeout
	}
	return defaultVerifyTime
}

// bound returns a bound of the time that run takes, with the checkout and the hooks before the
// check.
func (c check) bound() time.Duration {
	time := c.timeout() + checkoutTime + 2*c.hooks.Timeout
	if s := c.repository.setup(); s != nil {
		time += s.Timeout
	}
	return time
}

// lastLines returns the end of output as text that can stand in a fenced block.
func lastLines(output string) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(text.Lines(output), "```", "` ` `")), "\n")
	return strings.Join(lines[max(0, len(lines)-maxVerifyLines):], "\n")
}
