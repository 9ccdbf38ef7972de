package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// marks is the folder beside the workspaces that says which of them are not
// whole: a folder is marked before it is made and unmarked when after_create has
// succeeded, marked before it is deleted and unmarked when it is gone.
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
	partial, err := r.marked(ws)
	if err != nil {
		return Workspace{}, err
	}
	if found != nil || partial {
		if err := r.killLeftovers(ctx, ws); err != nil {
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
	err := r.record(ws)
	if err == nil {
		err = r.hook(ctx, "after_create", r.cfg.Hooks.AfterCreate, ws)
	}
	if err != nil {
		return errors.Join(err, r.delete(ws))
	}
	return r.unmark(ws)
}

func markOf(ws Workspace) string { return path.Join(marks, ws.Key+".partial") }

func (r *Root) marked(ws Workspace) (bool, error) {
	switch _, err := r.dir.Lstat(markOf(ws)); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, fmt.Errorf("workspace %s: %w", ws.Path, err)
	}
}

func (r *Root) mark(ws Workspace) error {
	err := r.dir.Mkdir(marks, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) {
		var f *os.File
		if f, err = r.dir.OpenFile(markOf(ws), os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("mark workspace %s as unfinished: %w", ws.Path, err)
	}
	return nil
}

func (r *Root) unmark(ws Workspace) error {
	if err := r.dir.Remove(markOf(ws)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("mark workspace %s as finished: %w", ws.Path, err)
	}
	return nil
}
