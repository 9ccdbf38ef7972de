package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker/github/client"
)

// Logs returns the event logs in the artifacts of a workflow run; nil if it has none. An artifact
// that cannot be read hides no other: skipped has its error, unless there is no other.
func Logs(ctx context.Context, c *client.Client, run int64) (logs fs.FS, skipped []error, err error) {
	artifacts, err := c.Artifacts.Of(ctx, run)
	if err != nil {
		return nil, nil, fmt.Errorf("list the artifacts of workflow run %d: %w", run, err)
	}
	var all layers
	for _, artifact := range artifacts {
		if artifact.Expired || !holdsLogs(artifact.Name) {
			continue
		}
		files, err := c.Artifacts.Read(ctx, artifact)
		if err != nil && ctx.Err() != nil {
			return nil, nil, fmt.Errorf("read the artifact of workflow run %d: %w", run, err)
		} else if err != nil { // another artifact may have the log
			skipped = append(skipped, err)
		} else if logs, err := fs.Sub(files, "logs"); err == nil {
			all = append(all, logs)
		}
	}
	switch {
	case len(all) > 0:
		return all, skipped, nil
	case len(skipped) > 0:
		return nil, nil, fmt.Errorf("read the artifact of workflow run %d: %w", run, errors.Join(skipped...))
	}
	return nil, nil, nil
}

// holdsLogs reports whether an artifact of this name may have event logs. What the jobs of a
// fleet hand over to each other has none.
func holdsLogs(name string) bool {
	rest, isOurs := strings.CutPrefix(name, "symphony-")
	return isOurs && !strings.HasPrefix(rest, "plan-") && !strings.HasPrefix(rest, "result-")
}

// layers overlays file systems. A folder has the entries of all of them; the first one
// that has a name counts.
type layers []fs.FS

func (l layers) Open(name string) (fs.File, error) {
	for _, layer := range l {
		if f, err := layer.Open(name); err == nil {
			return f, nil
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (l layers) ReadDir(name string) ([]fs.DirEntry, error) {
	found := false
	entries := map[string]fs.DirEntry{}
	for _, layer := range l {
		list, err := fs.ReadDir(layer, name)
		found = found || err == nil
		for _, entry := range list {
			if _, known := entries[entry.Name()]; !known {
				entries[entry.Name()] = entry
			}
		}
	}
	if !found {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	all := make([]fs.DirEntry, 0, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		all = append(all, entries[name])
	}
	return all, nil
}
