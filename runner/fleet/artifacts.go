package fleet

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
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
		file, limit := artifactFile(artifact.Name, attempt)
		if artifact.Expired || file == "" {
			continue
		}
		files, err := c.Artifacts.Read(ctx, artifact)
		if err == nil {
			err = unpackFile(files, file, limit, filepath.Join(exchange, artifactFolder(artifact.Name)))
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// artifactName returns the name of the artifact that carries the result of a shard.
func artifactName(owner schedule.Owner) string {
	return fmt.Sprintf("symphony-result-%d-%d", owner.Attempt, owner.Shard)
}

// artifactFile returns the file of an artifact to copy into an exchange folder, as a path
// in the artifact, and its largest size in bytes. The file is empty if the name is not that
// of a plan or a result of the attempt.
func artifactFile(name string, attempt int) (file string, limit int64) {
	if name == fmt.Sprintf("symphony-plan-%d", attempt) {
		return planName, maxPlan
	}
	number, isResult := strings.CutPrefix(name, fmt.Sprintf("symphony-result-%d-", attempt))
	shard, err := strconv.Atoi(number)
	if !isResult || err != nil || shard < 1 || shard > schedule.MaxShards || strconv.Itoa(shard) != number {
		return "", 0
	}
	return path.Join(resultFolder(shard), resultName), maxResult
}

// artifactFolder returns into which folder of an exchange folder the artifact of a plan or
// a result is unpacked.
func artifactFolder(name string) string {
	if strings.HasPrefix(name, "symphony-plan-") {
		return ""
	}
	return filepath.Join(resultsFolder, name)
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
