package git

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files is the work tree of a [Checkout] in a folder of the host, for an agent in whose
// sandbox the host can run no [Host.CheckoutCommands]. Close deletes it.
type Files struct {
	store *Store
	dir   string // with the work tree and a repository that borrows the objects of the store

	objects *Objects // of Git LFS; nil leaves pointers
}

func (f *Files) tree() string       { return filepath.Join(f.dir, "tree") }
func (f *Files) repository() string { return filepath.Join(f.dir, "git") }

// CheckOut checks out Head in a folder of the host, which no agent can reach, with the
// configuration of the host alone: no hook runs, and no filter that an attribute names.
// The errors are [ErrStore] if the store does not have the commit, and [ErrNoGit].
func (s *Store) CheckOut(ctx context.Context, c Checkout) (*Files, error) {
	if err := s.host.CanCheckOut(c.Paths); err != nil {
		return nil, err
	}
	f := &Files{store: s, dir: filepath.Join(s.dir, incomingName, rand.Text())}
	if err := f.fill(ctx, s, c); err != nil {
		return nil, errors.Join(fmt.Errorf("check out %s of %s: %w", c.Head, s.remote, err), f.Close())
	}
	return f, nil
}

// fill makes the folders and checks out.
func (f *Files) fill(ctx context.Context, s *Store, c Checkout) error {
	if err := f.borrow(s, c); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	s.packs.RLock()
	defer s.packs.RUnlock()
	find := command{dir: f.dir, repository: f.repository(), args: []string{"cat-file", "-e", c.Head.String() + "^{commit}"}}
	if _, err := s.host.run(ctx, find); err != nil {
		return fmt.Errorf("%w: it does not have this commit; fetch first: %w", ErrStore, err)
	}
	reset := command{
		dir: f.tree(), repository: f.repository(), env: []string{"GIT_WORK_TREE=" + f.tree()},
		args: []string{"reset", "-q", "--hard", c.Head.String()}, timeout: s.host.limits.checkout,
	}
	if len(c.Paths) > 0 {
		reset.config = []string{"core.sparseCheckout", "true", "core.sparseCheckoutCone", "true"}
	}
	_, err := s.host.run(ctx, reset)
	return err
}

// borrow makes the folders, and a repository that has the objects of a store.
func (f *Files) borrow(s *Store, c Checkout) error {
	for _, folder := range []string{filepath.Dir(f.dir), f.dir, f.tree()} {
		if err := makeFolder(folder); err != nil {
			return err
		}
	}
	err := makeRepository(f.repository())
	if err == nil {
		err = makeFolder(filepath.Join(f.repository(), "info"))
	}
	if err != nil {
		return err
	}
	shallow, err := readShallow(s.repository())
	files := map[string]string{"objects/info/alternates": filepath.Join(s.repository(), "objects") + "\n"}
	if shallow != "" {
		files["shallow"] = shallow
	}
	if len(c.Paths) > 0 {
		files["info/sparse-checkout"] = sparsePatterns(c.Paths)
	}
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(f.repository(), name), []byte(text), 0o600)
		}
	}
	return err
}

// CopyIndex copies the index into a .git that [Store.Populate] has made for the same
// Checkout. git compares the files of that work tree with it by their content.
func (f *Files) CopyIndex(ctx context.Context, into *os.Root) error {
	if err := copyFile(ctx, into, "index", filepath.Join(f.repository(), "index"), 0o644); err != nil {
		return fmt.Errorf("copy the index: %w", err)
	}
	return nil
}

// CopyTo copies the files into a folder that has none of them. It starts no process, and
// a link leads nothing out of the folder: it is copied as a link.
func (f *Files) CopyTo(ctx context.Context, into *os.Root) error {
	err := filepath.WalkDir(f.tree(), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case path == f.tree():
			return nil
		}
		name, err := filepath.Rel(f.tree(), path)
		if err != nil {
			return err
		}
		if p, ok := f.objects.pointerOf(name, path, entry); ok {
			info, err := entry.Info()
			if err != nil {
				return err
			}
			return copyChecked(ctx, into, name, filepath.Join(f.store.lfsFolder(), p.file()), p, info.Mode().Perm())
		}
		return copyEntry(ctx, into, name, path, entry)
	})
	if err != nil {
		return fmt.Errorf("copy the files: %w", err)
	}
	return nil
}

// copyEntry copies an entry of a work tree that git has made.
func copyEntry(ctx context.Context, into *os.Root, name, from string, entry fs.DirEntry) error {
	switch entry.Type() {
	case fs.ModeDir:
		err := into.Mkdir(name, 0o755)
		if info, missing := into.Lstat(name); errors.Is(err, fs.ErrExist) && missing == nil && info.IsDir() {
			return nil // such as a folder that the agent's program makes when it starts
		}
		return err
	case fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return into.Symlink(target, name)
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	return copyFile(ctx, into, name, from, info.Mode().Perm())
}

// Close deletes the folder.
func (f *Files) Close() error {
	if err := os.RemoveAll(f.dir); err != nil {
		return fmt.Errorf("delete the files of a checkout: %w", err)
	}
	return nil
}
