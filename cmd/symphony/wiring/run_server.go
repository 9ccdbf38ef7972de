package wiring

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// RunServer returns the repository whose workflow runs are read, and the addresses of its
// server and of the server's REST API. The server is the first one named by the environment,
// the tracker of the WORKFLOW.md at path, GH_HOST, and the checkout around that file. The
// repository is empty if none of them names one on that server. runServer fails if the
// environment names an API of another server.
func (g GitHub) RunServer(path string, wf workflow.Workflow) (repo, server, api string, err error) {
	origin, originName := g.originNear(path)
	repo = cmp.Or(strings.TrimSpace(g.Value("GITHUB_REPOSITORY")), trackerRepository(wf))
	server = g.Value(serverVariable)
	name := apiVariable
	api, _ = g.variable(name) // not derived from the server: the tracker may name another
	if cfg, ok := wf.Settings.Tracker.Config.(*github.Config); ok && api == "" && (repo != "" || cfg.APIURL != client.DefaultAPI) {
		name, api = "tracker.provider.api_url", cfg.APIURL
	}
	ghHost := g.Value("GH_HOST")
	switch {
	case server == "" && api != "":
		server = client.ServerOf(api)
	case server == "" && ghHost != "":
		server = "https://" + strings.ToLower(ghHost)
	case server == "":
		server = cmp.Or(origin, client.DefaultServer)
	}
	api = cmp.Or(api, client.APIOf(server))
	switch {
	case !client.IsHost(client.HostOf(server)):
		return "", "", "", fmt.Errorf("%w: --run: %.100q is not the address of a server: correct GITHUB_SERVER_URL or GH_HOST", ErrUsage, server)
	case client.HostOf(api) != client.HostOf(server) && client.HostOf(api) != client.HostOf(client.APIOf(server)):
		return "", "", "", fmt.Errorf("%w: --run: GITHUB_SERVER_URL names %s, but %s names %s, so the token may be that of another server: set GITHUB_SERVER_URL and GITHUB_API_URL to one server",
			ErrUsage, client.HostOf(server), name, client.HostOf(api))
	}
	if repo == "" && hostOf(origin) == hostOf(server) {
		repo = originName
	}
	return repo, server, api, nil
}

// Login returns the login of a person to servers of GitHub, by the environment or by gh.
func (g GitHub) Login() client.UserLogin {
	return client.UserLogin{Getenv: g.Value, Server: g.Value(serverVariable)}
}
