package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

const (
	maxSearchedEntries = 2_000_000 // entries that a search for special files reads
	maxDepth           = 100       // levels of folders that are open at the same time
)

// removeSpecialFiles removes the named pipes, sockets and devices of a workspace, and
// the symbolic links inside the .git folder of a repository that the agent may write.
// A hook that opens a pipe in the place of a file would wait until its timeout,
// because the agent's process at the other end is dead. A link in .git, where git
// itself makes none, would make the git of a hook write to the target of the link.
// No process may run in the workspace.
func (r *Root) removeSpecialFiles(ctx context.Context, ws Workspace) {
	dir, err := r.dir.OpenRoot(ws.Key)
	if err != nil {
		return // the hook fails too, and reports why
	}
	defer dir.Close()
	removed := 0
	config, err := r.dir.Lstat(gitFile(ws, "config")) // the agent cannot replace it
	repository := err == nil && config.Mode().IsRegular()
	w := walk{budget: maxSearchedEntries}
	w.visitFile = func(dir *os.Root, folder string, e fs.DirEntry) {
		unwanted := fs.ModeNamedPipe | fs.ModeSocket | fs.ModeDevice
		if repository && (folder == ".git" || strings.HasPrefix(folder, ".git/")) {
			unwanted |= fs.ModeSymlink
		}
		if e.Type()&unwanted == 0 {
			return
		}
		err := dir.Remove(e.Name())
		if errors.Is(err, fs.ErrPermission) && dir.Chmod(".", 0o700) == nil {
			err = dir.Remove(e.Name())
		}
		if err != nil {
			w.fail(err)
			return
		}
		removed++
	}
	w.walkFolder(dir, "", 0)
	log := r.issueLogger(ws)
	if removed > 0 {
		log.InfoContext(ctx, "named pipes, sockets, devices or links in .git removed before a hook", "files", removed)
	}
	if w.err != nil {
		log.WarnContext(ctx, "not all of the workspace was searched for named pipes: a hook that opens one waits", "error", w.err)
	}
}

// walk visits everything below a folder, and keeps at most maxDepth folders open.
type walk struct {
	visitFile    func(dir *os.Root, folder string, e fs.DirEntry) // called for every entry that is not a folder; may be nil
	tooDeep      func(folder string)                              // called for a folder below maxDepth; if nil, such a folder is an error
	readOnly     bool                                             // a folder that cannot be read stays as it is, and is an error
	makeWritable bool                                             // every folder is made writable
	budget       int                                              // entries that may still be read
	err          error                                            // the first reason why something was not visited
}

// walkFolder visits the entries of dir, whose path below the start of the walk is
// folder.
func (w *walk) walkFolder(dir *os.Root, folder string, depth int) {
	f, err := dir.Open(".")
	if err != nil {
		w.fail(err)
		return
	}
	defer f.Close()
	for w.budget > 0 {
		entries, err := f.ReadDir(min(w.budget, 1000))
		w.budget -= len(entries)
		for _, e := range entries {
			switch {
			case e.IsDir():
				w.enterFolder(dir, path.Join(folder, e.Name()), depth+1)
			case w.visitFile != nil:
				w.visitFile(dir, folder, e)
			}
		}
		if err != nil {
			return // io.EOF, or an error after the entries that can be read
		}
	}
	w.fail(errors.New("it has too many files"))
}

// enterFolder opens and walks a folder inside dir.
func (w *walk) enterFolder(dir *os.Root, folder string, depth int) {
	if depth > maxDepth {
		if w.tooDeep == nil {
			w.fail(errors.New("it is too deep"))
			return
		}
		w.tooDeep(folder)
		return
	}
	name := path.Base(folder)
	if w.makeWritable {
		_ = dir.Chmod(name, 0o700) // a folder of somebody else stays as it is
	}
	inner, err := dir.OpenRoot(name)
	if errors.Is(err, fs.ErrPermission) && !w.readOnly && dir.Chmod(name, 0o700) == nil { // the agent made it unreadable
		inner, err = dir.OpenRoot(name)
	}
	if err != nil {
		w.fail(err)
		return
	}
	defer inner.Close()
	w.walkFolder(inner, folder, depth)
}

// fail keeps the first error; the walk continues.
func (w *walk) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
