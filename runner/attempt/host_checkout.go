package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// A server that cannot run programs of the host in the agent's sandbox, such as an older
// Codex or another program, is good enough for sessions whose work stays in the
// workspace. The files of a new workspace then come from a checkout in a folder of the
// host. A kept workspace keeps all its files, since nothing can take the work out of it
// and put it back; only its .git is a new one, as always, because Codex runs git there
// outside the sandbox. It is at the commit where the work began, so what the agent
// committed is there as changes that are not committed.

// needsExec reports whether programs of the host have to run in the agent's sandbox.
func (r *Repository) needsExec() bool {
	return r.Deliver != nil || r.hasSandboxedHooks() || r.Submodules || r.isPrepared()
}

func (r *Repository) hasSandboxedHooks() bool {
	return !r.TrustedHooks && (r.Hooks.AfterCreate != "" || r.Hooks.BeforeRun != "" || r.Hooks.AfterRun != "")
}

// noExec returns an error that says what to do about a server that cannot run programs
// of the host, and nil if the session can do without them: then it warns.
func (a *attempt) noExec(err error) error {
	switch {
	case a.delivers():
		return fmt.Errorf("the work is taken out by programs in the agent's sandbox: see why they cannot run, or write delivery.kind none: %w", err)
	case a.Repository.Submodules:
		return fmt.Errorf("the folders of submodules are filled by programs in the agent's sandbox: see why they cannot run, or remove repository.submodules: %w", err)
	case a.setup() != nil:
		return fmt.Errorf("the project is prepared in the agent's sandbox: see why its script cannot run there, or remove setup: %w", err)
	case a.Repository.needsExec():
		return fmt.Errorf("hooks run in the agent's sandbox: see why they cannot, or remove them, or write hooks.sandboxed: false and hooks.trusted: true: %w", err)
	}
	text := a.brief("each session on a kept workspace finds what the agent committed there as changes that are not committed: " + err.Error())
	if a.Warn != nil {
		a.Warn(text)
	}
	a.reporting.Lock()
	defer a.reporting.Unlock()
	a.report(Update{At: time.Now(), PID: a.pid, Warnings: []string{text}})
	return nil
}

// fillByHost does the work of fill without a process in the workspace. A new workspace
// gets the files of the base alone.
func (a *attempt) fillByHost(ctx context.Context, ws workspace.Workspace) error {
	repo := a.Repository
	a.work.byHost, a.work.kept = true, !ws.CreatedNow
	checkout, files := repo.Checkout, filesOf(git.WorkTree{Paths: repo.Checkout.Paths, LFS: repo.LFS != nil})
	checkout.Head = checkout.BaseHead
	if !ws.CreatedNow {
		start, ok := parseStart(a.Workspaces.Note(ws))
		if ok {
			checkout.Head = start.from.Start
		}
		if !ok || start.files != files {
			files = filling // some may be of another commit, or missing and not deleted
		}
	}
	made, err := a.checkOutByHost(ctx, &checkout)
	if errors.Is(err, git.ErrStore) && checkout.Head != checkout.BaseHead { // somebody has rewritten the base
		a.warn("the files of the workspace are compared with the base as it is now", err)
		checkout.Head, files = checkout.BaseHead, filling
		made, err = a.checkOutByHost(ctx, &checkout)
	}
	if err != nil {
		return fmt.Errorf("fill workspace %s: %w", ws.Path, err)
	}
	err = a.useFiles(ctx, ws, made, checkout)
	err = errors.Join(err, made.Close())
	if err == nil {
		err = a.seal(ws)
	}
	if err != nil {
		return err
	}
	a.work.start = checkout.Head
	return a.saveStart(git.ObjectID{}, files)
}

// checkOutByHost checks out in a folder of the host, with the contents of files in Git LFS
// if they are wanted.
func (a *attempt) checkOutByHost(ctx context.Context, checkout *git.Checkout) (*git.Files, error) {
	made, err := a.Repository.Store.CheckOut(ctx, *checkout)
	if err == nil && a.Repository.LFS != nil {
		checkout.Objects, err = a.Repository.Store.Objects(ctx, checkout.Paths, checkout.BaseHead, checkout.Head)
		if err == nil {
			err = made.AddObjects(ctx, checkout.Objects)
		}
		if err != nil {
			return nil, errors.Join(err, made.Close())
		}
	}
	return made, err
}

// useFiles gives the workspace a new .git, and a new workspace its files.
func (a *attempt) useFiles(ctx context.Context, ws workspace.Workspace, made *git.Files, checkout git.Checkout) error {
	if ws.CreatedNow {
		if err := a.Workspaces.Fill(ws, func(folder *os.Root) error { return made.CopyTo(ctx, folder) }); err != nil {
			return err
		}
	}
	return a.Workspaces.ReplaceGit(ws, func(folder *os.Root) error {
		if err := a.Repository.Store.Populate(ctx, folder, checkout); err != nil {
			return err
		}
		return made.CopyIndex(ctx, folder)
	})
}
