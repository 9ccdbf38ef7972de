package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
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
		exchange, err := a.makeTempFolder("symphony-left-")
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
		failed = fleet.Download(ctx, c, id, owner.Attempt, exchange)
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
	n, refused, err := fleet.Pull(ctx, refs, exchange, fleet.Name{Run: owner.Run, Attempt: owner.Attempt, Plan: fleet.PlanName{Started: owner.Started}}, true)
	return n > 0 && err == nil, refused, err
}
