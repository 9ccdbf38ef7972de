package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
)

// ErrApp reports that an App cannot act on the repository before a person has changed
// something.
var ErrApp = errors.New("github_app_unusable")

// AppConfig holds the settings of an App.
type AppConfig struct {
	ID     string // the number of the App
	Key    string // private key of the App, as [ParseKey] reads it
	Repo   string // owner/name of the only repository that its tokens are for
	APIURL string // root of the REST API; empty for github.com's
	// Permissions lists all permissions of its tokens, besides metadata: read.
	Permissions []Permission
	Issued      func(token string) // is called with each new token before it is used; may be nil
	Log         *slog.Logger       // log of repeated requests; nil for none
	Names       AppNames           // names of the settings above
}

// AppNames holds the names of the settings of an App in errors.
type AppNames struct{ ID, Key, Repo, APIURL string }

// App is a GitHub App that acts on one repository, with tokens that live for an hour.
// Any number of goroutines may use it.
type App struct {
	cfg    AppConfig
	client *Client // signs its requests as the App
	base   http.RoundTripper

	turn    chan struct{} // holds a value while the fields below are used
	token   string
	expires time.Time
}

// NewApp returns an App. It checks the settings, and sends no request. A nil base is
// http.DefaultTransport.
func NewApp(cfg AppConfig, base http.RoundTripper) (*App, error) {
	id, err := strconv.ParseInt(strings.TrimSpace(cfg.ID), 10, 64)
	if err != nil || id <= 0 {
		return nil, fmt.Errorf("%w: %s is not a number: write the App ID that the settings of the App show, not its client ID", ErrApp, cfg.Names.ID)
	}
	key, err := ParseKey(cfg.Key)
	if err != nil {
		return nil, fmt.Errorf("%w: %s %w", ErrApp, cfg.Names.Key, err)
	}
	if base == nil {
		base = http.DefaultTransport
	}
	names := Names{Repo: cfg.Names.Repo, APIURL: cfg.Names.APIURL, Token: cfg.Names.Key}
	c, err := open(Config{Repo: cfg.Repo, APIURL: cfg.APIURL, Log: cfg.Log, Names: names}, "", ghinstallation.NewAppsTransportFromPrivateKey(base, id, key))
	if err != nil {
		return nil, err
	}
	return &App{cfg: cfg, client: c, base: base, turn: make(chan struct{}, 1)}, nil
}

// Bounds of the time that a token has left.
const (
	renewBefore = 10 * time.Minute // so that no command of git outlives its token
	lastResort  = time.Minute      // time left until which an old token is used if there is no new one
)

// Token returns a token for the repository that lives for some minutes at least. The error is
// [ErrApp] if a person has to change something, and the error of a request otherwise.
func (a *App) Token(ctx context.Context) (string, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	left := time.Until(a.expires)
	if left > renewBefore {
		return a.token, nil
	}
	token, expires, err := a.issue(ctx)
	switch {
	case err == nil:
		a.token, a.expires = token, expires
	case left < lastResort || errors.Is(err, ErrApp) || ctx.Err() != nil:
		return "", fmt.Errorf("get a token of the GitHub App %s for %s: %w", strings.TrimSpace(a.cfg.ID), a.cfg.Repo, err)
	}
	return a.token, nil
}

// Revoke ends the life of the token, if there is one.
func (a *App) Revoke(ctx context.Context) error {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if time.Until(a.expires) <= 0 {
		return nil
	}
	c, err := open(Config{Repo: a.cfg.Repo, APIURL: a.cfg.APIURL, Log: a.cfg.Log}, "Bearer "+a.token, a.base)
	if err == nil {
		_, err = c.Do(ctx, Request{Method: http.MethodDelete, Path: "installation/token", Repeatable: true})
	}
	a.token, a.expires = "", time.Time{}
	if err != nil && !HasStatus(err, http.StatusUnauthorized) { // it has ended already
		return fmt.Errorf("revoke the token of the GitHub App %s for %s: %w", strings.TrimSpace(a.cfg.ID), a.cfg.Repo, err)
	}
	return nil
}

