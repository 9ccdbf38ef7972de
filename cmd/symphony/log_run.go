package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// runPage matches the page of a workflow run below its server: its repository and its
// number.
var runPage = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^/:]+/[^/]+)/actions/runs/([0-9]+)(?:[/?#].*)?$`)
})

// artifactPrefix begins the names of the artifacts that the Action uploads.
const artifactPrefix = "symphony-"

// fetchRun returns the logs in the artifact of the workflow run that --run names, with its
// name for people. The run is one of the repository of the WORKFLOW.md at path.
func (l *logCommand) fetchRun(ctx context.Context, path string, wf workflow.Workflow) (name string, logs fs.FS, err error) {
	number := l.run
	repo := l.ownRepository(path, wf)
	server, api, err := l.runServer(wf)
	if err != nil {
		return "", nil, err
	}
	if page := runPage().FindStringSubmatch(strings.TrimPrefix(l.run, server+"/")); page != nil {
		repo, number = page[1], page[2]
	}
	run, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil || run <= 0:
		return "", nil, fmt.Errorf("%w: --run %q: write the number of a workflow run, or the address of its page on %s", errUsage, l.run, server)
	case repo == "":
		return "", nil, fmt.Errorf("%w: --run: the repository is not known: set GITHUB_REPOSITORY to owner/name, or write the address of the page of the run", errUsage)
	}
	token := l.githubLogin(addressHost(server))
	if token == "" {
		return "", nil, fmt.Errorf("%w: --run needs a token that may read Actions: set GH_TOKEN, as with GH_TOKEN=$(gh auth token)", errUsage)
	}
	l.addSecret(l.redactor, token)
	c, err := client.New(client.Config{Repo: repo, APIURL: api, Token: token, Names: client.Names{Token: "GH_TOKEN"}}, http.DefaultTransport)
	if err != nil {
		return "", nil, fmt.Errorf("%w: --run: %w", errUsage, err)
	}
	artifacts, err := c.Artifacts(ctx, run)
	if err != nil {
		return "", nil, fmt.Errorf("list the artifacts of workflow run %d: %w", run, err)
	}
	var all layers
	var failed []error
	for _, a := range artifacts {
		if a.Expired || !strings.HasPrefix(a.Name, artifactPrefix) {
			continue
		}
		files, err := c.ReadArtifact(ctx, a)
		switch {
		case err != nil && ctx.Err() != nil:
			return "", nil, fmt.Errorf("read the artifact of workflow run %d: %w", run, err)
		case err != nil: // another one may have what is looked for
			failed = append(failed, err)
			continue
		}
		if logs, err := fs.Sub(files, "logs"); err == nil {
			all = append(all, logs)
		}
	}
	if len(all) == 0 && len(failed) > 0 {
		return "", nil, fmt.Errorf("read the artifact of workflow run %d: %w", run, errors.Join(failed...))
	}
	for _, err := range failed {
		printItem(l.stderr, "symphony: warning: ", l.redactor.String(err.Error()))
	}
	if len(all) == 0 {
		return "", nil, fmt.Errorf("%w: workflow run %d has no artifact of Symphony, or has it no more: it had nothing to do, or upload-logs was not true", errUsage, run)
	}
	return fmt.Sprintf("the artifact of workflow run %d", run), all, nil
}

// runServer returns the addresses of the server whose workflow runs are read and of its
// REST API. What names one of them alone leads to the other. It fails if they are named
// and are not of one server: the token of the one would be sent to the other.
func (l *logCommand) runServer(wf workflow.Workflow) (server, api string, err error) {
	server, _ = l.getenv("GITHUB_SERVER_URL")
	server = strings.TrimRight(server, "/")
	name := "GITHUB_API_URL"
	api, _ = l.getenv(name)
	if cfg, ok := wf.Settings.Tracker.Config.(*github.Config); ok && api == "" {
		name, api = "tracker.provider.api_url", cfg.APIURL
	}
	switch {
	case server == "":
		api = cmp.Or(api, client.DefaultAPI)
		return serverOf(api), api, nil
	case api == "":
		return server, apiOf(server), nil
	case addressHost(api) != addressHost(server) && addressHost(api) != "api."+addressHost(server):
		return "", "", fmt.Errorf("%w: --run: GITHUB_SERVER_URL names %s, but %s names %s, so the token may be that of another server: set GITHUB_SERVER_URL and GITHUB_API_URL to one server",
			errUsage, addressHost(server), name, addressHost(api))
	}
	return server, api, nil
}

// isCloud reports whether a host is one of GitHub's own, whose API has a host of its own.
func isCloud(host string) bool { return host == "github.com" || strings.HasSuffix(host, ".ghe.com") }

// serverOf returns the address of the server of a REST API.
func serverOf(api string) string {
	scheme, _, _ := strings.Cut(api, "://")
	host := addressHost(api)
	if cloud, ok := strings.CutPrefix(host, "api."); ok && isCloud(cloud) {
		host = cloud
	}
	return scheme + "://" + host
}

// apiOf returns the address of the REST API of a server.
func apiOf(server string) string {
	if scheme, _, _ := strings.Cut(server, "://"); isCloud(addressHost(server)) {
		return scheme + "://api." + addressHost(server)
	}
	return server + "/api/v3"
}

// addressHost returns the host of an address, with its port; empty if it has none.
func addressHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// githubLogin returns the token of the user for a host of GitHub: that of the environment,
// or the one that gh keeps in its folder. gh keeps tokens in the keyring of the system
// where there is one; this program starts no process to ask for it.
func (a *app) githubLogin(host string) string {
	for _, name := range []string{"GH_TOKEN", "GITHUB_TOKEN"} {
		if token, _ := a.getenv(name); token != "" {
			return token
		}
	}
	folder, _ := a.getenv("GH_CONFIG_DIR")
	if folder == "" {
		config, _ := a.getenv("XDG_CONFIG_HOME")
		home, _ := a.getenv("HOME")
		folder = filepath.Join(cmp.Or(config, filepath.Join(home, ".config")), "gh")
	}
	text, err := os.ReadFile(filepath.Join(folder, "hosts.yml"))
	if err != nil {
		return ""
	}
	return client.TokenOfGH(text, host)
}

// layers overlays file systems. A folder has the entries of all of them; the first one
// that has a name counts.
type layers []fs.FS

func (l layers) Open(name string) (fs.File, error) {
	for _, layer := range l {
		if f, err := layer.Open(name); err == nil {
			return f, nil
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (l layers) ReadDir(name string) ([]fs.DirEntry, error) {
	found := false
	entries := map[string]fs.DirEntry{}
	for _, layer := range l {
		list, err := fs.ReadDir(layer, name)
		found = found || err == nil
		for _, entry := range list {
			if _, known := entries[entry.Name()]; !known {
				entries[entry.Name()] = entry
			}
		}
	}
	if !found {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	all := make([]fs.DirEntry, 0, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		all = append(all, entries[name])
	}
	return all, nil
}
