package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The limits of one fetch of references with files. Its processor time is limited too, so the
// references of others cannot use all of refsTime.
const (
	maxRefsPack = 512 << 20           // bytes of the pack of several references
	maxRefPack  = maxRefBytes + 4<<20 // bytes of the pack of one
	refsTime    = 5 * time.Minute
	readTime    = 6 * time.Minute // time of all fetches of one Read together
)

// RefFiles represents a reference that was read: either its files, by their path, or the error
// why they cannot be used.
type RefFiles struct {
	Ref   FileRef
	Files map[string][]byte
	Err   error // [ErrRefused] for anything but regular files within the limits, [ErrNoBase] for a reference that is gone
}

// Read calls take with each reference, one after another. limit returns the largest size of the
// file at a path of a reference, and 0 for a path that the caller does not expect. A reference
// that has such a path, or anything but regular files, is refused; the others are read all the
// same. All references together have a bound of time: those that were not read in it are
// refused. Read fails if the remote cannot be asked, or if take fails.
func (f *FileRefs) Read(ctx context.Context, refs []FileRef, limit func(ref FileRef, path string) int64, take func(RefFiles) error) error {
	bounded, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	return f.read(ctx, bounded, refs, limit, take)
}

// read does what Read does, as long as bounded is not done.
func (f *FileRefs) read(ctx, bounded context.Context, refs []FileRef, limit func(ref FileRef, path string) int64, take func(RefFiles) error) error {
	if len(refs) == 0 {
		return nil
	}
	fetchErr := f.fetch(ctx, maxRefsPack, refs...)
	if isOfRemote(ctx, fetchErr) {
		return fetchErr
	}
	for _, ref := range refs {
		files, err := RefFiles{Ref: ref}, error(nil)
		if fetchErr != nil { // one reference may be the cause: each is fetched by itself
			err = f.fetch(bounded, maxRefPack, ref)
			if bounded.Err() == nil && isOfRemote(ctx, err) {
				return err
			}
		}
		if err == nil {
			files.Files, err = f.files(bounded, ref, func(path string) int64 { return limit(ref, path) })
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && bounded.Err() != nil {
			err = refuse("the time for all references together is over")
		}
		if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
			err = fmt.Errorf("%w: %s", ErrRefused, refusal.Reason)
		}
		if err != nil {
			files.Files, files.Err = nil, fmt.Errorf("read the files of %s: %w", ref, err)
		}
		if err := take(files); err != nil {
			return err
		}
	}
	return nil
}

// isOfRemote reports whether a fetch failed because of the remote or the context, so that a
// fetch of other references fails too.
func isOfRemote(ctx context.Context, err error) bool {
	if err != nil && ctx.Err() != nil {
		return true
	}
	for _, kind := range []error{ErrUnavailable, ErrUnauthorized, ErrForbidden, ErrNotFound, ErrRenamed} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// fetch fetches references without their history: a reference of FileRefs has none.
func (f *FileRefs) fetch(ctx context.Context, size int64, refs ...FileRef) error {
	s := f.store
	c := s.confined(fetchArgs("--depth=1", "--", s.remote.url)...)
	for _, ref := range refs {
		c.args = append(c.args, "+"+ref.name+":"+ref.name)
	}
	c.remote, c.fileSize, c.timeout = &s.remote, size, refsTime
	_, err := s.host.run(ctx, c)
	if err == nil {
		return nil
	}
	if left := repairPacks(s.packFolder()); left != nil {
		return fmt.Errorf("%w: %w", ErrStore, left)
	}
	err = s.remote.explain("fetch", err)
	if errors.Is(err, ErrTooBig) || errors.Is(err, ErrUnsupported) {
		return &Refusal{Reason: "git does not take what is there within the limits", Err: err}
	}
	return err
}

func (f *FileRefs) files(ctx context.Context, ref FileRef, limit func(path string) int64) (map[string][]byte, error) {
	s := f.store
	objects, err := s.host.openObjects(ctx, s.confined(), nil)
	if err != nil {
		return nil, err
	}
	limits := s.host.limits
	limits.trees, limits.object = maxRefFiles, 1<<20
	r := &refReader{walk: &treeWalk{objects: objects, limits: limits}, limit: limit, files: map[string][]byte{}}
	if err := objects.close(r.read(ref.name+"^{tree}", "")); err != nil {
		return nil, err
	}
	if len(r.files) == 0 {
		return nil, refuse("it has no files")
	}
	return r.files, nil
}

// refReader reads the files of a tree.
type refReader struct {
	walk  *treeWalk
	limit func(path string) int64
	files map[string][]byte
	total int64
}

// read reads the files of a tree, which is named by a request for git cat-file. Their paths
// begin with prefix.
func (r *refReader) read(request, prefix string) error {
	entries, err := r.walk.read(request)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := prefix + e.name
		limit := r.limit(path)
		switch {
		case e.mode == ModeFolder && strings.Count(path, "/") < maxRefDepth-1:
			if err := r.read(e.id.String(), path+"/"); err != nil {
				return err
			}
			continue
		case e.mode != ModeFile:
			return refuse("%q is not a regular file", sanitize(path))
		case limit <= 0:
			return refuse("nobody expects the file %q", sanitize(path))
		case len(r.files) >= maxRefFiles:
			return refuse("it has more than %d files", maxRefFiles)
		case r.files[path] != nil:
			return refuse("%q comes twice", sanitize(path))
		}
		object, err := r.walk.objects.ask(e.id.String())
		if err != nil {
			return err
		}
		if object.Type != "blob" {
			return refuse("%q is a %s", sanitize(path), object.Type)
		}
		data, err := r.walk.objects.contents(object, min(limit, maxRefBytes-r.total))
		if err != nil {
			return err
		}
		r.files[path] = data
		r.total += object.Size
	}
	return nil
}
