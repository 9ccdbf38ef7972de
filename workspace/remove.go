package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// Remove runs before_remove and deletes the issue's folder. A missing one is no
// error. What an earlier run left running there is killed first. A failure of the
// hook does not keep the folder (SPEC §9.4): it is returned as failed, for callers
// to report, and err is then nil if the folder is gone.
func (r *Root) Remove(ctx context.Context, issue Issue) (failed, err error) {
	ws := r.workspace(issue)
	found, err := r.find(ws)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, r.unmark(ws)
	}
	if err := r.reclaim(ctx, ws); err != nil {
		return nil, err
	}
	failed = r.hook(ctx, "before_remove", r.cfg.Hooks.BeforeRemove, ws)
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("remove workspace %s: %w", ws.Path, err)
	}
	if err := r.delete(ws); err != nil {
		return failed, err
	}
	r.issueLog(ws).InfoContext(ctx, "workspace removed", "path", ws.Path)
	return failed, nil
}

// delete deletes a folder, and whatever a failed creation left. It does not stop
// half-way when a context ends; if we are killed, the mark tells of the rest.
func (r *Root) delete(ws Workspace) error {
	if err := r.mark(ws); err != nil {
		return err
	}
	r.flatten(ws.Key)
	err := r.dir.RemoveAll(ws.Key)
	if errors.Is(err, fs.ErrPermission) {
		r.openUp(ws.Key) // what it cannot open up, RemoveAll reports
		err = r.dir.RemoveAll(ws.Key)
	}
	if err != nil {
		return fmt.Errorf("delete workspace %s: %w; delete it by hand", ws.Path, err)
	}
	return r.unmark(ws)
}

// openUp makes every folder below a workspace writable and searchable: module
// caches, for one, are read-only, which only the superuser can delete.
func (r *Root) openUp(key string) {
	for todo := []string{key}; len(todo) > 0; {
		folder := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if info, err := r.dir.Lstat(folder); err != nil || !info.IsDir() || r.dir.Chmod(folder, 0o700) != nil {
			continue
		}
		f, err := r.dir.Open(folder)
		if err != nil {
			continue
		}
		for {
			entries, err := f.ReadDir(1000)
			for _, e := range entries {
				if e.IsDir() {
					todo = append(todo, path.Join(folder, e.Name()))
				}
			}
			if err != nil {
				break // usually io.EOF
			}
		}
		f.Close()
	}
}
