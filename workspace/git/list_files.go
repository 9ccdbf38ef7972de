package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Files returns the objects of those files of a commit whose paths match, by their paths.
func (b *bareRepository) Files(ctx context.Context, commit ObjectID, match func(path string) bool) (map[string]string, error) {
	return b.host.listFiles(ctx, b.command(), commit, match)
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
