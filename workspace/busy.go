package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// A search for the processes that an earlier run left reads /proc of every process
// on the machine. Most workspaces need none: while a session runs in a workspace its
// record is called <key>.busy, and it is called <key>.json again once every process
// of the session is known to be dead. A run that is killed leaves <key>.busy behind.

func busyOf(key string) string { return path.Join(marks, key+".busy") }

// begin notes that a session is about to start in the workspace. It reports
// whether the workspace was at rest before.
func (r *Root) begin(ws Workspace) (wasAtRest bool, err error) {
	err = r.dir.Rename(recordOf(ws.Key), busyOf(ws.Key))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist): // busy already, not whole, or not recorded: it will be searched
		return false, nil
	}
	return false, fmt.Errorf("note that workspace %s is in use: %w", ws.Path, err)
}

// rest notes that nothing runs in the workspace. If that fails the workspace stays
// busy, which costs a search.
func (r *Root) rest(ws Workspace) { _ = r.dir.Rename(busyOf(ws.Key), recordOf(ws.Key)) }

// atRest reports whether every session in the workspace ended while somebody
// watched, and nothing was left of it.
func (r *Root) atRest(ws Workspace) bool {
	_, err := r.dir.Lstat(recordOf(ws.Key))
	return err == nil
}

// reclaim kills what an earlier run left running in a workspace that is not at rest.
func (r *Root) reclaim(ctx context.Context, ws Workspace) error {
	if r.atRest(ws) {
		return nil
	}
	if err := r.killLeftovers(ctx, ws); err != nil {
		return err
	}
	r.rest(ws)
	return nil
}
