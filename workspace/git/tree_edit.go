package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// treeEdit makes a tree out of another one and changes. It reads and writes only the
// folders that change, so its cost does not depend on the size of the repository. git's
// index is not used for it: that reads every file name, and it ignores a path it does
// not like and pushes files out of the way without an error.
type treeEdit struct {
	repository string // gets the new trees
	walk       *treeWalk
}

// apply returns the tree at a request for git cat-file with changes, whose paths begin
// after skip bytes. An empty request stands for no tree. The id is zero if the tree has
// no entry.
func (e *treeEdit) apply(request string, changes []Change, skip int) (ObjectID, error) {
	old, err := e.walk.read(request)
	if err != nil {
		return ObjectID{}, err
	}
	entries := make(map[string]treeEntry, len(old))
	for _, entry := range old {
		entries[entry.name] = entry
	}
	below := map[string][]Change{}
	var added []Change
	for _, c := range changes {
		name, _, isFolder := strings.Cut(c.Path[skip:], "/")
		switch entry := entries[name]; {
		case isFolder:
			below[name] = append(below[name], c)
		case c.OldMode != 0 && (entry.id != c.Old || entry.mode != c.OldMode):
			return ObjectID{}, conflict(c)
		case c.OldMode != 0:
			delete(entries, name)
			fallthrough
		default:
			added = append(added, c)
		}
	}
	for name, list := range below {
		entry := entries[name]
		if entry.mode != 0 && entry.mode != ModeFolder {
			return ObjectID{}, conflict(list[0])
		}
		delete(entries, name)
		request := ""
		if entry.mode != 0 {
			request = entry.id.String()
		}
		id, err := e.apply(request, list, skip+len(name)+1)
		if err != nil {
			return ObjectID{}, err
		}
		if !id.IsZero() {
			entries[name] = treeEntry{name, ModeFolder, id}
		}
	}
	for _, c := range added {
		name := c.Path[skip:]
		if c.NewMode == 0 {
			continue
		}
		if _, taken := entries[name]; taken {
			return ObjectID{}, conflict(c)
		}
		entries[name] = treeEntry{name, c.NewMode, c.New}
	}
	if len(entries) == 0 {
		return ObjectID{}, nil
	}
	return writeLoose(e.repository, "tree", formatTree(entries))
}

// conflict returns the error for a change that cannot be made without others.
func conflict(c Change) error {
	return &Refusal{Reason: fmt.Sprintf("the change of %q cannot be made without changes that are not allowed", sanitize(c.Path)), Err: errConflict}
}

var errConflict = errors.New("conflict")

// formatTree returns a tree object. git sorts a folder as if its name ended in a slash.
func formatTree(entries map[string]treeEntry) []byte {
	list := make([]treeEntry, 0, len(entries))
	for _, entry := range entries {
		list = append(list, entry)
	}
	key := func(e treeEntry) string {
		if e.mode == ModeFolder {
			return e.name + "/"
		}
		return e.name
	}
	slices.SortStableFunc(list, func(a, b treeEntry) int { return strings.Compare(key(a), key(b)) })
	var text bytes.Buffer
	for _, e := range list {
		fmt.Fprintf(&text, "%o %s\x00", uint32(e.mode), e.name)
		text.Write(e.id[:])
	}
	return text.Bytes()
}

func (q *quarantine) write(kind string, data []byte) (ObjectID, error) {
	return writeLoose(q.dir, kind, data)
}

// writeLoose writes a loose object into a repository and returns its id.
func writeLoose(repository, kind string, data []byte) (ObjectID, error) {
	data = append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...)
	id := ObjectID(sha1.Sum(data))
	name := id.String()
	folder := filepath.Join(repository, "objects", name[:2])
	var compressed bytes.Buffer
	z := zlib.NewWriter(&compressed)
	_, err1 := z.Write(data)
	if err := errors.Join(err1, z.Close(), os.MkdirAll(folder, 0o700)); err != nil {
		return ObjectID{}, fmt.Errorf("write a %s: %w", kind, err)
	}
	file, err := os.OpenFile(filepath.Join(folder, name[2:]), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if errors.Is(err, fs.ErrExist) {
		return id, nil
	}
	if err != nil {
		return ObjectID{}, fmt.Errorf("write a %s: %w", kind, err)
	}
	_, err = file.Write(compressed.Bytes())
	if err := errors.Join(err, file.Close()); err != nil {
		return ObjectID{}, fmt.Errorf("write a %s: %w", kind, err)
	}
	return id, nil
}
