package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace/git"
)

// FileRefs opens the references over which the fleets of a workflow exchange files.
// The caller has to close them.
func (o Opener) FileRefs(ctx context.Context, wf workflow.Workflow) (*git.FileRefs, error) {
	remote, err := o.exchangeRemote(wf)
	if err != nil {
		return nil, err
	}
	if err := MakeDataFolder(wf.Path); err != nil {
		return nil, err
	}
	host, err := o.GitHost(ctx, DataFolder(wf.Path), wf, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return host.FileRefs(remote)
}

// exchangeRemote returns the repository over which the fleets of a workflow exchange files:
// inside Actions the repository of the job, because everybody who can read it can see its
// issues; elsewhere the target of the delivery, or the repository with the state branch.
func (o Opener) exchangeRemote(wf workflow.Workflow) (git.Remote, error) {
	token := o.Value("GITHUB_TOKEN")
	if own := o.ownURL(); o.Actions.InActions() && own != "" && token != "" {
		return git.ParseRemote(own, git.Token(token))
	}
	if wf.Settings.Repository != nil {
		return o.remote(wf, slog.New(slog.DiscardHandler))
	}
	if repo := o.OwnRepository(wf.Path, wf); repo != "" && token != "" {
		server, err := o.tokenServer(wf)
		if err != nil {
			return git.Remote{}, err
		}
		return git.ParseRemote(server+"/"+repo, git.Token(token))
	}
	return git.Remote{}, fmt.Errorf("%w: there is no repository for the exchange: write the section repository in %s, or export GITHUB_REPOSITORY=OWNER/NAME and GITHUB_TOKEN",
		ErrUsage, filepath.Base(wf.Path))
}

// LeftResults returns the function for [runner.Runner].LeftResults, which reads the results
// of a fleet that did not collect them: from the artifacts of its workflow run, or from
// references if there are none. It returns nil if neither can be read here.
func (o Opener) LeftResults(wf workflow.Workflow) func(context.Context, schedule.Owner) ([]fleet.Result, error) {
	left := fleet.Left{Artifacts: o.State.client(wf)}
	_, err := o.exchangeRemote(wf)
	if err != nil && left.Artifacts == nil {
		return nil
	}
	if !errors.Is(err, ErrUsage) {
		left.Refs = func(ctx context.Context) (*git.FileRefs, error) { return o.FileRefs(ctx, wf) }
	}
	return func(ctx context.Context, owner schedule.Owner) ([]fleet.Result, error) {
		exchange, err := o.MakeTempFolder("symphony-left-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(exchange)
		return left.Read(ctx, exchange, owner)
	}
}