func (a *App) issue(ctx context.Context) (token string, expires time.Time, err error) {
	installation, err := a.installation(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	_, name, _ := strings.Cut(a.cfg.Repo, "/")
	levels := map[string]string{}
	for _, p := range a.cfg.Permissions {
		permission, level := p.parts()
		levels[permission] = level
	}
	answer, err := call[struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}](ctx, a.client, Request{
		Method: http.MethodPost, Path: fmt.Sprintf("app/installations/%d/access_tokens", installation), Repeatable: true,
		Body: map[string]any{"repositories": []string{name}, "permissions": levels},
	})
	if err == nil && (answer.Token == "" || time.Until(answer.Expires) < lastResort) {
		err = a.client.Incomplete()
	}
	if err != nil {
		return "", time.Time{}, a.explain(err)
	}
	if a.cfg.Issued != nil {
		a.cfg.Issued(answer.Token)
	}
	return answer.Token, answer.Expires, nil
}

func (a *App) installation(ctx context.Context) (int64, error) {
	found, err := call[struct {
		ID          int64
		Permissions map[string]string
		Suspended   *time.Time `json:"suspended_at"`
	}](ctx, a.client, Request{Path: a.client.Path("/installation")})
	switch {
	case err != nil:
		return 0, a.explain(err)
	case found.ID == 0:
		return 0, a.client.Incomplete()
	case found.Suspended != nil:
		return 0, fmt.Errorf("%w: its installation is suspended: unsuspend it in the settings of the owner of the repository", ErrApp)
	}
	var missing []string
	for _, p := range a.cfg.Permissions {
		name, level := p.parts()
		if had := found.Permissions[name]; had != level && had != "admin" && (level != "read" || had != "write") {
			missing = append(missing, string(p))
		}
	}
	if len(missing) > 0 {
		return 0, fmt.Errorf("%w: it has no %s: give the App that permission, and let the owner of the repository accept it", ErrApp, strings.Join(missing, " and no "))
	}
	return found.ID, nil
}

// parts returns the name of a permission in the API, and its level.
func (p Permission) parts() (name, level string) {
	name, level, _ = strings.Cut(string(p), ": ")
	return strings.ReplaceAll(name, "-", "_"), level
}

// appRefusals maps words or statuses in GitHub's answers to faults of an App. The first row
// that matches counts.
var appRefusals = []struct {
	statuses []int
	words    string // part of GitHub's answer; empty for any answer
	reason   string // {id} and {key} stand for the names of these settings
}{
	{[]int{401, 404}, "integration not found", "there is no App of this number: correct {id}"},
	{[]int{401}, "could not be decoded", "{key} is not a key of this App: correct {id}, or generate a new private key in the settings of the App"},
	{[]int{401}, "claim", "the clock of this machine is wrong: set it"},
	{[]int{401}, "", "GitHub does not accept {key}: correct {id}, or generate a new private key in the settings of the App"},
	{[]int{403}, "suspended", "its installation is suspended: unsuspend it in the settings of the owner of the repository"},
	{[]int{404}, "", "it is not installed on the repository: choose Install App in the settings of the App, and give it this repository"},
	{[]int{422}, "permissions", "it has not all permissions: give it contents: write and pull-requests: write, and let the owner of the repository accept them"},
	{[]int{422}, "repository", "its installation does not have the repository: add it to the repositories of the installation"},
}

// explain returns the error of a request of the App with a remedy for a person.
func (a *App) explain(err error) error {
	for _, row := range appRefusals {
		if HasStatus(err, row.statuses...) && (row.words == "" || Says(err, row.words)) {
			reason := strings.NewReplacer("{id}", a.cfg.Names.ID, "{key}", a.cfg.Names.Key).Replace(row.reason)
			return fmt.Errorf("%w: %s", ErrApp, reason)
		}
	}
	return err
}
