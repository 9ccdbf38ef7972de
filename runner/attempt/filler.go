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

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

const (
	// checkoutTime bounds each command that fills a folder.
	checkoutTime = 10 * time.Minute
	// submodulesTime bounds the search for changes inside submodules.
	submodulesTime = time.Minute
)

// errCheckout: git could not fill a workspace.
var errCheckout = errors.New("checkout_failed")

// filler brings the files of the repository to the workspace of the session, and to scratch
// folders.
type filler struct {
	*core
	leftovers   *leftovers
	preparation *preparation

	unfilled   bool            // the workspace is of no use for another session
	submodules []git.Submodule // submodule of each folder; nil until findSubmodules
	checkout   git.Checkout    // checkout of the workspace
	tree       git.WorkTree    // the files that it made there
}

// fill gives the workspace a new .git and brings its files to the commit where the work begins.
// A kept workspace keeps only ignored files, and the commits of work that was not taken. The
// session has no thread.
func (f *filler) fill(ctx context.Context, awaitPreflight func(context.Context) error) error {
	ws := f.here.Workspace
	err := f.session.CanExec(ctx)
	var checkout git.Checkout
	if err == nil {
		checkout, err = f.renewGit(ctx)
	}
	if err == nil {
		err = f.seal(ws)
	}
	if err == nil {
		err = awaitPreflight(ctx) // the checkout is the first to need the sandbox
	}
	if err != nil {
		return err
	}
	var further []git.Command
	if !ws.CreatedNow || len(checkout.Submodules) > 0 {
		further = append(further, f.repository.Host.SubmodulesCommand(checkout.Submodules))
	}
	left, err := f.checkOut(ctx, f.here, checkout, further...)
	if err == nil {
		err = f.preparation.takeHere(ctx)
	}
	if errors.Is(err, errCheckout) {
		f.unfilled = true // files of the agent may be in the way
		err = fmt.Errorf("%w; the workspace is removed, and the next attempt makes a new one", err)
	}
	if err != nil {
		return fmt.Errorf("fill workspace %s: %w", ws.Path, err)
	}
	f.checkout = checkout
	f.tree = git.WorkTree{Paths: checkout.Paths, LeftOut: left, LFS: checkout.Objects != nil}
	if err := f.leftovers.saveStart(git.ObjectID{}, filesOf(f.tree)); err != nil || f.leftovers.head.number == 0 {
		return err
	}
	return f.workspaces.DropWork(ws, f.leftovers.head.number)
}

// checkOut brings the files of a folder with a new .git to the commit of a checkout, by
// commands in the sandbox, and runs further ones after them. It returns the folders that are
// left out.
func (f *filler) checkOut(ctx context.Context, at place, c git.Checkout, further ...git.Command) ([]string, error) {
	doing := "filling the workspace"
	if at.scratch {
		doing = "preparing the folder in which the work is checked"
	}
	var printed bytes.Buffer
	for _, command := range append(f.repository.Host.CheckoutCommands(c), further...) {
		result, err := f.run(ctx, at, command, doing, checkoutTime, &printed)
		if err == nil && result.ExitCode != 0 {
			err = fmt.Errorf("%w with exit status %d: %s", errCheckout, result.ExitCode, f.brief(result.Stderr))
		}
		if err != nil {
			return nil, err
		}
	}
	return git.LeftOut(strings.Fields(printed.String())), nil
}

// seal prepares the .git of the host for the agent.
func (f *filler) seal(ws workspace.Workspace) error {
	isRepository, err := f.workspaces.Seal(ws)
	if err == nil && !isRepository {
		err = fmt.Errorf("workspace %s: %w: its new .git is gone: find out what else writes there", ws.Path, workspace.ErrUnsafe)
	}
	return err
}

