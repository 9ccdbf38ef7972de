package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
)

// Prepare ensures that the issue's folder exists and, if it is new, runs
// after_create (SPEC §9.2). If that fails or ctx ends, no folder is left. The rest is
// as for Begin; it also fails with the errors of a hook.
func (r *Root) Prepare(ctx context.Context, issue Issue) (Workspace, error) {
	ws, err := r.Begin(ctx, issue)
	if err != nil || !ws.CreatedNow {
		return ws, err
	}
	if err = r.AfterCreate(ctx, ws); err != nil {
		err = errors.Join(err, r.delete(ws))
	} else {
		err = r.markFinished(ws, idleFile(ws.Key))
	}
	if err != nil {
		r.Release(ws)
		return Workspace{}, err
	}
	return ws, nil
}

// Begin ensures that the issue's folder exists, for a caller that fills a new one itself: until
// Finish is called a new folder is partial. A folder that an earlier run left partial is
// deleted and created again, and processes that an earlier run left in the folder are killed.
// No other process works there until [Root.Release] is called. The errors are [ErrUnsafe],
// [ErrInUse], [ErrForeign], [ErrBusy], and errors of the file system.
func (r *Root) Begin(ctx context.Context, issue Issue) (Workspace, error) {
	return r.holding(ctx, issue, r.begin)
}

// holding returns the workspace of an issue, which this process holds, as begin returns it.
func (r *Root) holding(ctx context.Context, issue Issue, begin func(context.Context, Workspace) (Workspace, error)) (Workspace, error) {
	if err := errors.Join(context.Cause(ctx), r.Check()); err != nil {
		return Workspace{}, err
	}
	ws := r.workspace(issue)
	if err := r.hold(ws); err != nil {
		return Workspace{}, err
	}
	begun, err := begin(ctx, ws)
	if err != nil {
		r.Release(ws)
		return Workspace{}, err
	}
	return begun, nil
}

// Visit returns the workspace of an issue that has one, and makes none. The rest is as for
// Begin; the errors are also [ErrNone].
func (r *Root) Visit(ctx context.Context, issue Issue) (Workspace, error) {
	return r.holding(ctx, issue, func(ctx context.Context, ws Workspace) (Workspace, error) {
		found, err1 := r.find(ws)
		partial, err2 := r.exists(ws, partialFile(ws.Key))
		switch err := errors.Join(err1, err2); {
		case err != nil:
			return ws, err
		case found == nil || partial:
			return ws, fmt.Errorf("workspace %s: %w", ws.Path, ErrNone)
		}
		return r.begin(ctx, ws)
	})
}

// begin does the work of Begin, for a workspace that this process holds.
func (r *Root) begin(ctx context.Context, ws Workspace) (Workspace, error) {
	found, err := r.find(ws)
	if err == nil {
		err = r.takeOver(ws, found != nil)
	}
	if err != nil {
		return ws, err
	}
	partial, err1 := r.exists(ws, partialFile(ws.Key))
	busy, err2 := r.exists(ws, busyFile(ws.Key))
	if err := errors.Join(err1, err2); err != nil {
		return ws, err
	}
	if found != nil || partial || busy {
		if err := r.reclaim(ctx, ws); err != nil {
			return ws, err
		}
	}
	if partial {
		r.issueLogger(ws).InfoContext(ctx, "half-made workspace discarded", "path", ws.Path)
		if err := r.delete(ws); err != nil {
			return ws, err
		}
	} else if found != nil {
		return ws, r.ensureRecord(ws)
	}
	ws.CreatedNow = true
	if err := r.markPartial(ws); err != nil {
		return ws, err
	}
	if err := r.dir.Mkdir(ws.Key, 0o700); err != nil {
		return ws, errors.Join(fmt.Errorf("make workspace %s: %w", ws.Path, err), r.clearPartial(ws))
	}
	return ws, nil
}

// Fill calls fill to write the files of a new workspace, and opens its folder for it.
// Nothing of an agent may run there.
func (f *folders) Fill(ws Workspace, fill func(folder *os.Root) error) error {
	fail := func(err error) error { return fmt.Errorf("fill workspace %s: %w", ws.Path, err) }
	info, err := f.find(ws)
	if err == nil && info == nil {
		err = errors.New("it is gone; the next attempt creates it again")
	}
	if err != nil {
		return fail(err)
	}
	folder, err := f.dir.OpenRoot(ws.Key)
	if err != nil {
		return fail(err)
	}
	defer folder.Close()
	if err := fill(folder); err != nil {
		return fail(err)
	}
	return nil
}

// Reclaim kills the processes that an earlier run, which was itself killed, left in
// the issue's workspace. [Root.Prepare] does so too; call Reclaim for an issue that
// will not be worked on again. In a workspace of another project there are none. The
// errors are [ErrInUse] and [ErrBusy].
func (r *Root) Reclaim(ctx context.Context, issue Issue) error {
	ws := r.workspace(issue)
	if err := r.hold(ws); err != nil {
		return err
	}
	defer r.Release(ws)
	if r.owner(ws) != "" {
		return nil
	}
	return r.reclaim(ctx, ws)
}

