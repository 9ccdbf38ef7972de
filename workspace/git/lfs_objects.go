package git

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/parallel"
)

// lfsName is the folder of a store with the objects of Git LFS. They are content of the
// remote that was checked when it came; no agent can read the folder, and workspaces get
// copies.
const lfsName = "lfs"

// lfsStore keeps the objects of Git LFS of a store.
type lfsStore struct {
	*bareRepository
	busy  chan struct{}           // has room for one who reads trees for Git LFS, or fetches its objects
	trees map[lfsTree][]pointerAt // pointers of the trees read so far; needs busy
}

// Objects lists the objects of Git LFS that a workspace gets. nil means none: its files in Git
// LFS stay pointers.
type Objects struct{ pointers []Pointer }

// Objects returns the objects of Git LFS that a checkout of these commits with paths needs. It
// downloads the objects that the store does not have. The commits must be on the remote. It
// fails with the errors of a Fetch, and [ErrLFS] for an object that is missing on the server,
// or does not match its pointer.
func (s *lfsStore) Objects(ctx context.Context, paths []string, commits ...ObjectID) (*Objects, error) {
	fail := func(err error) (*Objects, error) {
		return nil, fmt.Errorf("fetch the objects of Git LFS of %s: %w", s.remote, err)
	}
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if len(s.trees) > 100 {
		clear(s.trees)
	}
	all := map[string]pointerAt{}
	for _, commit := range commits {
		tree := lfsTree{commit, strings.Join(paths, "\x00")}
		found, known := s.trees[tree]
		if !known {
			var err error
			if found, err = s.pointers(ctx, commit, paths); err != nil {
				return fail(err)
			}
			s.trees[tree] = found
		}
		for _, p := range found {
			if other, twice := all[p.OID]; twice && other.Size != p.Size {
				return fail(fmt.Errorf("%w: the pointers %s and %s name one object and two sizes; correct the wrong one", ErrLFS, sanitize(p.path), sanitize(other.path)))
			}
			all[p.OID] = p
		}
	}
	objects := new(Objects)
	var missing []pointerAt
	for _, p := range all {
		objects.pointers = append(objects.pointers, p.Pointer)
		if !hasObject(s.lfsFolder(), p.Pointer) {
			missing = append(missing, p)
		}
	}
	if err := s.fetchObjects(ctx, missing); err != nil {
		return fail(err)
	}
	return objects, nil
}

func (s *lfsStore) lfsFolder() string { return filepath.Join(s.dir, lfsName) }

