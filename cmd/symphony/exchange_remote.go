package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// openFileRefs opens the references over which the fleets of a workflow exchange files.
// The caller has to close them.
func (a *app) openFileRefs(ctx context.Context, wf workflow.Workflow) (*git.FileRefs, error) {
	remote, err := a.exchangeRemote(wf)
	if err != nil {
		return nil, err
	}
	if err := makeDataFolder(wf.Path); err != nil {
		return nil, err
	}
	host, err := git.Open(ctx, git.Config{
		Dir: filepath.Join(dataFolder(wf.Path), "repositories"), Workspaces: wf.Settings.Workspace.Root, Env: a.environ, Log: quiet(),
	})
	if err != nil {
		return nil, err
	}
	return host.FileRefs(remote)
}

// exchangeRemote returns the repository over which the fleets of a workflow exchange files:
// inside Actions that of the job, because everybody who can read it can see its issues;
// elsewhere the one that is delivered to, or the one that has the state branch.
func (a *app) exchangeRemote(wf workflow.Workflow) (git.Remote, error) {
	token, _ := a.getenv("GITHUB_TOKEN")
	if own := a.ownURL(); a.actions.InActions() && own != "" && token != "" {
		return git.ParseRemote(own, git.Token(token))
	}
	if r := wf.Settings.Repository; r != nil {
		remote, err := git.ParseRemote(r.Remote, git.Token(r.Token))
		if err != nil {
			return git.Remote{}, err
		}
		tokens, err := a.repositoryToken(wf, quiet())
		if err == nil && tokens != nil {
			remote = remote.WithTokens(gitTokens(tokens))
		}
		return remote, err
	}
	if repo := a.ownRepository(wf.Path, wf); repo != "" && token != "" {
		server, err := a.tokenServer(wf)
		if err != nil {
			return git.Remote{}, err
		}
		return git.ParseRemote(server+"/"+repo, git.Token(token))
	}
	return git.Remote{}, fmt.Errorf("%w: there is no repository for the exchange: write the section repository in %s, or export GITHUB_REPOSITORY=OWNER/NAME and GITHUB_TOKEN",
		errUsage, filepath.Base(wf.Path))
}

// tokenServer returns the address of the server that GITHUB_TOKEN is for. It fails if the API
// that the environment names, or else the tracker, is on another server.
func (a *app) tokenServer(wf workflow.Workflow) (string, error) {
	server, api := a.server(wf)
	if cfg, ok := wf.Settings.Tracker.Config.(*github.Config); ok && !a.namesAPI() {
		api = cfg.APIURL
	}
	if host := client.HostOf(api); host != client.HostOf(server) && host != client.HostOf(client.APIOf(server)) {
		return "", fmt.Errorf("%w: there is no repository for the exchange: GITHUB_SERVER_URL names %s and the API is on %s, so the token may be that of another server: set GITHUB_SERVER_URL and GITHUB_API_URL to one server",
			errUsage, client.HostOf(server), host)
	}
	return server, nil
}
