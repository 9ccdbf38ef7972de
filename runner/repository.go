package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/publish"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// files has the repository of the workflow ready for sessions.
type files struct {
	*core
	account  *account
	keeper   *keeper
	sessions *sessions
	logs     string // Logs of [Runner]
	repeats  bool   // the run polls again and again
	fetching bool   // a fetch is in progress

	opened
}

// opened holds the fetched state of the repository. The zero value knows nothing.
type opened struct {
	of      *Repository // repository whose store is open; nil before the first fetch
	store   *git.Store  // nil until it could be opened
	fetched git.Fetched
	current bool                // fetched belongs to this tick
	stale   map[tracker.ID]bool // issues whose branches were moved, by us or by others, since the last fetch
	err     error               // error of the last fetch; nothing starts until the next
}

// hold returns the reason for which no session can start with the files that there are.
func (f *files) hold() schedule.Why {
	switch {
	case f.conn.Repository == nil:
	case f.fetching:
		return schedule.Why{Reason: schedule.OnHold, Detail: "the repository is being fetched"}
	case f.of != nil && f.of != f.conn.Repository && f.sessions.count() > 0:
		return schedule.Why{Reason: schedule.OnHold, Detail: "the settings of the repository changed, and sessions with the old ones still run"}
	case f.err != nil:
		return schedule.Why{Reason: schedule.OnHold, Detail: f.err.Error()}
	}
	return schedule.Why{}
}

// ready reports whether the sessions that the decisions start can start with the files that the
// store has. If not, it begins to fetch them, and hold returns the reason.
func (f *files) ready(ctx context.Context, decisions []schedule.Decision) bool {
	if f.conn.Repository == nil {
		return true
	}
	if !f.hold().None() {
		return false
	}
	if f.of != f.conn.Repository {
		f.close()
		f.of = f.conn.Repository
	}
	current := f.current
	var first git.Branch
	for _, d := range decisions {
		if d.Action != schedule.Dispatch {
			continue
		}
		current = current && !f.stale[d.ID]
		if first.IsZero() {
			first = f.branchOf(cmp.Or(d.Issue.Identifier, f.nameOf(d.ID)))
		}
	}
	if !current {
		if f.isPushKnown() {
			first = git.Branch{}
		}
		f.fetch(ctx, first)
	}
	return current
}

// isPushKnown reports whether the server has taken a push of ours and refused none since, so
// that its rules need not be asked for before a session starts.
func (f *files) isPushKnown() bool {
	for _, c := range f.state.Claims {
		if strings.HasPrefix(c.Fault, schedule.PushFault) {
			return false
		}
	}
	for _, d := range f.state.Deliveries {
		if d.Head != "" {
			return !strings.HasPrefix(f.state.Pause.Fault, schedule.PushFault)
		}
	}
	return false
}

// fetch begins to read the remote, and the rules for the branch of an issue, if it is not
// zero. The loop goes on: a large repository takes minutes.
func (f *files) fetch(ctx context.Context, branch git.Branch) {
	f.fetching = true
	of, store, began := f.of, f.store, time.Now()
	f.log.Info("fetching the repository", "remote", of.Remote)
	f.beginStoppable(ctx, func(ctx context.Context) func() {
		var got git.Fetched
		var err error
		if store == nil {
			store, err = of.Host.Store(ctx, of.Remote)
		}
		if err == nil {
			got, err = store.Fetch(ctx, of.Source)
		}
		if err == nil && !branch.IsZero() && of.Publisher != nil {
			_, err = of.Publisher.CheckRules(ctx, branch, !got.Branches[branch].IsZero())
		}
		return func() {
			f.fetching, f.store = false, store
			f.end(began, got, err)
		}
	})
}

// end takes over the result of a fetch that began at a time.
func (f *files) end(began time.Time, got git.Fetched, err error) {
	f.err, f.replan = err, true
	switch {
	case err == nil:
		f.fetched, f.current, f.stale = got, true, map[tracker.ID]bool{}
		f.resolve(progress.Repository)
		f.log.Info("fetched the repository", "remote", f.of.Remote, "base", got.Base, "head", got.Head, "branches", len(got.Branches))
	case errors.Is(err, schedule.StopError(schedule.DeadlineReached)) && f.current:
		f.err = nil // sessions had the objects that they needed
	case errors.Is(err, schedule.StopError(schedule.DeadlineReached)):
		f.err = fmt.Errorf("fetch %s: %w: not done after %v, when the deadline came; nothing of it is kept: give the run more time (--deadline), or a job whose checkout has the whole history (fetch-depth: 0)",
			f.of.Remote, git.ErrTimeout, time.Since(began).Round(time.Second))
		f.problem(progress.Repository, f.err.Error())
	case !errors.Is(err, context.Canceled) && !errors.Is(err, schedule.ErrInterrupted):
		f.problem(progress.Repository, err.Error())
		f.log.Error("repository not fetched: nothing starts until it is", "error", err)
	}
}

