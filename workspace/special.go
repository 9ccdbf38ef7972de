package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// Bounds of the search for special files: no repository comes near them.
const (
	maxSearched = 2_000_000 // entries
	maxDeep     = 1000      // levels
)

// removeSpecial removes the named pipes, sockets and devices of a workspace. A
// hook that opens a pipe by the name of a file waits until its time is over, and
// whatever an agent left at the other end of one is dead. Call it while nothing
// runs there.
func (r *Root) removeSpecial(ctx context.Context, ws Workspace) {
	dir, err := r.dir.OpenRoot(ws.Key)
	if err != nil {
		return // the hook fails too, and says why
	}
	defer dir.Close()
	s := search{left: maxSearched}
	s.folder(dir, 0)
	log := r.issueLog(ws)
	if s.removed > 0 {
		log.InfoContext(ctx, "named pipes, sockets or devices removed before a hook", "files", s.removed)
	}
	if s.err != nil {
		log.WarnContext(ctx, "not all of the workspace was searched for named pipes: a hook that opens one waits", "error", s.err)
	}
}

// search is a search for special files.
type search struct {
	left    int // entries it may still look at
	removed int
	err     error // why it did not see everything; the first one
}

func (s *search) folder(dir *os.Root, depth int) {
	f, err := dir.Open(".")
	if err != nil {
		s.fail(err)
		return
	}
	defer f.Close()
	for s.left > 0 {
		entries, err := f.ReadDir(min(s.left, 1000))
		s.left -= len(entries)
		for _, e := range entries {
			switch mode := e.Type(); {
			case mode.IsDir():
				s.enter(dir, e.Name(), depth)
			case mode&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0:
				err := dir.Remove(e.Name())
				if errors.Is(err, fs.ErrPermission) && dir.Chmod(".", 0o700) == nil {
					err = dir.Remove(e.Name())
				}
				if err != nil {
					s.fail(err)
					continue
				}
				s.removed++
			}
		}
		if err != nil {
			return // io.EOF, or as much as can be read
		}
	}
	s.fail(errors.New("it has too many files"))
}

func (s *search) enter(dir *os.Root, name string, depth int) {
	if depth >= maxDeep {
		s.fail(errors.New("it is too deep"))
		return
	}
	inner, err := dir.OpenRoot(name)
	if errors.Is(err, fs.ErrPermission) && dir.Chmod(name, 0o700) == nil { // the agent hides it
		inner, err = dir.OpenRoot(name)
	}
	if err != nil {
		s.fail(err)
		return
	}
	defer inner.Close()
	s.folder(inner, depth+1)
}

func (s *search) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}
