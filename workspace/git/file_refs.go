package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// fileRefPrefix begins the names of references with files. The remote starts no workflow for
// them, and no clone fetches them.
const fileRefPrefix = "refs/symphony/"

// FileRef is the name of a reference that carries files. The zero value names no
// reference.
type FileRef struct{ name string }

// ParseFileRef returns the name of a reference below refs/symphony/, whose parts consist of
// small letters, digits and hyphens.
func ParseFileRef(name string) (FileRef, error) {
	parts, ok := strings.CutPrefix(name, fileRefPrefix)
	if !ok || len(name) > maxBranch || strings.HasPrefix(name, temporaryPrefix) {
		return FileRef{}, fmt.Errorf("reference %.100q: it is not one for files below %s", name, fileRefPrefix)
	}
	for part := range strings.SplitSeq(parts, "/") {
		if part == "" || part[0] == '-' || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return FileRef{}, fmt.Errorf("reference %.100q: its parts have to be of small letters, digits and hyphens", name)
		}
	}
	return FileRef{name}, nil
}

// String returns the full name.
func (r FileRef) String() string { return r.name }

// FileRefs carries small sets of files from one machine to another over references of a
// remote. Each reference leads to one commit without a parent, whose tree is the files. It is
// created once and never moved.
//
// Everything happens in a repository of its own, which is empty at first and deleted by Close.
// References of others are read with the limits for the work of agents.
type FileRefs struct {
	store *bareRepository // repository in a temporary folder, which no other process opens
}

const (
	// fileRefsFolder begins the names of the folders of FileRefs.
	fileRefsFolder = "files-"
	// fileRefsLife is the age from which such a folder counts as left by a killed run: no
	// command takes that long.
	fileRefsLife = 24 * time.Hour
)

// FileRefs returns the references with files of a remote. The caller has to close it. The error
// is [ErrStore].
func (h *Host) FileRefs(remote Remote) (*FileRefs, error) {
	h.removeOldFileRefs(time.Now())
	dir, err := os.MkdirTemp(h.dir, fileRefsFolder)
	if err == nil {
		f := &FileRefs{&bareRepository{host: h.engine, remote: remote, dir: dir}}
		if err = makeRepository(f.store.repository()); err == nil {
			return f, nil
		}
		err = errors.Join(err, f.Close())
	}
	return nil, fmt.Errorf("make a temporary repository in %s: %w: %w", h.dir, ErrStore, err)
}

// removeOldFileRefs removes the folders that killed runs have left. A folder that cannot be
// removed does no harm.
func (h *Host) removeOldFileRefs(now time.Time) {
	left, _ := filepath.Glob(filepath.Join(escapeGlob(h.dir), fileRefsFolder+"*"))
	for _, folder := range left {
		if info, err := os.Lstat(folder); err == nil && now.Sub(info.ModTime()) > fileRefsLife {
			_ = os.RemoveAll(folder)
		}
	}
}

// Close deletes the temporary repository.
func (f *FileRefs) Close() error { return os.RemoveAll(f.store.dir) }

// The limits of the files of one reference.
const (
	maxRefFiles = 300
	maxRefDepth = 3        // folders in a path
	maxRefBytes = 96 << 20 // bytes of all files
)

// Push creates a reference with files, which are given by their path. If the remote already has
// the reference with the same files, Push changes nothing. The error is [ErrMoved] if the
// remote has it with other files, [ErrTooBig] if the files exceed the limits, or an error of a
// push.
func (f *FileRefs) Push(ctx context.Context, ref FileRef, files map[string][]byte) error {
	fail := func(err error) error {
		return fmt.Errorf("push files to %s of %s: %w", ref, f.store.remote, err)
	}
	commit, err := f.commit(files)
	if err != nil {
		return fail(err)
	}
	err = f.store.push(ctx, f.store.repository(), ref.name, commit, ObjectID{})
	if errors.Is(err, ErrMoved) {
		err = fmt.Errorf("%w: it has other files already, and is never moved: %w", ErrMoved, err)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// commit writes a commit of files and returns its id, which depends only on the files.
func (f *FileRefs) commit(files map[string][]byte) (ObjectID, error) {
	if len(files) == 0 || len(files) > maxRefFiles {
		return ObjectID{}, fmt.Errorf("%w: %d files, and 1 to %d are allowed", ErrTooBig, len(files), maxRefFiles)
	}
	total := 0
	var added []Change
	for name, data := range files {
		if !fs.ValidPath(name) || name == "." || strings.Count(name, "/") >= maxRefDepth {
			return ObjectID{}, fmt.Errorf("the path %q cannot be used", name)
		}
		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			if _, taken := files[above]; taken {
				return ObjectID{}, fmt.Errorf("%q is a file and a folder", path.Base(above))
			}
		}
		if total += len(data); total > maxRefBytes {
			return ObjectID{}, fmt.Errorf("%w: the files have more than %d bytes", ErrTooBig, maxRefBytes)
		}
		id, err := writeLoose(f.store.repository(), "blob", data)
		if err != nil {
			return ObjectID{}, err
		}
		added = append(added, Change{Path: name, NewMode: ModeFile, New: id})
	}
	tree, err := (&treeEdit{f.store.repository(), &treeWalk{}}).apply("", added, 0)
	if err != nil {
		return ObjectID{}, err
	}
	who := Person{Name: "symphony", Email: "symphony@localhost", When: time.Unix(0, 0)}
	text, err := Commit{Author: who, Committer: who, Message: "Hand files over"}.text()
	if err != nil {
		return ObjectID{}, err
	}
	return writeLoose(f.store.repository(), "commit", fmt.Appendf(nil, "tree %s\n%s", tree, text))
}

// List returns the references with files that the remote has below a folder, such as
// refs/symphony/fleet. It skips names that [ParseFileRef] refuses.
func (f *FileRefs) List(ctx context.Context, folder FileRef) ([]FileRef, error) {
	there, err := f.store.list(ctx, folder.name+"/*")
	if err != nil {
		return nil, err
	}
	var refs []FileRef
	for _, name := range slices.Sorted(maps.Keys(there.refs)) {
		if ref, err := ParseFileRef(name); err == nil && strings.HasPrefix(name, folder.name+"/") {
			refs = append(refs, ref)
		}
	}
	return refs, nil
}

// maxDeleted bounds the references that one push deletes.
const maxDeleted = 300

// Delete deletes references. A missing one is not an error.
func (f *FileRefs) Delete(ctx context.Context, refs ...FileRef) error {
	for part := range slices.Chunk(refs, maxDeleted) {
		if err := f.delete(ctx, part); err != nil {
			return fmt.Errorf("delete references of %s: %w", f.store.remote, err)
		}
	}
	return nil
}

// delete deletes references with one push. If git refuses it because some of them are missing,
// delete pushes again for the others.
func (f *FileRefs) delete(ctx context.Context, refs []FileRef) error {
	for {
		c := f.store.command("push", "--quiet", "--no-verify", "--recurse-submodules=no", "--no-signed", "--", f.store.remote.url)
		for _, ref := range refs {
			c.args = append(c.args, ":"+ref.name)
		}
		c.remote = &f.store.remote
		_, err := f.store.host.run(ctx, c)
		if err == nil {
			return nil
		}
		err = f.store.remote.explain("push", err)
		there, listErr := f.store.list(ctx, fileRefPrefix+"*")
		if listErr != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(refs), func(ref FileRef) bool { return there.refs[ref.name].IsZero() })
		switch len(left) {
		case 0:
			return nil
		case len(refs):
			return fmt.Errorf("%w: %w", ErrRejected, err)
		}
		refs = left
	}
}
