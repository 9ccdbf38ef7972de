package attempt

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/workspace/git"
)

// proof is the consequence of the check of the work.
type proof int

const (
	mustPass proof = iota // work that fails is not published
	mayFail               // work that fails is published as unproven
	untested              // the work is published as unproven, without a check
)

// publication publishes the agent's work. The agent may do so while a turn runs; see hold for
// the fields below publishing.
type publication struct {
	*filler
	check check
	look  *secondLook
	told  func(receipt.Receipt) receipt.Receipt // adds the facts about the issue and its sessions so far
	until time.Time                             // end of the time of a stopped session; zero for never

	done       atomic.Bool   // the agent has said in the latest turn, by the tool, that it needs no more of them
	publishing chan struct{} // has room for one
	words      words         // title and text of the agent's latest call of deliver
	published  publishedWork // work that this session has published
	delivered  bool          // all of the work is published, by this session or an earlier one
	refused    string        // reasons why it is not, if it was refused
	latest     Delivered     // the answer to it
	unsettled  bool          // the session ended well and the branch has all of its work, with an error
	changed    bool          // this session has changed the published work
	untaken    git.Untaken   // files that could not be taken along when the work was taken last
	inside     []string      // paths of submodules that had changes then
	failures   []string      // failures that do not change the outcome
}

// words are the title and the text that the agent gives to its work; empty for none.
type words struct{ title, text string }

// publishedWork is the work that was published last; zero for none.
type publishedWork struct {
	tip   git.ObjectID
	words words
}

// hold waits until nothing is being published, and calls use.
func (p *publication) hold(ctx context.Context, use func() error) error {
	select {
	case p.publishing <- struct{}{}:
		defer func() { <-p.publishing }()
		return use()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// record keeps how a publication ended. p must be held.
func (p *publication) record(delivered bool, err error) {
	p.delivered, p.refused = delivered, ""
	if refused, isRefused := errors.AsType[*RefusedError](err); isRefused {
		p.refused = refused.Reasons
	}
}

// leftOut returns the sentence about the files that could not be taken along, with a space
// before it; empty if everything was.
func (p *publication) leftOut() string {
	list := p.untaken.String()
	if list == "" {
		return ""
	}
	return " Git cannot take these along, so they are left out: " + text.OneLine(list, maxWhy-100) + "."
}

// leftInside returns the sentence about changes inside submodules, with a space before it;
// empty if there are none.
func (p *publication) leftInside() string {
	if len(p.inside) == 0 {
		return ""
	}
	return " Changes inside submodules are left out: " + text.OneLine(strings.Join(p.inside, ", "), maxWhy/2) + "."
}

// publish takes the work from the workspace, checks it and publishes it. It waits until
// nothing else is being published. The error is nil if the work is published, now or
// before.
func (p *publication) publish(ctx context.Context, proof proof) error {
	return p.hold(ctx, func() error { return p.publishHeld(ctx, proof) })
}

// publishHeld does the work of publish. p must be held.
func (p *publication) publishHeld(ctx context.Context, proof proof) (err error) {
	defer func() { p.record(err == nil, err) }()
	p.latest.Published = false
	from := p.leftovers.from()
	incoming, err := p.leftovers.harvest(ctx, from, p.repository.Host.Harvest(from.Start, p.here.room, p.tree), io.Discard)
	if incoming != nil {
		p.untaken = incoming.About().Untaken
	} else if none, ok := errors.AsType[*git.NothingNewError](err); ok {
		p.untaken = none.Untaken
	}
	if err == nil || errors.Is(err, git.ErrNothingNew) {
		p.inside = p.changedSubmodules(ctx)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err := incoming.Close(); err != nil {
			p.failures = append(p.failures, p.brief(err.Error()))
		}
	}()
	work := publishedWork{incoming.About().Tip, p.words}
	if work == p.published {
		return nil
	}
	got, err := p.proveAndDeliver(ctx, incoming, work.tip, proof)
	for n := 0; errors.Is(err, ErrRenewed) && n < maxRenewals; n++ {
		got, err = p.proveAndDeliver(ctx, incoming, work.tip, proof)
	}
	if err != nil {
		p.latest.Published = got.Published
		return err
	}
	p.published, p.latest, p.changed = work, got, p.changed || !got.Unchanged
	if err := p.leftovers.saveStart(got.Head, filesOf(p.tree)); err != nil { // another run would deliver it again, which changes nothing
		p.failures = append(p.failures, p.brief(err.Error()))
	}
	if err := p.leftovers.dropAside(incoming.About().Commits); err != nil {
		p.failures = append(p.failures, p.brief(err.Error()))
	}
	return nil
}

// maxRenewals bounds how often work is put on a newer base in one delivery.
const maxRenewals = 3

// proveAndDeliver checks the work that was harvested as tip, has a model read it, and has it
// published. p must be held.
func (p *publication) proveAndDeliver(ctx context.Context, incoming Work, tip git.ObjectID, proof proof) (Delivered, error) {
	d := Delivery{Work: incoming, Title: p.words.title, Text: p.words.text}
	checked, unproven, err := p.prove(ctx, incoming, proof)
	if err != nil {
		return Delivered{}, err
	}
	if d.Unproven = unproven; !unproven {
		if err := p.look.take(ctx, incoming, tip, p.words); err != nil {
			return Delivered{}, err
		}
		checked.Look, checked.Findings = p.look.report()
		if d.Title == "" && d.Text == "" && p.repository.Checkout.Pushed.IsZero() { // later ones leave the words as they are
			d.Title, d.Text = p.look.answer.Title, p.look.answer.Summary
		}
	}
	d.Receipt = p.told(checked)
	ctx, cancel := p.withDeadline(ctx)
	defer cancel()
	got, err := p.answer(p.repository.Deliver(ctx, d))
	got.Published = got.Published && !d.Unproven && !errors.Is(err, ErrPerson)
	return got, err
}

// withDeadline returns a context that ends when the run leaves a stopped session no more time,
// so that a publication does not wait for later steps.
func (p *publication) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.until.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, p.until, errStopped)
}

