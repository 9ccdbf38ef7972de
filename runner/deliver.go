package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/publish"
	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace/git"
)

// deliverer publishes the work of one session. The session calls its methods, one at a time;
// the results reach the loop by messages.
type deliverer struct {
	*Repository
	files  *files // takes the results
	store  *git.Store
	folder string // folder for work that may not leave
	issue  tracker.Issue
	base   git.Branch
	branch git.Branch
	there  git.ObjectID // commit of the branch on the remote, as far as it is known; zero if it has none
	last   publish.Record
	proven bool // a session that ends well proves the work: nothing checks it
	pushed bool // this session has pushed since the last fetch
	// renewed says that work of this session is put on a newer base than the one with which it
	// began.
	renewed bool
}

// deliver publishes work, or returns an error if it must not leave.
func (d *deliverer) deliver(ctx context.Context, work attempt.Delivery) (attempt.Delivered, error) {
	in, isOwn := work.Work.(*git.Incoming)
	if !isOwn {
		return attempt.Delivered{}, errors.New("deliver the work: it is not in the store of this run")
	}
	if d.pushed { // the store does not have the pushed work
		if err := d.fetch(ctx); err != nil {
			return attempt.Delivered{}, err
		}
	}
	if d.renewed {
		if err := d.renew(ctx, in); err != nil {
			return attempt.Delivered{}, err
		}
	}
	w := d.work()
	w.Incoming, w.Title, w.Text = in, work.Title, work.Text
	w.Receipt, w.Unproven = work.Receipt, work.Unproven
	result, err := d.Publisher.Publish(ctx, w, time.Now())
	answer, err := d.finish(ctx, result, err)
	if errors.Is(err, git.ErrWorkflows) {
		if renewed := d.renewAfter(ctx, in); renewed != nil {
			err = renewed
		}
	}
	switch {
	case errors.Is(err, attempt.ErrRenewed):
		return answer, err
	case errors.Is(err, git.ErrMoved):
		d.send(ctx, func() { d.files.stale[d.issue.ID] = true })
	}
	switch {
	case ctx.Err() != nil || !result.IsLost(err):
	case result.Secret:
		d.noteKept(ctx, report.Kept{Secret: true})
	default:
		if err := d.keep(ctx, in); err != nil {
			answer.Warnings = append(answer.Warnings, err.Error())
		}
	}
	return answer, err
}

// fetch reads the remote again. No session begins with the state of the store after it.
func (d *deliverer) fetch(ctx context.Context) error {
	source := d.Source
	source.Submodules, source.LFS = false, false
	got, err := d.store.Fetch(ctx, source)
	if err != nil {
		return err
	}
	d.branch, d.there = publish.Locate(d.branch, d.last, got)
	d.pushed = false
	return nil
}

// renewAfter puts work on the newest base after the remote has refused its workflow files:
// they are those with which the session began, and GitHub takes from the token of a job only
// those that a branch has now. It fails with the error of renew. It is nil if the base is not the
// cause, because the work has the newest one.
func (d *deliverer) renewAfter(ctx context.Context, in *git.Incoming) error {
	if err := d.fetch(ctx); err != nil {
		return err
	}
	err := d.renew(ctx, in)
	if err != nil {
		d.send(ctx, func() { d.files.current = false }) // another session with that fetch may not be able to push either
		d.renewed = true
	}
	return err
}

// renew puts work on the newest base that was fetched. The error is [attempt.ErrRenewed] if
// that changes it, and [git.ErrMoved] if it cannot be done. It is nil if the work has that base.
func (d *deliverer) renew(ctx context.Context, in *git.Incoming) error {
	author := d.Publisher.Author
	author.When = time.Now()
	changed, err := in.MoveToBase(ctx, git.Commit{Author: author, Committer: author, Message: "Work on " + d.issue.Identifier}, d.Publisher.KeepHistory)
	if err == nil && changed {
		err = attempt.ErrRenewed
	}
	return err
}

// settle publishes work that an earlier run pushed and opened no pull request for.
func (d *deliverer) settle(ctx context.Context, told receipt.Receipt) (attempt.Delivered, error) {
	w := d.work()
	w.Proven, w.Receipt = d.proven, told
	result, err := d.Publisher.Settle(ctx, w, time.Now())
	return d.finish(ctx, result, err)
}

