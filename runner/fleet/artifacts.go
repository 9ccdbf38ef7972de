package fleet

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// Download downloads the plan and the results of an attempt of a workflow run into an
// exchange folder. It skips artifacts that have expired, and those that are neither.
func Download(ctx context.Context, c *client.Client, run int64, attempt int, exchange string) error {
	artifacts, err := c.Artifacts.Of(ctx, run)
	if err != nil {
		return fmt.Errorf("list the artifacts of workflow run %d: %w", run, err)
	}
	var failed []error
	for _, artifact := range artifacts {
		file, limit, folder := artifactFile(artifact.Name, attempt)
		if artifact.Expired || file == "" {
			continue
		}
		files, err := c.Artifacts.Read(ctx, artifact)
		if err == nil {
			err = unpackFile(files, file, limit, filepath.Join(exchange, folder))
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func artifactName(owner schedule.Owner) string {
	return fmt.Sprintf("symphony-result-%d-%d", owner.Attempt, owner.Shard)
}

// artifactFile returns the file of an artifact to copy into an exchange folder, as a path
// in the artifact, its largest size in bytes, and the folder of the exchange folder that it goes
// into. The file is empty if no plan or result of the attempt has this name.
func artifactFile(name string, attempt int) (file string, limit int64, folder string) {
	if name == fmt.Sprintf("symphony-plan-%d", attempt) {
		return planName, maxPlan, ""
	}
	number, isResult := strings.CutPrefix(name, fmt.Sprintf("symphony-result-%d-", attempt))
	shard, err := strconv.Atoi(number)
	if !isResult || err != nil || shard < 1 || shard > schedule.MaxShards || strconv.Itoa(shard) != number {
		return "", 0, ""
	}
	return path.Join(resultFolder(shard), resultName), maxResult, filepath.Join(resultsFolder, name)
}

// unpackFile writes one file of an archive below a folder. It fails if the file has more
// than limit bytes.
func unpackFile(files *zip.Reader, name string, limit int64, folder string) error {
	from, err := files.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	target := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, io.LimitReader(from, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return errors.Join(err, to.Close())
}

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
