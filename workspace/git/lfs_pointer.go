package git

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A file in Git LFS is an object on a server of its own, named by its SHA-256. The tree has a
// pointer in its place, a text of three lines. .gitattributes selects these files (filter=lfs).

// Pointer is the content of a pointer of Git LFS.
type Pointer struct {
	OID  string // SHA-256 of the content, in lower-case hexadecimal digits
	Size int64  // bytes of the content
}

// Bounds of the text of a pointer, in bytes.
const (
	minPointer = 120
	maxPointer = 160
)

// ParsePointer returns the pointer that a file holds. ok is false for any other text. A pointer
// with extensions is not supported: a program of the user makes the content of its file.
func ParsePointer(text []byte) (p Pointer, ok bool) {
	if len(text) < minPointer || len(text) > maxPointer {
		return Pointer{}, false
	}
	rest, ok1 := strings.CutPrefix(strings.TrimSuffix(string(text), "\n"), "version https://git-lfs.github.com/spec/v1\noid sha256:")
	oid, size, ok2 := strings.Cut(rest, "\nsize ")
	if !ok1 || !ok2 || len(oid) != 64 || strings.Trim(oid, "0123456789abcdef") != "" || size == "" || strings.Trim(size, "0123456789") != "" {
		return Pointer{}, false
	}
	n, err := strconv.ParseInt(size, 10, 64)
	return Pointer{oid, n}, err == nil
}

// file returns the path of an object, below a folder of objects.
func (p Pointer) file() string { return path.Join(p.OID[:2], p.OID[2:4], p.OID) }

// pointerAt is a pointer at a path of a tree.
type pointerAt struct {
	Pointer
	path string
}

// lfsTree identifies a tree whose pointers a store has read.
type lfsTree struct {
	commit ObjectID
	paths  string // Paths of the Checkout, joined
}

// pointers returns the pointers in the tree of a commit of the store that .gitattributes
// makes files in Git LFS: those that a checkout with paths has. The error for more than
// the limits is [ErrTooBig].
func (s *lfsStore) pointers(ctx context.Context, commit ObjectID, paths []string) ([]pointerAt, error) {
	entries, err := s.pointerEntries(ctx, commit, paths)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	names, err := s.filtered(ctx, commit, entries)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(p pointerAt) bool { return !names[p.path] })
	if n := s.host.limits.lfsObjects; len(entries) > n {
		return nil, fmt.Errorf("%w: %d files are in Git LFS, the limit is %d; list the folders that agents need in repository.paths, or remove repository.lfs", ErrTooBig, len(entries), n)
	}
	total := int64(0)
	seen := map[string]bool{}
	for _, p := range entries {
		if seen[p.OID] {
			continue
		}
		seen[p.OID] = true
		if p.Size > s.host.limits.lfsObject {
			return nil, fmt.Errorf("%w: %s has %d bytes in Git LFS, the limit is %d; leave its folder out with repository.paths, or remove repository.lfs", ErrTooBig, sanitize(p.path), p.Size, s.host.limits.lfsObject)
		}
		if total += p.Size; total > s.host.limits.lfsContents {
			return nil, fmt.Errorf("%w: the files in Git LFS have more than %d bytes; list the folders that agents need in repository.paths, or remove repository.lfs", ErrTooBig, s.host.limits.lfsContents)
		}
	}
	return entries, nil
}

// pointerEntries returns the files of a commit that hold a pointer, whatever
// .gitattributes says.
func (s *lfsStore) pointerEntries(ctx context.Context, commit ObjectID, paths []string) ([]pointerAt, error) {
	out, err := s.host.run(ctx, s.confined("ls-tree", "-r", "-l", "-z", "--full-tree", commit.String()))
	if err != nil {
		return nil, err
	}
	folders, above := cone(paths)
	byID := map[ObjectID][]string{}
	var ids []ObjectID
	for entry := range strings.SplitSeq(string(out), "\x00") {
		head, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(head)
		if len(fields) != 4 || fields[0] != ModeFile.String() && fields[0] != ModeExecutable.String() {
			continue
		}
		size, err := strconv.Atoi(fields[3])
		if err != nil || size < minPointer || size > maxPointer || len(paths) > 0 && !inCone(name, folders, above) {
			continue
		}
		id, err := ParseObjectID(fields[2])
		if err != nil {
			return nil, err
		}
		if byID[id] == nil {
			ids = append(ids, id)
		}
		byID[id] = append(byID[id], name)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	objects, err := s.host.openObjects(ctx, s.confined(), requests(ids))
	if err != nil {
		return nil, err
	}
	var found []pointerAt
	for range ids {
		err = objects.visit(maxPointer, func(object Object, r io.Reader) error {
			text, err := io.ReadAll(r)
			if p, ok := ParsePointer(text); ok {
				for _, name := range byID[object.ID] {
					found = append(found, pointerAt{p, name})
				}
			}
			return err
		})
		if err != nil {
			break
		}
	}
	return found, objects.close(err)
}

// inCone reports whether a file is one that a sparse checkout has.
func inCone(name string, folders, above []string) bool {
	folder := path.Dir(name)
	if folder == "." || slices.Contains(above, folder) {
		return true
	}
	return slices.ContainsFunc(folders, func(f string) bool { return folder == f || strings.HasPrefix(folder, f+"/") })
}

// indexPrefix begins the names of indexes for .gitattributes.
const indexPrefix = "index-"

// filtered returns the files of a commit that are in Git LFS, as its .gitattributes
// says. git alone knows the rules; it reads the attributes from an index of our own.
func (s *lfsStore) filtered(ctx context.Context, commit ObjectID, files []pointerAt) (map[string]bool, error) {
	index := filepath.Join(s.dir, indexPrefix+rand.Text())
	defer os.Remove(index)
	c := s.confined("read-tree", commit.String())
	c.env = []string{"GIT_INDEX_FILE=" + index}
	if _, err := s.host.run(ctx, c); err != nil {
		return nil, err
	}
	var input strings.Builder
	for _, f := range files {
		input.WriteString(f.path + "\x00")
	}
	c.args, c.stdin = []string{"check-attr", "--cached", "--stdin", "-z", "filter"}, strings.NewReader(input.String())
	out, err := s.host.run(ctx, c)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	in := bufio.NewReader(bytes.NewReader(out))
	for {
		name, err := in.ReadString(0)
		if errors.Is(err, io.EOF) && name == "" {
			return names, nil
		}
		_, err1 := in.ReadString(0)
		value, err2 := in.ReadString(0)
		if err := errors.Join(err, err1, err2); err != nil {
			return nil, fmt.Errorf("git check-attr: %w", err)
		}
		if value == "lfs\x00" {
			names[strings.TrimSuffix(name, "\x00")] = true
		}
	}
}
