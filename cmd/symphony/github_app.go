package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// The environment variables with the number and the private key of a GitHub App. Inside
// Actions they are inputs.
const (
	appIDVariable  = "SYMPHONY_APP_ID"
	appKeyVariable = "SYMPHONY_APP_PRIVATE_KEY"
)

// tokenFunc returns the token of one request or one command of git.
type tokenFunc func(context.Context) (string, error)

// gitTokens returns the same tokens for git; nil for nil. Its errors have the categories
// of package git, which separate what may pass from what a person has to change.
func gitTokens(tokens tokenFunc) git.TokenSource {
	if tokens == nil {
		return nil
	}
	return func(ctx context.Context) (git.Token, error) {
		token, err := tokens(ctx)
		if err != nil && !errors.Is(err, client.ErrApp) {
			err = fmt.Errorf("%w: %w", git.ErrUnavailable, err)
		}
		return git.Token(token), err
	}
}

// githubApp is an App that was opened, so that its token serves every connection of the
// run with these settings.
type githubApp struct {
	*client.App
	remote string
	kind   workflow.DeliveryKind
}

// repositoryToken returns the source of the token for the repository of a workflow, for
// pushes and pull requests, when a GitHub App acts there; nil when repository.token does.
// It sends no request.
func (a *app) repositoryToken(wf workflow.Workflow, log *slog.Logger) (tokenFunc, error) {
	if err := a.checkApp(wf); err != nil || !a.hasApp() {
		return nil, err
	}
	remote, kind := wf.Settings.Repository.Remote, wf.Settings.Delivery.Kind
	for _, opened := range a.githubApps {
		if opened.remote == remote && opened.kind == kind {
			return opened.Token, nil
		}
	}
	id, _ := a.getenv(appIDVariable)
	key, _ := a.getenv(appKeyVariable)
	repo, api := a.gitHubOf(remote)
	app, err := client.NewApp(client.AppConfig{
		ID: id, Key: key, Repo: repo, APIURL: api, Permissions: appPermissions(kind), Log: log,
		Issued: func(token string) { a.addSecret(a.redactor, token) },
		Names:  client.AppNames{ID: a.appSetting(appIDVariable), Key: a.appSetting(appKeyVariable), Repo: "repository.url", APIURL: "GITHUB_API_URL"},
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	a.githubApps = append(a.githubApps, githubApp{app, remote, kind})
	return app.Token, nil
}

// revokeTime bounds the last requests of a run, which may be one that is being canceled.
const revokeTime = 2 * time.Second

// revokeTokens ends the life of the Apps' tokens. If that fails they end within the hour.
func (a *app) revokeTokens() {
	ctx, cancel := context.WithTimeout(context.Background(), revokeTime)
	defer cancel()
	for _, opened := range a.githubApps {
		_ = opened.Revoke(ctx)
	}
}

// appPermissions returns the permissions that a kind of delivery needs, and no more.
func appPermissions(kind workflow.DeliveryKind) []client.Permission {
	switch kind {
	case workflow.KindPullRequest:
		return []client.Permission{client.WriteContents, client.WritePullRequests}
	case workflow.KindBranch:
		return []client.Permission{client.WriteContents}
	}
	return []client.Permission{client.ReadContents}
}

// hasApp reports whether the settings of an App are given.
func (a *app) hasApp() bool {
	id, _ := a.getenv(appIDVariable)
	key, _ := a.getenv(appKeyVariable)
	return strings.TrimSpace(id+key) != ""
}

// appSetting returns the name by which a user knows a setting of the App.
func (a *app) appSetting(variable string) string {
	if !a.actions.InActions() {
		return variable
	}
	return map[string]string{appIDVariable: "the input app-id", appKeyVariable: "the input private-key"}[variable]
}

// checkApp returns an error for settings of an App that contradict each other or the
// workflow: their author expects them to be used.
func (a *app) checkApp(wf workflow.Workflow) error {
	id, _ := a.getenv(appIDVariable)
	key, _ := a.getenv(appKeyVariable)
	hasID, hasKey := strings.TrimSpace(id) != "", strings.TrimSpace(key) != ""
	file := filepath.Base(wf.Path)
	r := wf.Settings.Repository
	own, _ := a.getenv("GITHUB_TOKEN")
	idName, keyName := a.appSetting(appIDVariable), a.appSetting(appKeyVariable)
	switch {
	case !hasID && !hasKey:
		return nil
	case !hasKey:
		return fmt.Errorf("%w: %s is set without %s: set both, or neither (in a fork every secret is empty)", errUsage, idName, keyName)
	case !hasID:
		return fmt.Errorf("%w: %s is set without %s: set both, or neither", errUsage, keyName, idName)
	case r == nil:
		return fmt.Errorf("%w: %s is set, and %s has no section repository, which would use it: remove the one or write the other", errUsage, idName, file)
	case !a.onGitHub(r.Remote):
		return fmt.Errorf("%w: %s is set, and repository.url of %s is not on github.com or the server of this job: remove the one or change the other", errUsage, idName, file)
	case r.Token != "" && r.Token != own:
		return fmt.Errorf("%w: %s is set, and repository.token of %s names another token: remove one of them", errUsage, idName, file)
	}
	return nil
}

// onGitHub reports whether a repository is on github.com or on the server of this job.
// An App proves who it is to no other host: the proof would be good for all its
// repositories.
func (a *app) onGitHub(remote string) bool {
	server, _ := a.getenv(serverVariable)
	u, err := url.Parse(remote)
	own, ownErr := url.Parse(cmp.Or(server, client.DefaultServer))
	return err == nil && ownErr == nil && u.Host != "" && (u.Host == own.Host || u.Host == "github.com")
}

// gitHubOf returns the owner/name of a repository and the root of the API of its
// server.
func (a *app) gitHubOf(remote string) (repo, api string) {
	u, err := url.Parse(remote)
	if err != nil {
		return "", "" // ParseRemote fails too
	}
	repo = strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	server, _ := a.getenv(serverVariable)
	if own, err := url.Parse(server); err == nil && own.Host == u.Host && u.Host != "github.com" {
		if api, ok := a.getenv(apiVariable); ok {
			return repo, api
		}
	}
	return repo, client.APIOf(u.Scheme + "://" + u.Host)
}
