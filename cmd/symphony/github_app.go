package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// gitTokens returns the same tokens for git. Its errors have the categories of
// package git, which separate faults that may pass from faults that a person has to mend.
func gitTokens(tokens tokenFunc) git.TokenSource {
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

// token returns the source of the token for the repository of a workflow, for
// pushes and pull requests, when a GitHub App acts there; nil when repository.token does.
// It sends no request.
func (o opener) token(wf workflow.Workflow, log *slog.Logger) (tokenFunc, error) {
	if err := o.checkApp(wf); err != nil || !o.hasApp() {
		return nil, err
	}
	remote, kind := wf.Settings.Repository.Remote, wf.Settings.Delivery.Kind
	for _, opened := range *o.apps {
		if opened.remote == remote && opened.kind == kind {
			return opened.Token, nil
		}
	}
	repo, api := o.named(remote)
	app, err := client.NewApp(client.AppConfig{
		ID: o.value(appIDVariable), Key: o.value(appKeyVariable), Repo: repo, APIURL: api, Permissions: appPermissions(kind), Log: log,
		Issued: func(token string) { o.addSecret(o.redactor, token) },
		Names:  client.AppNames{ID: o.appSetting(appIDVariable), Key: o.appSetting(appKeyVariable), Repo: "repository.url", APIURL: "GITHUB_API_URL"},
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	*o.apps = append(*o.apps, githubApp{app, remote, kind})
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

func appPermissions(kind workflow.DeliveryKind) []client.Permission {
	switch kind {
	case workflow.KindPullRequest:
		return []client.Permission{client.WriteContents, client.WritePullRequests}
	case workflow.KindBranch:
		return []client.Permission{client.WriteContents}
	}
	return []client.Permission{client.ReadContents}
}

func (g gitHub) hasApp() bool {
	return strings.TrimSpace(g.value(appIDVariable)+g.value(appKeyVariable)) != ""
}

// appSetting returns the name by which a user knows a setting of the App.
func (g gitHub) appSetting(variable string) string {
	if !g.actions.InActions() {
		return variable
	}
	return map[string]string{appIDVariable: "the input app-id", appKeyVariable: "the input private-key"}[variable]
}

// checkApp returns an error for settings of an App that contradict each other or the
// workflow: their author expects them to be used.
func (g gitHub) checkApp(wf workflow.Workflow) error {
	hasID, hasKey := strings.TrimSpace(g.value(appIDVariable)) != "", strings.TrimSpace(g.value(appKeyVariable)) != ""
	file := filepath.Base(wf.Path)
	r := wf.Settings.Repository
	own := g.value("GITHUB_TOKEN")
	idName, keyName := g.appSetting(appIDVariable), g.appSetting(appKeyVariable)
	switch {
	case !hasID && !hasKey:
		return nil
	case !hasKey:
		return fmt.Errorf("%w: %s is set without %s: set both, or neither (in a fork every secret is empty)", errUsage, idName, keyName)
	case !hasID:
		return fmt.Errorf("%w: %s is set without %s: set both, or neither", errUsage, keyName, idName)
	case r == nil:
		return fmt.Errorf("%w: %s is set, and %s has no section repository, which would use it: remove the one or write the other", errUsage, idName, file)
	case !g.onGitHub(r.Remote):
		return fmt.Errorf("%w: %s is set, and repository.url of %s is not on github.com or the server of this job: remove the one or change the other", errUsage, idName, file)
	case r.Token != "" && r.Token != own:
		return fmt.Errorf("%w: %s is set, and repository.token of %s names another token: remove one of them", errUsage, idName, file)
	}
	return nil
}
