package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// A sandbox can protect only files that exist. An agent that may commit can write to
// all of .git except its configuration and hooks. It could add one of these files,
// which make git read configuration and hooks from another place, and the next git
// outside the sandbox would run the programs that are named there. Seal therefore
// creates the files with a content that has no effect, and Tidy removes them.
const (
	commonDir      = "commondir"       // names the folder of the shared repository; "." is .git itself
	worktreeConfig = "config.worktree" // additional configuration, which some repositories enable
)

// gitFolders are the .git folders of workspaces that an agent may write.
type gitFolders struct{ *folders }

// sandboxPlaceholders are folders that the agent's sandbox creates in a workspace as
// mount points if they are missing, and may leave there empty.
var sandboxPlaceholders = []string{".git", ".agents", ".codex", ".aws"}

// Seal prepares a workspace for an agent in a sandbox, and reports whether the
// workspace is a git repository of its own, so that the agent can safely be allowed
// to commit. Call Tidy when the agent has ended.
func (g *gitFolders) Seal(ws Workspace) (repository bool, err error) {
	if !g.isRepository(ws) {
		return false, nil
	}
	if err := g.removeCommondir(ws); err != nil {
		return false, err
	}
	if err := g.dir.Mkdir(gitFile(ws, "hooks"), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("seal workspace %s: %w", ws.Path, err)
	}
	for name, text := range map[string]string{commonDir: ".\n", worktreeConfig: ""} {
		file, err := g.dir.OpenFile(gitFile(ws, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue // the repository has a configuration of its worktree, which stays
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

// isRepository reports whether a workspace is a git repository of its own: .git is a
// real folder, not the link of a worktree.
func (g *gitFolders) isRepository(ws Workspace) bool {
	if info, err := g.dir.Lstat(gitFile(ws, "")); err != nil || !info.IsDir() {
		return false
	}
	for _, name := range []string{"HEAD", "config"} {
		if info, err := g.dir.Lstat(gitFile(ws, name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// Tidy removes the files that Seal and the agent's sandbox leave in a workspace. No process may
// run there. It is also called before every hook, so that it happens after a crash as well. The
// error is [ErrUnsafe]: git must not run in this workspace outside a sandbox.
func (g *gitFolders) Tidy(ws Workspace) error {
	err := g.removeCommondir(ws)
	if info, err := g.dir.Lstat(gitFile(ws, worktreeConfig)); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		g.dir.Remove(gitFile(ws, worktreeConfig)) // if this fails, the empty file has no effect
	}
	for _, name := range sandboxPlaceholders {
		folder := path.Join(ws.Key, name)
		if info, err := g.dir.Lstat(folder); err == nil && info.IsDir() {
			g.dir.Remove(folder) // fails unless it is empty
		}
	}
	return err
}

// removeCommondir removes .git/commondir: Seal or the agent created it, because no
// repository that is a workspace has one. The error is [ErrUnsafe].
func (g *gitFolders) removeCommondir(ws Workspace) error {
	if info, err := g.dir.Lstat(gitFile(ws, "")); err != nil || !info.IsDir() {
		return nil
	}
	err := g.dir.RemoveAll(gitFile(ws, commonDir))
	if errors.Is(err, fs.ErrPermission) {
		if err = g.dir.Chmod(gitFile(ws, ""), 0o700); err == nil {
			err = g.dir.RemoveAll(gitFile(ws, commonDir))
		}
	}
	if err != nil {
		return fmt.Errorf("workspace %s: %w: its .git/commondir cannot be removed, so git may obey another repository there: %w; look at it, then remove the folder", ws.Path, ErrUnsafe, err)
	}
	return nil
}

func gitFile(ws Workspace, name string) string { return path.Join(ws.Key, ".git", name) }

func newGit(key string) string { return path.Join(metadataDir, key+".git-new") }
func oldGit(key string) string { return path.Join(metadataDir, key+".git-old") }

// ReplaceGit gives a workspace a new .git. It calls fill to write it into an empty
// folder that no agent has seen, moves whatever is in its place in the workspace away,
// and deletes that without opening it. All other files of the workspace stay. No
// process may run there. If fill fails, the workspace is as it was. If we are killed,
// the workspace may have no .git; the next call makes one.
func (g *gitFolders) ReplaceGit(ws Workspace, fill func(folder *os.Root) error) error {
	fail := func(err error) error { return fmt.Errorf("replace .git in workspace %s: %w", ws.Path, err) }
	info, err := g.find(ws)
	if err != nil {
		return fail(err)
	}
	if info == nil {
		return fail(errors.New("the workspace is gone; the next attempt creates it again"))
	}
	staged, old := newGit(ws.Key), oldGit(ws.Key)
	if err := errors.Join(g.removeTree(staged), g.removeTree(old)); err != nil {
		return fail(err) // a killed run left something that cannot be removed
	}
	if err := g.stage(staged, fill); err != nil {
		return fail(errors.Join(err, g.removeTree(staged)))
	}
	place := gitFile(ws, "")
	if err := g.makeMovable(ws.Key, place); err != nil {
		return fail(err)
	}
	if err := g.dir.Rename(place, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if err := g.dir.Rename(staged, place); err != nil {
		return fail(err)
	}
	if err := g.removeTree(old); err != nil {
		return fail(fmt.Errorf("the old one cannot be deleted: %w; delete %s by hand", err, path.Join(g.path, old)))
	}
	return nil
}

func (f *folders) stage(name string, fill func(folder *os.Root) error) error {
	if err := f.dir.Mkdir(metadataDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := f.dir.Mkdir(name, 0o755); err != nil {
		return err
	}
	folder, err := f.dir.OpenRoot(name)
	if err != nil {
		return err
	}
	defer folder.Close()
	return fill(folder)
}

// makeMovable makes folders writable that the agent may have made read-only: the one
// that holds an entry, and the entry, whose parent changes.
func (f *folders) makeMovable(names ...string) error {
	for _, name := range names {
		info, err := f.dir.Lstat(name)
		if err != nil || !info.IsDir() || info.Mode().Perm()&0o700 == 0o700 {
			continue
		}
		if err := f.dir.Chmod(name, info.Mode().Perm()|0o700); err != nil {
			return err
		}
	}
	return nil
}
