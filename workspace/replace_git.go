package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

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

// stage makes a folder below the root and fills it.
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
