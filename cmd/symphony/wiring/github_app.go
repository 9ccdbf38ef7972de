package wiring

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
	AppIDVariable  = "SYMPHONY_APP_ID"
	AppKeyVariable = "SYMPHONY_APP_PRIVATE_KEY"
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

// App is an App that was opened, so that its token serves every connection of the
// run with these settings.
type App struct {
	*client.App
	remote string
	kind   workflow.DeliveryKind
}

// Token returns the source of the token for the repository of a workflow, for
// pushes and pull requests, when a GitHub App acts there; nil when repository.token does.
// It sends no request.
func (o Opener) Token(wf workflow.Workflow, log *slog.Logger) (tokenFunc, error) {
	if err := o.CheckApp(wf); err != nil || !o.HasApp() {
		return nil, err
	}
	remote, kind := wf.Settings.Repository.Remote, wf.Settings.Delivery.Kind
	for _, opened := range *o.Apps {
		if opened.remote == remote && opened.kind == kind {
			return opened.Token, nil
		}
	}
	repo, api := o.named(remote)
	app, err := client.NewApp(client.AppConfig{
		ID: o.Value(AppIDVariable), Key: o.Value(AppKeyVariable), Repo: repo, APIURL: api, Permissions: appPermissions(kind), Log: log,
		Issued: func(token string) { o.AddSecret(o.Redactor, token) },
		Names:  client.AppNames{ID: o.appSetting(AppIDVariable), Key: o.appSetting(AppKeyVariable), Repo: "repository.url", APIURL: "GITHUB_API_URL"},
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	*o.Apps = append(*o.Apps, App{app, remote, kind})
	return app.Token, nil
}

// revokeTime bounds the last requests of a run, which may be one that is being canceled.
const revokeTime = 2 * time.Second

// RevokeTokens ends the life of the tokens of Apps. If that fails they end within the hour.
func RevokeTokens(apps []App) {
	ctx, cancel := context.WithTimeout(context.Background(), revokeTime)
	defer cancel()
	for _, opened := range apps {
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

// HasApp reports whether the environment names an App.
func (g GitHub) HasApp() bool {
	return strings.TrimSpace(g.Value(AppIDVariable)+g.Value(AppKeyVariable)) != ""
}

// appSetting returns the name by which a user knows a setting of the App.
func (g GitHub) appSetting(variable string) string {
	if !g.Actions.InActions() {
		return variable
	}
	return map[string]string{AppIDVariable: "the input app-id", AppKeyVariable: "the input private-key"}[variable]
}

// CheckApp returns an error for settings of an App that contradict each other or the
// workflow: their author expects them to be used.
func (g GitHub) CheckApp(wf workflow.Workflow) error {
	hasID, hasKey := strings.TrimSpace(g.Value(AppIDVariable)) != "", strings.TrimSpace(g.Value(AppKeyVariable)) != ""
	file := filepath.Base(wf.Path)
	r := wf.Settings.Repository
	own := g.Value("GITHUB_TOKEN")
	idName, keyName := g.appSetting(AppIDVariable), g.appSetting(AppKeyVariable)
	switch {
	case !hasID && !hasKey:
		return nil
	case !hasKey:
		return fmt.Errorf("%w: %s is set without %s: set both, or neither (in a fork every secret is empty)", ErrUsage, idName, keyName)
	case !hasID:
		return fmt.Errorf("%w: %s is set without %s: set both, or neither", ErrUsage, keyName, idName)
	case r == nil:
		return fmt.Errorf("%w: %s is set, and %s has no section repository, which would use it: remove the one or write the other", ErrUsage, idName, file)
	case !g.onGitHub(r.Remote):
		return fmt.Errorf("%w: %s is set, and repository.url of %s is not on github.com or the server of this job: remove the one or change the other", ErrUsage, idName, file)
	case r.Token != "" && r.Token != own:
		return fmt.Errorf("%w: %s is set, and repository.token of %s names another token: remove one of them", ErrUsage, idName, file)
	}
	return nil
}
