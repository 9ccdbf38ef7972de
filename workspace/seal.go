package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// A sandbox can only hold what exists. An agent that may commit, and so write
// all of .git but its configuration and hooks, could add to it a file that makes
// git take configuration and hooks from another place: the next git outside the
// sandbox would run what is named there. Seal puts such files there first, as
// they have no effect, and Tidy takes them away.
const (
	commonDir      = "commondir"       // names another place; "." is this one
	worktreeConfig = "config.worktree" // more configuration, in some repositories
)

// placeholders are folders that the agent's sandbox mounts over in a workspace
// where they do not exist, and may leave there, empty.
var placeholders = []string{".git", ".agents", ".codex", ".aws"}

// Seal prepares a workspace for an agent in a sandbox, and reports whether it is
// a git repository of its own, in which the agent can be let commit. Call Tidy
// when the agent has ended.
func (r *Root) Seal(ws Workspace) (repository bool, err error) {
	if !r.isRepository(ws) {
		return false, nil
	}
	if err := r.unplant(ws); err != nil {
		return false, err
	}
	if err := r.dir.Mkdir(inGit(ws, "hooks"), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("seal workspace %s: %w", ws.Path, err)
	}
	for name, text := range map[string]string{commonDir: ".\n", worktreeConfig: ""} {
		file, err := r.dir.OpenFile(inGit(ws, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue // a configuration of the worktree: it stays what it is
		}
		if err == nil {
			_, err = file.WriteString(text)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return false, fmt.Errorf("seal workspace %s: %w", ws.Path, err)
		}
	}
	return true, nil
}

// isRepository reports whether a workspace is a git repository of its own, with a
// plain .git folder.
func (r *Root) isRepository(ws Workspace) bool {
	if info, err := r.dir.Lstat(inGit(ws, "")); err != nil || !info.IsDir() {
		return false
	}
	for _, name := range []string{"HEAD", "config"} {
		if info, err := r.dir.Lstat(inGit(ws, name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// Tidy takes back what Seal and the agent's sandbox leave in a workspace. Call
// it while nothing runs there; every hook begins with it, so that it is done
// after a crash as well. The error is [ErrUnsafe]: no git outside a sandbox may
// run there.
func (r *Root) Tidy(ws Workspace) error {
	err := r.unplant(ws)
	if info, err := r.dir.Lstat(inGit(ws, worktreeConfig)); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		r.dir.Remove(inGit(ws, worktreeConfig)) // what cannot be removed has no effect
	}
	for _, name := range placeholders {
		folder := path.Join(ws.Key, name)
		if info, err := r.dir.Lstat(folder); err == nil && info.IsDir() {
			r.dir.Remove(folder) // fails unless it is empty
		}
	}
	return err
}

// unplant removes a .git/commondir, whoever put it there. No repository that is
// a workspace of its own has one. The error is [ErrUnsafe].
func (r *Root) unplant(ws Workspace) error {
	if info, err := r.dir.Lstat(inGit(ws, "")); err != nil || !info.IsDir() {
		return nil
	}
	err := r.dir.RemoveAll(inGit(ws, commonDir))
	if errors.Is(err, fs.ErrPermission) {
		if err = r.dir.Chmod(inGit(ws, ""), 0o700); err == nil {
			err = r.dir.RemoveAll(inGit(ws, commonDir))
		}
	}
	if err != nil {
		return fmt.Errorf("workspace %s: %w: its .git/commondir cannot be removed, so git may obey another repository there: %w; look at it, then remove the folder", ws.Path, ErrUnsafe, err)
	}
	return nil
}

func inGit(ws Workspace, name string) string { return path.Join(ws.Key, ".git", name) }
