package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// Link is a symbolic link in a tree.
type Link struct{ Path, Target string }

// Links returns the symbolic links of a commit that the remote has, such as the merge base.
// The tree is read as a stream, because a repository can have a million files.
func (in *Incoming) Links(ctx context.Context, commit ObjectID) ([]Link, error) {
	found := &linkLines{}
	c := command{dir: in.dir, repository: in.dir, args: []string{"ls-tree", "-r", "-z", "--full-tree", commit.String()}, stdout: found}
	if _, err := in.store.host.run(ctx, c); err != nil {
		return nil, fmt.Errorf("look for symbolic links: %w", err)
	}
	targets := map[ObjectID]string{}
	var ids []ObjectID
	for _, link := range found.links {
		if _, known := targets[link.id]; !known {
			targets[link.id] = ""
			ids = append(ids, link.id)
		}
	}
	err := in.ReadObjects(ctx, ids, func(object Object, r io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(r, maxTarget))
		targets[object.ID] = string(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for symbolic links: %w", err)
	}
	links := make([]Link, 0, len(found.links))
	for _, link := range found.links {
		links = append(links, Link{link.path, targets[link.id]})
	}
	return links, nil
}

// linkLines keeps the links among the entries that git ls-tree prints.
type linkLines struct {
	rest  []byte
	links []struct {
		path string
		id   ObjectID
	}
}

func (l *linkLines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		entry, rest, whole := bytes.Cut(l.rest, []byte{0})
		if !whole {
			l.rest = append([]byte(nil), l.rest...)
			return len(p), nil
		}
		l.rest = rest
		if !bytes.HasPrefix(entry, []byte(ModeLink.String()+" ")) {
			continue
		}
		head, path, _ := strings.Cut(string(entry), "\t") // mode, type and id
		fields := strings.Fields(head)
		id, err := ParseObjectID(fields[len(fields)-1])
		if err != nil {
			return 0, fmt.Errorf("git ls-tree: %w", err)
		}
		l.links = append(l.links, struct {
			path string
			id   ObjectID
		}{path, id})
	}
}
