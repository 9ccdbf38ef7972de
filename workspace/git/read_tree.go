package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Files returns the objects of those files of a commit whose paths match, by their paths.
func (b *bareRepository) Files(ctx context.Context, commit ObjectID, match func(path string) bool) (map[string]string, error) {
	return b.host.listFiles(ctx, b.confined(), commit, match)
}

// Files returns the same for a commit of the work, or one that it begins with.
func (q *quarantine) Files(ctx context.Context, commit ObjectID, match func(path string) bool) (map[string]string, error) {
	return q.store.host.listFiles(ctx, command{dir: q.dir, repository: q.dir}, commit, match)
}

func (e *engine) listFiles(ctx context.Context, c command, commit ObjectID, match func(path string) bool) (map[string]string, error) {
	files := map[string]string{}
	err := e.listTree(ctx, c, commit, func(e treeEntry) {
		if match(e.name) {
			files[e.name] = fmt.Sprintf("%o %s", uint32(e.mode), e.id)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", commit, err)
	}
	return files, nil
}

// listTree calls visit for each file of a commit; the name of its entry is the whole path. The
// tree is read as a stream, because a repository can have a million files.
func (e *engine) listTree(ctx context.Context, c command, commit ObjectID, visit func(treeEntry)) error {
	c.args, c.stdout = []string{"ls-tree", "-r", "-z", "--full-tree", commit.String()}, &treeLines{visit: visit}
	_, err := e.run(ctx, c)
	return err
}

// treeLines reads the entries that git ls-tree prints.
type treeLines struct {
	visit func(treeEntry)
	rest  []byte
}

func (l *treeLines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte{0})
		if !whole {
			l.rest = append([]byte(nil), l.rest...)
			return len(p), nil
		}
		l.rest = rest
		head, path, _ := strings.Cut(string(line), "\t")
		fields := strings.Fields(head) // mode, type and id
		if len(fields) != 3 {
			return 0, fmt.Errorf("git ls-tree: %q is no entry", sanitize(head))
		}
		mode, err1 := strconv.ParseUint(fields[0], 8, 32)
		id, err2 := ParseObjectID(fields[2])
		if err := errors.Join(err1, err2); err != nil {
			return 0, fmt.Errorf("git ls-tree: %w", err)
		}
		l.visit(treeEntry{path, Mode(mode), id})
	}
}

// Link is a symbolic link in a tree.
type Link struct{ Path, Target string }

// Links returns the symbolic links of a commit that the remote has, such as the merge base.
func (q *quarantine) Links(ctx context.Context, commit ObjectID) ([]Link, error) {
	var found []treeEntry
	err := q.store.host.listTree(ctx, command{dir: q.dir, repository: q.dir}, commit, func(e treeEntry) {
		if e.mode == ModeLink {
			found = append(found, e)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("look for symbolic links: %w", err)
	}
	targets := map[ObjectID]string{}
	var ids []ObjectID
	for _, link := range found {
		if _, known := targets[link.id]; !known {
			targets[link.id] = ""
			ids = append(ids, link.id)
		}
	}
	err = q.ReadObjects(ctx, ids, func(object Object, r io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(r, maxTarget))
		targets[object.ID] = string(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for symbolic links: %w", err)
	}
	links := make([]Link, 0, len(found))
	for _, link := range found {
		links = append(links, Link{link.name, targets[link.id]})
	}
	return links, nil
}

// Names returns the names in each of these folders of a commit, by folder; "." is the
// top. A folder that the commit does not have is left out. The error for trees that are
// larger than the limits is a [Refusal].
func (q *quarantine) Names(ctx context.Context, commit ObjectID, folders []string) (map[string][]string, error) {
	if len(folders) == 0 {
		return nil, nil
	}
	names := map[string][]string{}
	err := q.store.host.readTrees(ctx, q.confined(), func(w *treeWalk) error {
		top, err := w.read(commit.String() + "^{tree}")
		trees := map[string][]treeEntry{".": top} // keys are folders
		for _, folder := range folders {
			if err != nil {
				return err
			}
			var entries []treeEntry
			if entries, err = w.folder(trees, path.Clean(folder)); entries != nil {
				names[folder] = entryNames(entries)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read folders: %w", err)
	}
	return names, nil
}

// folder returns the entries of a folder; nil if there is none. It goes down name by name,
// because git would read some paths as a request. It adds the entries that it reads to trees.
func (w *treeWalk) folder(trees map[string][]treeEntry, folder string) ([]treeEntry, error) {
	if entries, known := trees[folder]; known {
		return entries, nil
	}
	if strings.HasPrefix(folder, "/") || strings.HasPrefix(folder, "..") {
		return nil, nil
	}
	above, err := w.folder(trees, path.Dir(folder))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(above, func(e treeEntry) bool { return e.name == path.Base(folder) && e.mode == ModeFolder })
	if i < 0 {
		return nil, nil
	}
	trees[folder], err = w.read(above[i].id.String())
	return trees[folder], err
}

func entryNames(entries []treeEntry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.name
	}
	return names
}