// reclaim kills the processes that an earlier run left in a workspace that is not
// idle, and marks it as idle.
func (r *Root) reclaim(ctx context.Context, ws Workspace) error {
	if r.isIdle(ws) {
		return nil
	}
	if err := r.killLeftovers(ctx, ws); err != nil {
		return err
	}
	r.markIdle(ws)
	return nil
}

// Remove runs before_remove and deletes the issue's folder. A missing folder is not an error,
// and the folder of another project's issue stays as if it were missing. Processes that an
// earlier run left there are killed first. If the hook fails, the folder is deleted
// nevertheless (SPEC §9.4): Remove returns the failure as failed, for callers to report, and a
// nil err if the folder is gone. The errors are as for Begin.
func (r *Root) Remove(ctx context.Context, issue Issue) (failed, err error) {
	ws := r.workspace(issue)
	if err := r.hold(ws); err != nil {
		return nil, err
	}
	defer r.Release(ws)
	found, err := r.find(ws)
	if err != nil {
		return nil, err
	}
	if r.owner(ws) != "" {
		return nil, nil
	}
	if found == nil {
		return nil, errors.Join(r.RemoveScratch(r.scratchFolder(ws)), r.clearPartial(ws))
	}
	if err := r.reclaim(ctx, ws); err != nil {
		return nil, err
	}
	failed = r.runHook(ctx, "before_remove", r.cfg.Hooks.BeforeRemove, ws)
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("remove workspace %s: %w", ws.Path, err)
	}
	if err := r.delete(ws); err != nil {
		return failed, err
	}
	r.issueLogger(ws).InfoContext(ctx, "workspace removed", "path", ws.Path)
	return failed, nil
}

// delete deletes a folder, even a partial one. It does not take a context, so that it
// does not stop half-way; if we are killed, the next Prepare deletes the rest.
func (r *Root) delete(ws Workspace) error {
	if err := r.markPartial(ws); err != nil {
		return err
	}
	if err := r.removeTree(ws.Key); err != nil {
		return fmt.Errorf("delete workspace %s: %w; delete it by hand", ws.Path, err)
	}
	if err := r.RemoveScratch(r.scratchFolder(ws)); err != nil {
		return err
	}
	return r.clearPartial(ws)
}

// removeTree deletes anything at a path below the root: a folder with everything in it, however
// deep it is and whatever its modes are, or anything else. It never follows a link, and opens
// only folders: to open a named pipe would wait.
func (f *folders) removeTree(name string) error {
	if info, err := f.dir.Lstat(name); err == nil && info.IsDir() {
		f.flatten(name)
	}
	return f.dir.RemoveAll(name) // it reports what is not removed
}

// flatten makes every folder writable in a workspace that is about to be deleted: module caches, for
// example, are read-only. It moves folders that are nested too deeply to the top, because RemoveAll
// keeps a file open for each level.
func (f *folders) flatten(key string) {
	for todo := []string{key}; len(todo) > 0; todo = todo[1:] {
		_ = f.dir.Chmod(todo[0], 0o700)
		dir, err := f.dir.OpenRoot(todo[0])
		if err != nil {
			continue
		}
		w := walk{budget: math.MaxInt, makeWritable: true}
		w.tooDeep = func(folder string) {
			top := path.Join(key, rand.Text())
			if f.dir.Rename(path.Join(todo[0], folder), top) == nil {
				todo = append(todo, top)
			}
		}
		w.walkFolder(dir, "", 0)
		dir.Close()
	}
}

// A scratch folder is a second folder of an issue, beside its workspace, in which the host has
// the work tried that was taken out of the workspace. No agent ever works there: its files are
// made from commits and by hooks, so nothing that an agent left in its own folder has a part in
// the result. Its name begins with a dot, so it is no workspace.

// Scratch makes an empty scratch folder for a workspace that this process holds. A folder of an
// earlier run in its place is deleted. Fill, ReplaceGit, Seal and the hooks take the result in
// place of the workspace; a [Workspace] is found by no other method.
func (f *folders) Scratch(ws Workspace) (Workspace, error) {
	scratch := f.scratchFolder(ws)
	err := f.removeTree(scratch.Key)
	if err == nil {
		err = f.dir.Mkdir(scratch.Key, 0o700)
	}
	if err != nil {
		return Workspace{}, fmt.Errorf("make the scratch folder %s: %w", scratch.Path, err)
	}
	return scratch, nil
}

// RemoveScratch deletes the folder of Scratch. No process may run there.
func (f *folders) RemoveScratch(scratch Workspace) error {
	if !scratch.scratch {
		return fmt.Errorf("delete the scratch folder %s: it is a workspace", scratch.Path)
	}
	if err := f.removeTree(scratch.Key); err != nil {
		return fmt.Errorf("delete the scratch folder %s: %w; delete it by hand", scratch.Path, err)
	}
	return nil
}

func (f *folders) scratchFolder(ws Workspace) Workspace {
	scratch := f.workspace(ws.Issue)
	scratch.Key = ".scratch-" + scratch.Key
	scratch.Path = f.pathOf(scratch.Key)
	scratch.CreatedNow, scratch.scratch = true, true
	return scratch
}
