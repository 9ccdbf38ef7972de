package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// leftResults returns the function for [runner.Runner].LeftResults, which reads the results
// of a fleet that did not collect them: from the artifacts of its workflow run, or from
// references if there are none. It returns nil if neither can be read here.
func (a *app) leftResults(wf workflow.Workflow) func(context.Context, schedule.Owner) ([]fleet.Result, error) {
	c := a.artifactClient(wf)
	if _, err := a.exchangeRemote(wf); err != nil && c == nil {
		return nil
	}
	return func(ctx context.Context, owner schedule.Owner) ([]fleet.Result, error) {
		exchange, err := os.MkdirTemp(a.tempDir(), "symphony-left-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(exchange)
		there, failed := a.takeLeft(ctx, wf, c, exchange, owner)
		if !there {
			return nil, failed
		}
		plan, err := fleet.ReadPlan(exchange)
		if err != nil {
			return nil, errors.Join(failed, err)
		}
		results, refused := fleet.ReadResults(exchange, plan)
		for _, f := range refused {
			failed = errors.Join(failed, f.Err)
		}
		return results, failed // one shard costs no other its result
	}
}

// takeLeft brings the plan and the results of the fleet of an owner into an exchange folder.
// It reports false if there can be none: another engine carries the folder itself. The error
// joins all that could not be brought.
func (a *app) takeLeft(ctx context.Context, wf workflow.Workflow, c *client.Client, exchange string, owner schedule.Owner) (there bool, failed error) {
	id, err := strconv.ParseInt(owner.Run, 10, 64)
	hasArtifacts := c != nil && err == nil // another engine may give its runs other names
	if hasArtifacts {
		failed = downloadExchange(ctx, c, id, owner.Attempt, exchange)
	}
	if _, err := fleet.ReadPlan(exchange); !errors.Is(err, fs.ErrNotExist) {
		return true, failed
	}
	taken, refused, err := a.pullLeft(ctx, wf, exchange, owner)
	if taken { // a server without artifacts cannot list them
		return true, errors.Join(refused...)
	}
	return hasArtifacts, errors.Join(failed, err)
}

// artifactClient returns the client that reads the artifacts of workflow runs; nil if there
// is no repository that has some.
func (a *app) artifactClient(wf workflow.Workflow) *client.Client {
	repo, api, token, err := a.repository(wf)
	if err != nil {
		return nil
	}
	c, err := client.New(client.Config{Repo: repo, APIURL: api, Token: token}, nil)
	if err != nil {
		return nil
	}
	return c
}

// pullLeft fetches the plan and the results of the fleet of an owner from references. It
// reports false if there are none.
func (a *app) pullLeft(ctx context.Context, wf workflow.Workflow, exchange string, owner schedule.Owner) (taken bool, refused []error, err error) {
	refs, err := a.openFileRefs(ctx, wf)
	if errors.Is(err, errUsage) {
		return false, nil, nil // there is no repository that has some
	}
	if err != nil {
		return false, nil, err
	}
	defer refs.Close()
	n, refused, err := pullFleet(ctx, refs, exchange, owner.Run, owner.Attempt, fleet.PlanName{Started: owner.Started}, true)
	return n > 0 && err == nil, refused, err
}

// downloadExchange downloads the plan and the results of an attempt of a workflow run into an
// exchange folder. It skips artifacts that have expired, and those that are neither.
func downloadExchange(ctx context.Context, c *client.Client, run int64, attempt int, exchange string) error {
	artifacts, err := c.Artifacts(ctx, run)
	if err != nil {
		return fmt.Errorf("list the artifacts of workflow run %d: %w", run, err)
	}
	var failed []error
	for _, artifact := range artifacts {
		file, limit := fleet.ArtifactFile(artifact.Name, attempt)
		if artifact.Expired || file == "" {
			continue
		}
		files, err := c.ReadArtifact(ctx, artifact)
		if err == nil {
			err = unpackFile(files, file, limit, filepath.Join(exchange, fleet.ArtifactFolder(artifact.Name)))
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// unpackFile writes one file of an archive below a folder. It fails if the file has more
// than limit bytes.
func unpackFile(files *zip.Reader, name string, limit int64, folder string) error {
	from, err := files.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	path := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, io.LimitReader(from, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return errors.Join(err, to.Close())
}
