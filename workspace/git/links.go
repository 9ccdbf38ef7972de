package git

import (
	"context"
	"fmt"
	"io"
)

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