// renewGit gives the workspace a new .git: with the work that the last session left, if that
// was not taken, else with the state of the remote. It returns the checkout to make.
func (f *filler) renewGit(ctx context.Context) (git.Checkout, error) {
	checkout, left := f.repository.Checkout, f.leftovers
	works, err := left.find(ctx)
	if err != nil {
		return checkout, err
	}
	defer closeAll(works)
	checkout.ReadOnly, err = f.repository.Source.ReadOnly(ctx, nil, checkout.Head, checkout.BaseHead, checkout.Pushed)
	packs := make([]Work, len(works))
	for i, work := range works {
		packs[i] = work.Work
		about := work.About()
		left.lost = cmp.Or(left.lost, about.Untaken.String())
		if err == nil && !checkout.ReadOnly {
			checkout.ReadOnly, err = f.repository.Source.ReadOnly(ctx, work.Work, about.Tip)
		}
		saved := savedWork{work.number, about.Tip}
		if left.head.number > 0 || !left.continues(work) {
			left.aside, checkout.Aside = append(left.aside, saved), append(checkout.Aside, about.Tip)
			continue
		}
		left.head, checkout.Head = saved, about.Tip
		if checkout.Pushed.IsZero() { // the base may have moved, without the work
			left.start = work.from.Start
		}
	}
	if err == nil {
		checkout.Objects, err = f.objects(ctx)
	}
	if err == nil {
		err = f.findSubmodules(ctx)
		checkout.Submodules, checkout.Exclude = f.submodules, f.preparation.keptPaths()
	}
	if err == nil {
		err = left.saveStart(git.ObjectID{}, replacing)
	}
	if err == nil {
		err = f.replaceGit(ctx, f.here, checkout, f.preparation.isNeeded(), packs...)
	}
	if err == nil {
		err = left.saveStart(git.ObjectID{}, filling)
	}
	return checkout, err
}

// replaceGit gives a place a new .git with the objects of a checkout, which are in the store
// and in works, and the tars of the preparation: home.tar, and work.tar if tree is set.
func (f *filler) replaceGit(ctx context.Context, at place, c git.Checkout, tree bool, works ...Work) error {
	return f.workspaces.ReplaceGit(at.Workspace, func(into *os.Root) error {
		err := f.repository.Source.Populate(ctx, into, c)
		for _, work := range works {
			if err == nil && work != nil {
				err = work.CopyPacks(ctx, into)
			}
		}
		if err == nil && at.scratch {
			err = f.makeScratchRoom(at, into)
		}
		if err == nil {
			err = f.preparation.stage(into, at, tree)
		}
		return err
	})
}

// findSubmodules sets the submodules of the workspace. A submodule that is missing for a reason
// that only the branch has is left empty with a warning.
func (f *filler) findSubmodules(ctx context.Context) error {
	r := f.repository
	if !r.Submodules {
		return nil
	}
	found, skipped, err := r.Source.Submodules(ctx, r.Checkout.BaseHead, r.Checkout.Head, r.Checkout.Paths)
	if err != nil {
		return fmt.Errorf("fetch the submodules of %s: %w", r.Checkout.Branch, err)
	}
	for _, reason := range skipped {
		f.warn("a submodule was left empty", reason)
	}
	f.submodules = found
	return nil
}

// changedSubmodules returns the paths of the submodules that have changes, which no
// harvest takes. A workspace that cannot be searched has none.
func (f *filler) changedSubmodules(ctx context.Context) []string {
	if len(f.submodules) == 0 {
		return nil
	}
	command := f.repository.Host.ChangedSubmodules(f.submodules)
	out := text.Tail{Limit: maxOutputTail}
	_, err := f.run(ctx, f.here, command, "looking for changes in submodules", submodulesTime, &out)
	if err != nil {
		f.logger().WarnContext(ctx, "submodules not searched for changes", "error", err)
		return nil
	}
	printed, _ := out.End()
	return git.ReadChangedSubmodules(f.submodules, string(printed))
}

// objects returns the objects of Git LFS that the workspace needs: of the base, which the
// agent may merge, and of the commit where the work begins. It returns nil if the
// workspace gets none.
func (f *filler) objects(ctx context.Context) (*git.Objects, error) {
	r := f.repository
	if r.LFS == nil {
		return nil, nil
	}
	return r.Source.Objects(ctx, r.Checkout.Paths, r.Checkout.BaseHead, f.leftovers.from().Start)
}

// fillScratch gives a scratch folder a new .git and brings its files to the commit of a
// checkout, which is in the store or in work, which may be nil. Ignored files stay.
func (f *filler) fillScratch(ctx context.Context, at place, c git.Checkout, work Work) error {
	var err error
	if c.ReadOnly, err = f.repository.Source.ReadOnly(ctx, work, c.Head, c.BaseHead, c.Pushed); err != nil {
		return err
	}
	err = f.replaceGit(ctx, at, c, true, work)
	if err == nil {
		err = f.seal(at.Workspace)
	}
	if err == nil {
		_, err = f.checkOut(ctx, at, c, f.repository.Host.SubmodulesCommand(c.Submodules))
	}
	return err
}