func (s *lfsStore) fetchObjects(ctx context.Context, missing []pointerAt) error {
	slices.SortStableFunc(missing, func(a, b pointerAt) int { return strings.Compare(a.OID, b.OID) })
	if len(missing) == 0 {
		return nil
	}
	if folder := s.remote.Folder(); folder != "" {
		return s.copyLocal(ctx, folder, missing)
	}
	for part := range slices.Chunk(missing, batchObjects) {
		if err := s.download(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// copyLocal copies objects from a repository of the user on this machine.
func (s *lfsStore) copyLocal(ctx context.Context, folder string, missing []pointerAt) error {
	from, err := s.localObjects(ctx, folder)
	if err != nil {
		return err
	}
	for _, p := range missing {
		f, err := os.Open(filepath.Join(from, p.file()))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: the repository does not have the object of %s; run git lfs fetch there", ErrLFS, sanitize(p.path))
		}
		if err == nil {
			err = writeObject(s.lfsFolder(), p.Pointer, f)
			f.Close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", sanitize(p.path), err)
		}
	}
	return nil
}

func (s *lfsStore) localObjects(ctx context.Context, folder string) (string, error) {
	out, err := s.host.run(ctx, command{dir: folder, args: []string{"rev-parse", "--git-common-dir"}})
	if err != nil {
		return "", fmt.Errorf("%s: %w: it is not a repository, or belongs to another user: %w", folder, ErrFolder, err)
	}
	common := strings.TrimSuffix(string(out), "\n")
	if !filepath.IsAbs(common) {
		common = filepath.Join(folder, common)
	}
	return filepath.Join(common, "lfs", "objects"), nil
}

func (s *lfsStore) download(ctx context.Context, missing []pointerAt) error {
	server, err := s.lfsServer(ctx)
	if err != nil {
		return err
	}
	wants := make([]Pointer, len(missing))
	at := map[string]pointerAt{}
	for i, p := range missing {
		wants[i], at[p.OID] = p.Pointer, p
	}
	objects, err := server.batch(ctx, "download", "", wants)
	if err != nil {
		return err
	}
	return inParallel(ctx, objects, func(ctx context.Context, object lfsObject) error {
		p := at[object.OID]
		if refused := object.Error; refused != nil {
			_, kind := statusMeaning(refused.Code)
			if !errors.Is(kind, ErrUnavailable) && !errors.Is(kind, ErrForbidden) {
				kind = ErrLFS
			}
			return fmt.Errorf("%w: the server does not give the object of %s: %d%s; push it with git lfs, or remove repository.lfs", kind, sanitize(p.path), refused.Code, quoted(refused.Message))
		}
		action, ok := object.Actions["download"]
		if !ok {
			return fmt.Errorf("%w: the server gives no address for the object of %s; push it with git lfs, or remove repository.lfs", ErrLFS, sanitize(p.path))
		}
		return server.transfer(ctx, http.MethodGet, action, "download "+sanitize(p.path), nil, func(answer *http.Response) error {
			if n := answer.ContentLength; n >= 0 && n != p.Size {
				return fmt.Errorf("%w: %s: %d bytes come, and its pointer says %d; push it again with git lfs", ErrLFS, sanitize(p.path), n, p.Size)
			}
			if err := writeObject(s.lfsFolder(), p.Pointer, answer.Body); err != nil {
				return fmt.Errorf("%s: %w", sanitize(p.path), err)
			}
			return nil
		})
	})
}

const lfsWorkers = 4 // transfers at once

// inParallel calls use with each item, a few at a time, until one fails or ctx ends.
func inParallel[T any](ctx context.Context, items []T, use func(context.Context, T) error) error {
	return parallel.Each(ctx, lfsWorkers, items, func(ctx context.Context, _ int, item T) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return use(ctx, item)
	})
}

// hasObject reports whether an object is in a folder of objects, in its whole length.
func hasObject(folder string, p Pointer) bool {
	info, err := os.Lstat(filepath.Join(folder, p.file()))
	return err == nil && info.Mode().IsRegular() && info.Size() == p.Size
}

// writeObject writes an object that is read from r into a folder of objects. A kill leaves the
// whole object or none. The error is [ErrLFS] unless r has exactly the content of the pointer.
func writeObject(folder string, p Pointer, r io.Reader) error {
	place := filepath.Join(folder, p.file())
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	draft := filepath.Join(folder, draftPrefix+rand.Text())
	f, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	defer os.Remove(draft)
	err = copyObject(f, r, p)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(draft, place); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	return nil
}

// draftPrefix begins the names of objects that are being written.
const draftPrefix = "tmp-"

// diskWriter keeps the error of the latest write apart from errors of its source.
type diskWriter struct {
	io.Writer
	err error
}

func (w *diskWriter) Write(p []byte) (n int, err error) {
	n, err = w.Writer.Write(p)
	w.err = err
	return n, err
}

func copyObject(to io.Writer, from io.Reader, p Pointer) error {
	hash := sha256.New()
	disk := &diskWriter{Writer: to}
	n, err := io.Copy(io.MultiWriter(disk, hash), io.LimitReader(from, p.Size))
	var more [1]byte
	switch {
	case disk.err != nil:
		return fmt.Errorf("%w: %w; make room there", ErrStore, disk.err)
	case err != nil:
		return fmt.Errorf("%w: the object is cut after %d of %d bytes: %s; it is tried again", ErrUnavailable, n, p.Size, sanitize(err.Error()))
	case n < p.Size:
		return fmt.Errorf("%w: the object has %d bytes, and its pointer says %d; push it again with git lfs", ErrLFS, n, p.Size)
	}
	if n, _ := io.ReadFull(from, more[:]); n > 0 {
		return fmt.Errorf("%w: the object has more than the %d bytes that its pointer says; push it again with git lfs", ErrLFS, p.Size)
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != p.OID {
		return fmt.Errorf("%w: the object has the SHA-256 %s, and its pointer says %s; push it again with git lfs", ErrLFS, sum, p.OID)
	}
	return nil
}

// removeDrafts removes the unfinished objects of a killed run.
func (s *lfsStore) removeDrafts() error {
	drafts, err := filepath.Glob(filepath.Join(escapeGlob(s.lfsFolder()), draftPrefix+"*"))
	indexes, err2 := filepath.Glob(filepath.Join(escapeGlob(s.dir), indexPrefix+"*"))
	for _, name := range append(drafts, indexes...) {
		err = errors.Join(err, os.Remove(name))
	}
	return errors.Join(err, err2)
}