// lookElsewhere stands in the place of a second look that another session may have made.
const lookElsewhere = "not known: an earlier session pushed this work, and only its log has what a model found in it"

// settle publishes work that an earlier session has left half published, after a session that
// has nothing new. checks holds the checks that the work is known to have passed.
func (p *publication) settle(ctx context.Context, checks []receipt.Check) (got Delivered, err error) {
	if p.repository.Settle == nil {
		return got, nil
	}
	checked := receipt.Receipt{Unchecked: len(p.repository.Verify) == 0, Checks: checks}
	if checked.Look, checked.Findings = p.look.report(); checked.Look == "" && p.look.review != nil {
		checked.Look = lookElsewhere
	}
	err = p.hold(ctx, func() error {
		ctx, cancel := p.withDeadline(ctx)
		defer cancel()
		got, err = p.answer(p.repository.Settle(ctx, p.told(checked)))
		p.record(err == nil && (!got.Head.IsZero() || got.URL != ""), err)
		return err
	})
	return got, err
}

// prove runs the check of the work if it is needed. It returns the part of the receipt about it,
// and whether the work must be shown as unproven.
func (p *publication) prove(ctx context.Context, work Work, proof proof) (checked receipt.Receipt, unproven bool, err error) {
	switch {
	case proof == untested:
		return receipt.Receipt{Unfinished: true}, true, nil
	case len(p.repository.Verify) == 0:
		return receipt.Receipt{Unchecked: true}, false, nil
	}
	checked.Checks, err = p.check.run(ctx, work)
	if failed, isVerify := errors.AsType[*verifyError](err); isVerify && proof == mayFail {
		p.failures = append(p.failures, "the work is published, a pull request as a draft, although its check (delivery.verify) failed: "+failed.how)
		return checked, true, nil
	}
	return checked, false, err
}

// answer returns an answer of Repository.Deliver or Settle, with the error of one that
// refused the work. It collects the warnings. p must be held.
func (p *publication) answer(got Delivered, err error) (Delivered, error) {
	for _, warning := range got.Warnings {
		p.failures = append(p.failures, p.brief(warning))
	}
	if err == nil && got.Refused != "" {
		err = &RefusedError{got.Refused}
	}
	return got, err
}
