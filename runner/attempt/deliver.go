package attempt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker/untrusted"
	"github.com/symphony-runner/symphony/workspace/git"
)

// unfinished is the text about tests for the work of a session that did not end well.
const unfinished = "The session ended before the agent was done."

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

// finish publishes what the session has made and not published yet, when its turns have
// ended well. While the check of the work fails, the agent gets further turns. It
// reports whether the work needs nothing more: a stop or a turn that fails comes between.
func (a *attempt) finish(ctx context.Context, session *codex.Session) (settled bool, err error) {
	for round := 0; ; round++ {
		a.enter(schedule.StatusFinishing)
		if a.work.byHost {
			return ctx.Err() == nil, nil // as in abandon
		}
		if err := session.CleanTerminals(ctx); err != nil {
			return false, err
		}
		a.sandboxedAfterRun(ctx, session)
		if !a.delivers() {
			return ctx.Err() == nil, nil
		}
		proof := mustPass
		if round >= a.Repository.VerifyRounds {
			proof = mayFail
		}
		err := a.publish(ctx, proof)
		if errors.Is(err, git.ErrNothingNew) {
			err = a.settle(ctx)
		}
		failed, isVerify := errors.AsType[*verifyError](err)
		if !isVerify {
			return ctx.Err() == nil, err
		}
		a.logger().InfoContext(ctx, "the work failed its check", "round", round+1, "how", failed.how)
		a.work.hooked = false
		err = a.runTurn(ctx, session, failed.text()+"\n\nFix the work so that the check succeeds.")
		if err != nil || len(a.questions) > 0 {
			return false, err
		}
		a.reread(ctx) // the turn may have changed the issue
	}
}

// publish takes the work from the workspace, checks it and publishes it. It waits until
// nothing else is being published. The error is nil if the work is published, now or
// before.
func (a *attempt) publish(ctx context.Context, proof proof) error {
	return a.work.hold(ctx, func() error { return a.publishHeld(ctx, proof) })
}

// publishHeld does the work of publish. a.work must be held.
func (a *attempt) publishHeld(ctx context.Context, proof proof) (err error) {
	w := &a.work
	defer func() { w.record(err == nil, err) }()
	incoming, err := a.harvest(ctx)
	if err == nil || errors.Is(err, git.ErrNothingNew) {
		w.inside = a.changedSubmodules(ctx)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err := incoming.Close(); err != nil {
			w.warnings = append(w.warnings, a.brief(err.Error()))
		}
	}()
	if incoming.Tip == w.published {
		return nil
	}
	d := Delivery{Incoming: incoming, Title: w.title, Text: w.text}
	if d.Tested, d.Unproven, err = a.prove(ctx, proof); err != nil {
		return err
	}
	got, err := a.answer(a.Repository.Deliver(ctx, d))
	if err != nil {
		return err
	}
	w.published, w.latest, w.changed = incoming.Tip, got, w.changed || !got.Unchanged
	if err := a.saveStart(got.Head, filesOf(a.work.tree)); err != nil { // another run would deliver it again, which changes nothing
		w.warnings = append(w.warnings, a.brief(err.Error()))
	}
	if err := a.dropAside(incoming.Commits); err != nil {
		w.warnings = append(w.warnings, a.brief(err.Error()))
	}
	return nil
}

// settle publishes what an earlier session has left half published, after a session that
// has nothing new.
func (a *attempt) settle(ctx context.Context) error {
	if a.Repository.Settle == nil {
		return nil
	}
	return a.work.hold(ctx, func() error {
		got, err := a.answer(a.Repository.Settle(ctx))
		a.work.record(err == nil && (!got.Head.IsZero() || got.URL != ""), err)
		return err
	})
}

// answer returns an answer of Repository.Deliver or Settle, with the error of one that
// refused the work. It collects the warnings. a.work must be held.
func (a *attempt) answer(got Delivered, err error) (Delivered, error) {
	for _, warning := range got.Warnings {
		a.work.warnings = append(a.work.warnings, a.brief(warning))
	}
	if err == nil && got.Refused != "" {
		err = &RefusedError{got.Refused}
	}
	return got, err
}

// prove runs the check of the work if it is needed. It returns what is known of the
// tests, and whether the work must be shown as unproven.
func (a *attempt) prove(ctx context.Context, proof proof) (tested string, unproven bool, err error) {
	switch {
	case proof == untested:
		return unfinished, true, nil
	case a.Repository.Verify == "":
		return "", false, nil
	}
	err = a.verify(ctx)
	if failed, isVerify := errors.AsType[*verifyError](err); isVerify && proof == mayFail {
		return "The check of this repository (`delivery.verify`) failed: " + failed.how + ".", true, nil
	}
	return "The check of this repository (`delivery.verify`) passed.", false, err
}

// verifyError reports work that failed Repository.Verify.
type verifyError struct{ how, output string }

func (e *verifyError) Error() string { return "check the work: delivery.verify failed: " + e.how }

// text returns the failure as the agent gets it.
func (e *verifyError) text() string {
	text := "The work was not published, because its check failed: " + e.how + "."
	if e.output != "" {
		text += " The end of its output:\n\n```\n" + e.output + "\n```"
	}
	return text
}

// verify runs the check in the workspace. Its files are the harvested ones, besides
// those that git ignores, which the check may need. Work that fails it is a
// [*verifyError].
func (a *attempt) verify(ctx context.Context) error {
	timeout := a.verifyTime()
	code, output, err := a.shell(ctx, a.work.session, a.Repository.Verify, timeout, a.Repository.Hooks.Env)
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

func (a *attempt) verifyTime() time.Duration {
	if a.Repository.VerifyTimeout > 0 {
		return a.Repository.VerifyTimeout
	}
	return defaultVerifyTime
}

// lastLines returns the end of output as text that can stand in a fenced block.
func lastLines(output string) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(untrusted.Lines(output), "```", "` ` `")), "\n")
	return strings.Join(lines[max(0, len(lines)-maxVerifyLines):], "\n")
}
