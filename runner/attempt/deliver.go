package attempt

import (
	"context"
	"errors"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace/git"
)

// finish publishes what the session has made and not published yet, when its turns have
// ended well. While the check of the work fails, the agent gets further turns. It
// reports whether the work needs nothing more: a stop or a turn that fails comes between.
func (a *attempt) finish(ctx context.Context, session *codex.Session) (settled bool, err error) {
	for round := 0; ; round++ {
		a.enter(schedule.StatusFinishing)
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
			_, err = a.settle(ctx, "")
		} else {
			a.work.unsettled = err != nil && a.work.latest.There
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
	w.latest.There = false
	incoming, err := a.harvest(ctx)
	w.noteUntaken(incoming, err)
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
	work := publishedWork{incoming.Tip, w.words}
	if work == w.published {
		return nil
	}
	got, err := a.proveAndDeliver(ctx, incoming, proof)
	for n := 0; errors.Is(err, ErrRenewed) && n < maxRenewals; n++ {
		got, err = a.proveAndDeliver(ctx, incoming, proof)
	}
	if err != nil {
		w.latest.There = got.There
		return err
	}
	w.published, w.latest, w.changed = work, got, w.changed || !got.Unchanged
	if err := a.saveStart(got.Head, filesOf(a.work.tree)); err != nil { // another run would deliver it again, which changes nothing
		w.warnings = append(w.warnings, a.brief(err.Error()))
	}
	if err := a.dropAside(incoming.Commits); err != nil {
		w.warnings = append(w.warnings, a.brief(err.Error()))
	}
	return nil
}

// maxRenewals bounds how often work is put on a newer base in one delivery.
const maxRenewals = 3

// proveAndDeliver checks work and has it published. a.work must be held.
func (a *attempt) proveAndDeliver(ctx context.Context, incoming *git.Incoming, proof proof) (Delivered, error) {
	d := Delivery{Incoming: incoming, Title: a.work.words.title, Text: a.work.words.text, Blocked: a.blocked.paragraph()}
	var err error
	if d.Tested, d.Unproven, err = a.prove(ctx, incoming, proof); err != nil {
		return Delivered{}, err
	}
	ctx, cancel := a.withDeadline(ctx)
	defer cancel()
	got, err := a.answer(a.Repository.Deliver(ctx, d))
	got.There = got.There && !d.Unproven && !errors.Is(err, ErrPerson)
	return got, err
}

// withDeadline returns a context that ends when the run leaves a stopped session no more time,
// so that a publication does not wait for what comes later.
func (a *attempt) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.StopAt.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, a.StopAt.Add(a.stoppedTime), errStopped)
}

// settle publishes what an earlier session has left half published, after a session that
// has nothing new.
func (a *attempt) settle(ctx context.Context, tested string) (got Delivered, err error) {
	if a.Repository.Settle == nil {
		return got, nil
	}
	err = a.work.hold(ctx, func() error {
		ctx, cancel := a.withDeadline(ctx)
		defer cancel()
		got, err = a.answer(a.Repository.Settle(ctx, tested))
		a.work.record(err == nil && (!got.Head.IsZero() || got.URL != ""), err)
		return err
	})
	return got, err
}

// settleAlone publishes what an earlier session has left half published, without an agent. It
// reports whether that is all that is to be done; otherwise nothing is published, and the
// agent works as in every session.
func (a *attempt) settleAlone(ctx context.Context) (done bool, err error) {
	a.work.publishing = make(chan struct{}, 1)
	a.enter(schedule.StatusFinishing)
	tested := unchecked
	if a.Repository.Verify != "" {
		tested = checkPassed
	}
	got, err := a.settle(ctx, tested)
	if err != nil {
		a.work.unsettled = !errors.Is(err, ErrPerson)
		return true, err
	}
	a.changed = a.work.delivered && !got.Unchanged
	if a.work.delivered {
		a.reread(ctx)
	}
	return a.work.delivered, nil
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