// renew has the next session of a service start with the remote's state at that time. A fetch
// that failed is repeated.
func (f *files) renew() {
	f.err = nil
	if f.repeats {
		f.current = false
	}
}

// close closes the store, which no session uses any more.
func (f *files) close() {
	if f.store != nil {
		if err := f.store.Close(); err != nil {
			f.log.Warn("the store of the repository was not closed", "error", err)
		}
	}
	f.opened = opened{}
}

// forSession returns the repository for a session on an issue, which is claimed.
func (f *files) forSession(issue tracker.Issue) *attempt.Repository {
	s := f.wf.Settings
	last := recordOf(f.state.Deliveries[issue.ID])
	branch, there := publish.Locate(f.branchOf(issue.Identifier), last, f.fetched)
	if f.state.Deliveries[issue.ID].Lost && there != last.Head {
		last.Branch, last.Pushing = branch, there // pushed by the lost shard
	}
	head := there
	if head.IsZero() {
		head = f.fetched.Head
	}
	r := &attempt.Repository{
		Host: f.of.Host, Source: attempt.FromStore(f.store),
		Checkout: git.Checkout{
			Base: f.fetched.Base, BaseHead: f.fetched.Head, Branch: branch, Head: head, Pushed: there, User: f.of.User,
			Paths: s.Repository.Paths,
		},
		Submodules: s.Repository.Submodules,
		Hooks:      s.Workspace.Hooks, TrustedHooks: !s.SandboxHooks,
		Setup:  &attempt.Setup{Config: s.Setup, Network: s.SetupNetwork, Preparations: f.of.Preparations},
		Verify: s.Delivery.Verify, VerifyRounds: s.Delivery.VerifyRounds, VerifyTimeout: s.Delivery.VerifyTimeout,
	}
	if review := s.Delivery.Review; review.TakesPlace() {
		r.Review = &attempt.Review{Fork: review == workflow.ReviewFork, Rounds: s.Delivery.ReviewRounds, Timeout: s.Delivery.ReviewTimeout, Rules: s.Delivery.ReviewPrompt}
	}
	if s.Repository.LFS {
		r.LFS = &attempt.LFS{MaxBytes: s.Delivery.Policy.MaxLFS, History: s.Delivery.KeepHistory}
	}
	if f.of.Publisher == nil {
		return r
	}
	kept := f.of.Kept
	if f.logs != "" { // the logs are kept when the machine is gone
		kept = filepath.Join(f.logs, "refused")
	}
	d := &deliverer{
		Repository: f.of, files: f, store: f.store, folder: filepath.Join(kept, workspace.Key(issue.Identifier)),
		issue: issue, base: f.fetched.Base, branch: branch, there: there, last: last, proven: len(s.Delivery.Verify) == 0,
	}
	r.Deliver, r.Settle = d.deliver, d.settle
	return r
}

// saveDelivery makes a delivery durable before its push. It fails if another run has taken the claim.
func (f *files) saveDelivery(ctx context.Context, id tracker.ID, delivery schedule.Delivery) error {
	f.change(schedule.Delivered{ID: id, Delivery: delivery})
	return f.keeper.saveClaimed(ctx, id)
}

// noteDelivery notes that work was published. pushed tells whether its branch was moved since the last
// fetch.
func (f *files) noteDelivery(id tracker.ID, delivery schedule.Delivery, pull string, pushed bool) {
	f.change(schedule.Delivered{ID: id, Delivery: delivery})
	if pushed {
		f.stale[id] = true
	}
	f.account.tick.Row(id).Publish(delivery, pull)
}

// sameRepository reports whether two settings name one repository and treat it alike.
func sameRepository(a, b workflow.Settings) bool {
	return reflect.DeepEqual(a.Repository, b.Repository) && reflect.DeepEqual(a.Delivery, b.Delivery)
}
