package git

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed lfs_take.sh
var takeScript string

// Bounds of the new pointers of one work, so that one command can name their objects.
const (
	maxNewPointers = 1000
	maxNewPaths    = 64 << 10 // bytes
)

// NewObjects returns the pointers of Git LFS that are new in the work: in its tip, or with
// history in any of its commits. The store has no file with the same pointer. More than
// the bounds are a [Refusal].
func (in *Incoming) NewObjects(ctx context.Context, history bool) ([]NewObject, error) {
	isNew := map[ObjectID]bool{}
	var ids []ObjectID
	for _, object := range in.Objects {
		if object.Type == "blob" && object.Size >= minPointer && object.Size <= maxPointer {
			isNew[object.ID] = true
			ids = append(ids, object.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	changes, err := in.Changes(ctx, in.MergeBase, in.Tip)
	if err != nil {
		return nil, err
	}
	paths := map[ObjectID]string{}
	for _, c := range changes {
		if c.NewMode == ModeFile || c.NewMode == ModeExecutable {
			paths[c.New] = c.Path
		}
	}
	if !history {
		ids = slices.DeleteFunc(ids, func(id ObjectID) bool { _, inTip := paths[id]; return !inTip })
	}
	var found []NewObject
	length := 0
	seen := map[Pointer]bool{}
	err = in.ReadObjects(ctx, ids, func(object Object, r io.Reader) error {
		text, err := io.ReadAll(r)
		if p, ok := ParsePointer(text); ok && !seen[p] {
			seen[p] = true
			found = append(found, NewObject{p, paths[object.ID]})
			length += len(paths[object.ID])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(found) > maxNewPointers || length > maxNewPaths {
		return nil, refuse("it has %d new files in Git LFS, the limit is %d; add fewer", len(found), maxNewPointers)
	}
	return found, nil
}

// NewObject is an object of Git LFS that the work needs and the base does not.
type NewObject struct {
	Pointer
	Path string // path of a file in the tip that has the object; empty if only an older commit has it
}

// ObjectsCommand returns the command that prints objects, for [Incoming.TakeObjects]. Run it as
// the harvest is run.
func (h *Host) ObjectsCommand(objects []NewObject) Command {
	c := Command{Args: []string{h.shell, "-c", takeScript, "sh"}, Env: sandboxEnv}
	for _, o := range objects {
		c.Args = append(c.Args, o.file(), strconv.FormatInt(o.Size, 10), o.Path)
	}
	return c
}

// takenObjects are the objects of Git LFS in a quarantine, beside the work.
type takenObjects struct {
	*quarantine
	taken map[string]Pointer // keys are the ids of the objects
}

// TakeObjects takes objects into the quarantine, from the output of the command for them, and
// checks the SHA-256 of each. Objects that the workspace does not have are left out; see
// [Incoming.Object]. r must return an error, not io.EOF, if the command failed. If the output
// is not the command's own, the error is a [Refusal].
func (t *takenObjects) TakeObjects(r io.Reader, objects []NewObject) error {
	from := bufio.NewReader(r)
	for _, o := range objects {
		flag, err := from.ReadByte()
		switch {
		case err != nil:
			return unreadable(err)
		case flag == '-':
			continue
		case flag != '+':
			return refuse("the objects of Git LFS cannot be read: %q is in the place of one", flag)
		}
		if err := t.takeObject(from, o); err != nil {
			return err
		}
	}
	if _, err := from.ReadByte(); err == nil {
		return refuse("something follows the objects of Git LFS")
	} else if err != io.EOF {
		return unreadable(err)
	}
	return nil
}

// unreadable returns the error for objects of Git LFS that end early or cannot be read.
func unreadable(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &Refusal{Reason: fmt.Sprintf("the objects of Git LFS cannot be read: %v", err), Err: err}
}

func (t *takenObjects) takeObject(from io.Reader, o NewObject) error {
	one := &exactly{r: from, left: o.Size}
	err := writeObject(t.lfsFolder(), o.Pointer, one)
	switch {
	case errors.Is(err, ErrLFS) && one.err == nil:
		return refuse("%q is in Git LFS, and the workspace has something else in the place of its object; write the file again, and commit it", sanitize(o.Path))
	case one.err != nil:
		return unreadable(one.err)
	case err != nil:
		return fmt.Errorf("take the objects of Git LFS: %w", err)
	}
	t.taken[o.OID] = o.Pointer
	return nil
}

// exactly reads a part of a stream. An end before its end is an error.
type exactly struct {
	r    io.Reader
	left int64
	err  error
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	if err == io.EOF && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && e.left > 0 {
		e.err = err
	}
	return n, err
}

func (t *takenObjects) lfsFolder() string { return filepath.Join(t.dir, lfsName) }

// Has reports whether an object of Git LFS was taken with the work.
func (t *takenObjects) Has(p Pointer) bool {
	taken, ok := t.taken[p.OID]
	return ok && taken == p
}

// Object returns the content of an object of Git LFS that was taken with the work, or that
// the store has; nil for another one.
func (t *takenObjects) Object(p Pointer) ([]byte, error) {
	folder := t.store.lfsFolder()
	if t.Has(p) {
		folder = t.lfsFolder()
	}
	content, err := os.ReadFile(filepath.Join(folder, p.file()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read an object of Git LFS: %w: %w", ErrStore, err)
	}
	return content, nil
}

// WriteObjects writes the objects of Git LFS that were taken with the work into a folder, as
// git-lfs keeps them, and returns their number. Without any, no folder is made.
func (t *takenObjects) WriteObjects(folder string) (int, error) {
	for _, p := range t.taken {
		if err := t.copyTaken(folder, p); err != nil {
			return 0, fmt.Errorf("write the objects of the work: %w", err)
		}
	}
	return len(t.taken), nil
}

func (t *takenObjects) copyTaken(folder string, p Pointer) error {
	f, err := os.Open(filepath.Join(t.lfsFolder(), p.file()))
	if err != nil {
		return err
	}
	defer f.Close()
	return writeObject(folder, p, f)
}

// IsNew reports whether the store does not have an object of the repository.
func (in *Incoming) IsNew(id ObjectID) bool {
	return slices.ContainsFunc(in.Objects, func(o Object) bool { return o.ID == id })
}

// UploadObjects brings the objects of Git LFS that were taken with the work to the remote, for
// a branch. Objects that the remote has are not sent. Do it before a push: everybody must be
// able to check out each branch of the remote. It fails with the errors of a push.
func (t *takenObjects) UploadObjects(ctx context.Context, to Branch) error {
	objects := slices.SortedStableFunc(maps.Values(t.taken), func(a, b Pointer) int { return strings.Compare(a.OID, b.OID) })
	for part := range slices.Chunk(objects, batchObjects) {
		if err := t.upload(ctx, to, part); err != nil {
			return fmt.Errorf("upload objects of Git LFS to %s: %w", t.store.remote, err)
		}
	}
	return nil
}

func (t *takenObjects) upload(ctx context.Context, to Branch, objects []Pointer) error {
	if folder := t.store.remote.Folder(); folder != "" {
		return t.keepLocal(ctx, folder, objects)
	}
	server, err := t.store.lfsServer(ctx)
	if err != nil {
		return err
	}
	answers, err := server.batch(ctx, "upload", to.ref(), objects)
	if err != nil {
		return err
	}
	return inParallel(ctx, answers, func(ctx context.Context, object lfsObject) error {
		if refused := object.Error; refused != nil {
			_, kind := statusMeaning(refused.Code)
			if !errors.Is(kind, ErrUnavailable) && !errors.Is(kind, ErrForbidden) {
				kind = ErrRejected
			}
			return fmt.Errorf("%w: the server does not take the object %s: %d%s", kind, object.OID, refused.Code, quoted(refused.Message))
		}
		action, needed := object.Actions["upload"]
		if !needed {
			return nil
		}
		p := t.taken[object.OID]
		content := func() (io.ReadCloser, int64, error) {
			f, err := os.Open(filepath.Join(t.lfsFolder(), p.file()))
			return f, p.Size, err
		}
		if _, typed := action.Header["Content-Type"]; !typed {
			action = action.with("Content-Type", "application/octet-stream")
		}
		done := func(*http.Response) error { return nil }
		if err := server.transfer(ctx, http.MethodPut, action, "upload "+p.OID, content, done); err != nil {
			return err
		}
		verify, wanted := object.Actions["verify"]
		if !wanted {
			return nil
		}
		text := fmt.Sprintf(`{"oid":%q,"size":%d}`, p.OID, p.Size)
		verify = verify.with("Accept", lfsType).with("Content-Type", lfsType)
		return server.transfer(ctx, http.MethodPost, verify, "have the server verify "+p.OID, func() (io.ReadCloser, int64, error) {
			return io.NopCloser(strings.NewReader(text)), int64(len(text)), nil
		}, done)
	})
}

func (a lfsAction) with(name, value string) lfsAction {
	header := map[string]string{name: value}
	for n, v := range a.Header {
		header[n] = v
	}
	return lfsAction{a.Href, header}
}

// keepLocal copies objects into a repository of the user on this machine. An object that is
// there stays as it is.
func (t *takenObjects) keepLocal(ctx context.Context, folder string, objects []Pointer) error {
	to, err := t.store.localObjects(ctx, folder)
	if err != nil {
		return err
	}
	for _, p := range objects {
		if hasObject(to, p) {
			continue
		}
		if err := t.copyTaken(to, p); err != nil {
			return err
		}
	}
	return nil
}
