package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"
)

const (
	maxSearched = 2_000_000 // entries that a search for special files looks at
	maxDeep     = 100       // levels of folders that are open at once
)

// removeSpecial removes the named pipes, sockets and devices of a workspace, and
// the links inside the .git folder of a repository that the agent may write. A
// hook that opens a pipe by the name of a file waits until its time is over, and
// whatever an agent left at the other end of one is dead. A link in .git, where
// git makes none, has the git of a hook write to where it leads. Call it while
// nothing runs there.
func (r *Root) removeSpecial(ctx context.Context, ws Workspace) {
	dir, err := r.dir.OpenRoot(ws.Key)
	if err != nil {
		return // the hook fails too, and says why
	}
	defer dir.Close()
	removed := 0
	config, err := r.dir.Lstat(inGit(ws, "config")) // which the agent cannot replace
	repository := err == nil && config.Mode().IsRegular()
	w := walk{left: maxSearched}
	w.visit = func(dir *os.Root, folder string, e fs.DirEntry) {
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
	w.folder(dir, "", 0)
	log := r.issueLog(ws)
	if removed > 0 {
		log.InfoContext(ctx, "named pipes, sockets, devices or links in .git removed before a hook", "files", removed)
	}
	if w.err != nil {
		log.WarnContext(ctx, "not all of the workspace was searched for named pipes: a hook that opens one waits", "error", w.err)
	}
}

// flatten moves folders that are too deep to the top of a workspace that is to
// be deleted: a deletion keeps every folder open that it is in.
func (r *Root) flatten(key string) {
	for todo := []string{key}; len(todo) > 0; todo = todo[1:] {
		dir, err := r.dir.OpenRoot(todo[0])
		if err != nil {
			continue // the deletion fails too, and says why
		}
		w := walk{left: math.MaxInt}
		w.deep = func(folder string) {
			top := path.Join(key, rand.Text())
			if r.dir.Rename(path.Join(todo[0], folder), top) == nil {
				todo = append(todo, top)
			}
		}
		w.folder(dir, "", 0)
		dir.Close()
	}
}

// walk looks at everything below a folder, and keeps few folders open.
type walk struct {
	visit func(dir *os.Root, folder string, e fs.DirEntry) // what is no folder; may be nil
	deep  func(folder string)                              // a folder that is too deep to enter; nil: it is an error
	left  int                                              // entries it may still look at
	err   error                                            // why it did not see everything; the first one
}

func (w *walk) folder(dir *os.Root, folder string, depth int) {
	f, err := dir.Open(".")
	if err != nil {
		w.fail(err)
		return
	}
	defer f.Close()
	for w.left > 0 {
		entries, err := f.ReadDir(min(w.left, 1000))
		w.left -= len(entries)
		for _, e := range entries {
			switch {
			case e.IsDir():
				w.enter(dir, path.Join(folder, e.Name()), depth+1)
			case w.visit != nil:
				w.visit(dir, folder, e)
			}
		}
		if err != nil {
			return // io.EOF, or as much as can be read
		}
	}
	w.fail(errors.New("it has too many files"))
}

func (w *walk) enter(dir *os.Root, folder string, depth int) {
	if depth > maxDeep {
		if w.deep == nil {
			w.fail(errors.New("it is too deep"))
			return
		}
		w.deep(folder)
		return
	}
	name := path.Base(folder)
	inner, err := dir.OpenRoot(name)
	if errors.Is(err, fs.ErrPermission) && dir.Chmod(name, 0o700) == nil { // the agent hides it
		inner, err = dir.OpenRoot(name)
	}
	if err != nil {
		w.fail(err)
		return
	}
	defer inner.Close()
	w.folder(inner, folder, depth)
}

func (w *walk) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
