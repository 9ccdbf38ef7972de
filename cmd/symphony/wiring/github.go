package wiring

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// GitHub finds the GitHub of a run, the run's own repository there, and the token for it. It
// sends no request, except to find out whether the repository is private.
type GitHub struct{ Process }

// RepositoryNear returns the repository that GITHUB_REPOSITORY names. Outside of Actions that
// may not be set: then it is the origin of the checkout around the WORKFLOW.md at path, and
// isOrigin is true. An origin on a server that this program does not ask by default does not
// count. The name is empty if neither names a repository.
func (g GitHub) RepositoryNear(path string) (name string, isOrigin bool) {
	if name = strings.TrimSpace(g.Value("GITHUB_REPOSITORY")); name != "" {
		return name, false
	}
	server, name := g.originNear(path)
	if name == "" || hostOf(server) != hostOf(cmp.Or(g.Value(serverVariable), client.DefaultServer)) {
		return "", false
	}
	return name, true
}

// originNear returns the server and the name of the repository that the checkout around the
// WORKFLOW.md at path came from; empty if there is none, and in Actions.
func (g GitHub) originNear(path string) (server, name string) {
	if path == "" || g.Actions.InActions() {
		return "", ""
	}
	if folder := git.CheckoutAround(path); folder != "" {
		server, name, _ = client.ParseRepository(git.TrustedOrigin(folder))
	}
	return server, name
}

// hostOf returns the host of an address, without its port: ssh has another one.
func hostOf(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// OwnRepository returns the repository that has the state branch and the workflow runs of the
// WORKFLOW.md at path: the environment's, else its tracker's, else the origin of its checkout.
// It is empty if none of them names one.
func (g GitHub) OwnRepository(path string, wf workflow.Workflow) string {
	name, isOrigin := g.RepositoryNear(path)
	if written := trackerRepository(wf); name == "" || isOrigin && written != "" {
		return written
	}
	return name
}

// LookupNear returns the lookup of environment variables for the WORKFLOW.md at path.
func (g GitHub) LookupNear(path string) func(name string) (value string, set bool) {
	return func(name string) (string, bool) {
		if name == "GITHUB_REPOSITORY" {
			if repository, isOrigin := g.RepositoryNear(path); isOrigin {
				return repository, true
			}
		}
		return g.Getenv(name)
	}
}

// server returns the addresses of the GitHub that GITHUB_TOKEN is for and of its REST API: from
// the environment, else from the tracker, else github.com.
func (g GitHub) server(wf workflow.Workflow) (server, api string) {
	server, api = g.Value(serverVariable), g.Value(apiVariable)
	if server != "" || api != "" {
		return server, api
	}
	if cfg, ok := wf.Settings.Tracker.Config.(*github.Config); ok {
		return cfg.Server(), cfg.APIURL
	}
	return client.DefaultServer, client.DefaultAPI
}

// IsPrivate returns true if reading the repository of this job, and so its
// caches and artifacts, needs a permission: true, false, or unknown. The event has
// this for most triggers; for the others the API of the job's server is asked. If it
// cannot be asked, the Action warns.
func (g GitHub) IsPrivate(event action.Event) string {
	switch event.Visibility {
	case "private":
		return "true"
	case "public":
		return "false"
	}
	c, err := client.New(client.Config{Repo: event.Repository, APIURL: g.Value(apiVariable), Token: g.Value("GITHUB_TOKEN")}, nil)
	if err != nil {
		return "unknown"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	repository, err := c.Repository(ctx)
	if err != nil || repository.Private == nil {
		return "unknown"
	}
	return strconv.FormatBool(*repository.Private)
}

// tokenServer returns the address of the server that GITHUB_TOKEN is for. It fails if the API
// that the environment names, or else the tracker, is on another server.
func (g GitHub) tokenServer(wf workflow.Workflow) (string, error) {
	server, api := g.server(wf)
	if cfg, ok := wf.Settings.Tracker.Config.(*github.Config); ok && !g.NamesAPI() {
		api = cfg.APIURL
	}
	if host := client.HostOf(api); host != client.HostOf(server) && host != client.HostOf(client.APIOf(server)) {
		return "", fmt.Errorf("%w: there is no repository for the exchange: GITHUB_SERVER_URL names %s and the API is on %s, so the token may be that of another server: set GITHUB_SERVER_URL and GITHUB_API_URL to one server",
			ErrUsage, client.HostOf(server), host)
	}
	return server, nil
}

// onGitHub reports whether a repository is on github.com or on the server of this job.
// An App proves who it is to no other host: the proof would be good for all its
// repositories.
func (g GitHub) onGitHub(remote string) bool {
	u, err := url.Parse(remote)
	own, ownErr := url.Parse(cmp.Or(g.Value(serverVariable), client.DefaultServer))
	return err == nil && ownErr == nil && u.Host != "" && (u.Host == own.Host || u.Host == "github.com")
}

// named returns the owner/name of a repository and the root of the API of its
// server.
func (g GitHub) named(remote string) (repo, api string) {
	u, err := url.Parse(remote)
	if err != nil {
		return "", "" // ParseRemote fails too
	}
	repo = strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	if own, err := url.Parse(g.Value(serverVariable)); err == nil && own.Host == u.Host && u.Host != "github.com" {
		if api, ok := g.Getenv(apiVariable); ok {
			return repo, api
		}
	}
	return repo, client.APIOf(u.Scheme + "://" + u.Host)
}

// Links returns the links to a repository and, inside Actions, to the workflow
// that runs there.
func (g GitHub) Links(wf workflow.Workflow, repo string) report.Links {
	server, _ := g.server(wf)
	l := report.Links{Server: server, Repository: repo}
	if g.Actions.InActions() {
		event, _ := g.Actions.Event() // it lacks the payload if that cannot be read
		if file, found := strings.CutPrefix(event.File, ".github/workflows/"); found {
			l.Workflow = file
		}
	}
	return l
}

// trackerRepository returns the repository whose issues a workflow works on; it is
// empty when its tracker is another one.
func trackerRepository(wf workflow.Workflow) string {
	if cfg, ok := wf.Settings.Tracker.Config.(*github.Config); ok {
		return cfg.Repo
	}
	return ""
}

// ownURL returns the URL of the repository of this job; empty outside Actions.
func (g GitHub) ownURL() string {
	server, repo := g.Value(serverVariable), g.Value("GITHUB_REPOSITORY")
	if server == "" || repo == "" {
		return ""
	}
	return strings.TrimSuffix(server, "/") + "/" + repo
}
