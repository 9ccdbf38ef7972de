package git

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Names returns the names in each of these folders of a commit, by folder; "." is the
// top. A folder that the commit does not have is left out. The error for trees that are
// larger than the limits is a [Refusal].
func (q *quarantine) Names(ctx context.Context, commit ObjectID, folders []string) (map[string][]string, error) {
	if len(folders) == 0 {
		return nil, nil
	}
	names := map[string][]string{}
	err := q.store.host.readTrees(ctx, q.command(), func(w *treeWalk) error {
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
