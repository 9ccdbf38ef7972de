package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// marks is the folder beside the workspaces that says of each whose it is, in
// <key>.json, and which of them are not whole or in use: while one is made or deleted
// its file is called <key>.partial, and while a session runs there <key>.busy.
const marks = ".symphony"

// Prepare ensures the issue's folder and, when it is new, runs after_create
// (SPEC §9.2). If that fails or ctx ends, no folder is left. A folder that an
// earlier run left half made is made anew, and processes that an earlier run
// left in the folder are killed. The errors are [ErrUnsafe], [ErrBusy], those of
// a hook, and those of the file system.
func (r *Root) Prepare(ctx context.Context, issue Issue) (Workspace, error) {
	if err := context.Cause(ctx); err != nil {
		return Workspace{}, err
	}
	ws := r.workspace(issue)
	found, err := r.find(ws)
	if err != nil {
		return Workspace{}, err
	}
	partial, err1 := r.marked(ws, markOf(ws))
	busy, err2 := r.marked(ws, busyOf(ws.Key))
	if err := errors.Join(err1, err2); err != nil {
		return Workspace{}, err
	}
	if found != nil || partial || busy {
		if err := r.reclaim(ctx, ws); err != nil {
			return Workspace{}, err
		}
	}
	if partial {
		r.issueLog(ws).InfoContext(ctx, "half-made workspace discarded", "path", ws.Path)
		if err := r.delete(ws); err != nil {
			return Workspace{}, err
		}
	} else if found != nil {
		return ws, r.record(ws)
	}
	ws.CreatedNow = true
	if err := r.create(ctx, ws); err != nil {
		return Workspace{}, err
	}
	return ws, nil
}

func (r *Root) create(ctx context.Context, ws Workspace) error {
	if err := r.mark(ws); err != nil {
		return err
	}
	if err := r.dir.Mkdir(ws.Key, 0o700); err != nil {
		return errors.Join(fmt.Errorf("make workspace %s: %w", ws.Path, err), r.unmark(ws))
	}
	if err := r.hook(ctx, "after_create", r.cfg.Hooks.AfterCreate, ws); err != nil {
		return errors.Join(err, r.delete(ws))
	}
	return r.whole(ws)
}

func markOf(ws Workspace) string { return path.Join(marks, ws.Key+".partial") }

// marked reports whether a file about the workspace exists.
func (r *Root) marked(ws Workspace, name string) (bool, error) {
	switch _, err := r.dir.Lstat(name); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, fmt.Errorf("workspace %s: %w", ws.Path, err)
	}
}

// mark says that the workspace is not whole.
func (r *Root) mark(ws Workspace) error {
	err := r.dir.Rename(recordOf(ws.Key), markOf(ws))
	if errors.Is(err, fs.ErrNotExist) {
		err = r.dir.Rename(busyOf(ws.Key), markOf(ws))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = r.write(markOf(ws), ws)
	}
	if err != nil {
		return fmt.Errorf("mark workspace %s as unfinished: %w", ws.Path, err)
	}
	return nil
}

// whole says that the workspace is whole.
func (r *Root) whole(ws Workspace) error {
	if err := r.dir.Rename(markOf(ws), recordOf(ws.Key)); err != nil {
		return fmt.Errorf("mark workspace %s as finished: %w", ws.Path, err)
	}
	return nil
}

// unmark says that there is no workspace any more.
func (r *Root) unmark(ws Workspace) error {
	if err := r.dir.Remove(markOf(ws)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("mark workspace %s as gone: %w", ws.Path, err)
	}
	return nil
}