// work returns the work on the issue as it was before the session.
func (d *deliverer) work() publish.Work {
	w := publish.Work{
		Issue: d.issue.Identifier, Branch: d.branch, RemoteHead: d.there, Store: d.store, Base: d.base,
		Default: d.issue.Identifier + ": " + d.issue.Title, Last: d.last,
		Save: d.save,
	}
	if d.Closing != nil {
		w.Closing = d.Closing(d.issue)
	}
	return w
}

// finish turns the end of a publication into an answer for the session, and tells the
// loop about it.
func (d *deliverer) finish(ctx context.Context, result publish.Result, err error) (attempt.Delivered, error) {
	answer := attempt.Delivered{Refused: result.Verdict.Reasons(), Warnings: result.Warnings, Published: err != nil && result.Published}
	if result.Pushed {
		d.there, d.pushed = result.Record.Head, !result.Record.Head.IsZero()
	}
	if result.Pushed || err == nil && answer.Refused == "" {
		d.last = result.Record
	}
	switch {
	case errors.Is(err, publish.ErrNotPermitted):
		return answer, fmt.Errorf("%w: %w", attempt.ErrDelivery, err)
	case errors.Is(err, publish.ErrClosed):
		return answer, fmt.Errorf("%w: %w", attempt.ErrPerson, err)
	case err != nil || answer.Refused != "" || result.Record.Head.IsZero() && result.Record.URL == "":
		return answer, err
	}
	answer.URL, answer.Head = result.Record.URL, result.Record.Head
	answer.Unchanged = !result.Pushed && (result.State == publish.PullNone || result.State == publish.PullUnchanged)
	pull := result.State
	if pull == publish.PullUnchanged && result.Pushed {
		pull = publish.PullUpdated
	}
	delivery, pushed := d.delivery(result.Record), d.pushed
	d.send(ctx, func() { d.files.noteDelivery(d.issue.ID, delivery, string(pull), pushed) })
	return answer, nil
}

func (d *deliverer) keep(ctx context.Context, in *git.Incoming) error {
	commands, err := publish.Keep(ctx, in, d.folder, d.branch)
	if err == nil {
		d.noteKept(ctx, report.Kept{Folder: d.folder, Commands: commands})
	}
	return err
}

// noteKept notes the folder of refused work, or the reason for which it has none.
func (d *deliverer) noteKept(ctx context.Context, kept report.Kept) {
	d.send(ctx, func() { d.files.account.tick.Row(d.issue.ID).Kept = kept })
}

// save has the loop make a record durable, before the push that it announces.
func (d *deliverer) save(ctx context.Context, r publish.Record) error {
	saved := make(chan error, 1)
	delivery := d.delivery(r)
	d.send(ctx, func() { saved <- d.files.saveDelivery(ctx, d.issue.ID, delivery) })
	select {
	case err := <-saved:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *deliverer) send(ctx context.Context, m message) {
	select {
	case d.files.inbox <- m:
	case <-ctx.Done(): // the loop learns it by the end of the session
	}
}

func (d *deliverer) delivery(r publish.Record) schedule.Delivery {
	return schedule.Delivery{
		Identifier: d.issue.Identifier, Title: d.issue.Title, IssueURL: d.issue.URL, Branch: r.Branch.String(), Base: r.Base.String(),
		Head: objectID(r.Head), Pushing: objectID(r.Pushing), Number: r.Number, URL: r.URL, At: r.At,
	}
}

// objectID returns an object id as the state keeps it: empty for none.
func objectID(id git.ObjectID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// recordOf returns the record of a delivery in the state. A state that was loaded has valid
// ids and branches.
func recordOf(d schedule.Delivery) publish.Record {
	r := publish.Record{Number: d.Number, URL: d.URL, At: d.At}
	r.Branch, _ = git.ParseBranch(d.Branch)
	r.Base, _ = git.ParseBranch(d.Base)
	r.Head, _ = git.ParseObjectID(d.Head)
	r.Pushing, _ = git.ParseObjectID(d.Pushing)
	return r
}
