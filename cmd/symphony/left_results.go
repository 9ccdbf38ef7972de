package main

import (
	"context"
	"errors"
	"os"

	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// leftResults returns the function for [runner.Runner].LeftResults, which reads the results
// of a fleet that did not collect them: from the artifacts of its workflow run, or from
// references if there are none. It returns nil if neither can be read here.
func (a *app) leftResults(wf workflow.Workflow) func(context.Context, schedule.Owner) ([]fleet.Result, error) {
	left := fleet.Left{Artifacts: a.artifactClient(wf)}
	_, err := a.exchangeRemote(wf)
	if err != nil && left.Artifacts == nil {
		return nil
	}
	if !errors.Is(err, errUsage) {
		left.Refs = func(ctx context.Context) (*git.FileRefs, error) { return a.openFileRefs(ctx, wf) }
	}
	return func(ctx context.Context, owner schedule.Owner) ([]fleet.Result, error) {
		exchange, err := a.makeTempFolder("symphony-left-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(exchange)
		return left.Read(ctx, exchange, owner)
	}
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
