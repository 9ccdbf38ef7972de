package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// runServer returns the repository whose workflow runs are read, the address of its server,
// and that of the server's REST API. The server is named by the first of these that names
// one: the environment, the tracker of the WORKFLOW.md at path, GH_HOST, and the checkout
// around that file. The repository is empty if none of them names one on that server.
// runServer fails if the environment names an API of another server.
func (g gitHub) runServer(path string, wf workflow.Workflow) (repo, server, api string, err error) {
	origin, originName := g.originNear(path)
	repo, _ = g.getenv("GITHUB_REPOSITORY")
	repo = cmp.Or(strings.TrimSpace(repo), trackerRepository(wf))
	server, _ = g.getenv(serverVariable)
	name := apiVariable
	api, _ = g.variable(name) // not the one that follows from the server: the tracker may name another
	if cfg, ok := wf.Settings.Tracker.Config.(*github.Config); ok && api == "" && (repo != "" || cfg.APIURL != client.DefaultAPI) {
		name, api = "tracker.provider.api_url", cfg.APIURL
	}
	ghHost, _ := g.getenv("GH_HOST")
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
		return "", "", "", fmt.Errorf("%w: --run: %.100q is not the address of a server: correct GITHUB_SERVER_URL or GH_HOST", errUsage, server)
	case client.HostOf(api) != client.HostOf(server) && client.HostOf(api) != client.HostOf(client.APIOf(server)):
		return "", "", "", fmt.Errorf("%w: --run: GITHUB_SERVER_URL names %s, but %s names %s, so the token may be that of another server: set GITHUB_SERVER_URL and GITHUB_API_URL to one server",
			errUsage, client.HostOf(server), name, client.HostOf(api))
	}
	if repo == "" && hostOf(origin) == hostOf(server) {
		repo = originName
	}
	return repo, server, api, nil
}

// tokenFor returns the token of the user for a host of GitHub, and where it is from: a
// variable of the environment, or the folder of gh. gh keeps tokens in the keyring of the
// system where there is one; this program starts no process to ask for it.
func (g gitHub) tokenFor(host string) (token, from string) {
	for _, name := range g.tokenVariables(host) {
		if token, _ := g.getenv(name); token != "" {
			return token, name
		}
	}
	return client.TokenOfGH(g.loginsOfGH(), host), "the token of gh"
}

// tokenVariables returns the environment variables whose tokens are for a host of GitHub, as
// gh has them: GH_TOKEN is for GitHub's own hosts, and GH_ENTERPRISE_TOKEN for a server that
// the user, and not WORKFLOW.md alone, has named. GITHUB_TOKEN is the token of the job, so it
// is for the server of the job where there is one. No other host may get one of them.
func (g gitHub) tokenVariables(host string) (names []string) {
	server, _ := g.getenv(serverVariable)
	ghHost, _ := g.getenv("GH_HOST")
	own := client.HostOf(server)
	switch {
	case host == "":
		return nil
	case client.IsCloud(host):
		names = []string{"GH_TOKEN"}
	case host == own, host == strings.ToLower(ghHost), client.IsHostOfGH(g.loginsOfGH(), host):
		names = []string{"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"}
	}
	if host == own || own == "" && client.IsCloud(host) {
		names = append(names, "GITHUB_TOKEN")
	}
	return names
}

// loginAdvice returns the variables to set for a token of a host.
func loginAdvice(host string) string {
	if client.IsCloud(host) {
		return "GH_TOKEN, as with GH_TOKEN=" + tokenOfGH(host)
	}
	return fmt.Sprintf("GH_HOST to %s, if you trust it, and GH_ENTERPRISE_TOKEN, as with GH_ENTERPRISE_TOKEN=%s", host, tokenOfGH(host))
}

// tokenOfGH returns the words of a shell that stand for gh's token for a host.
func tokenOfGH(host string) string {
	if host == client.HostOf(client.DefaultServer) {
		return "$(gh auth token)"
	}
	return "$(gh auth token --hostname " + host + ")"
}

// loginsOfGH returns the file of gh with its logins; empty for none.
func (g gitHub) loginsOfGH() []byte {
	folder, _ := g.getenv("GH_CONFIG_DIR")
	if folder == "" {
		config, _ := g.getenv("XDG_CONFIG_HOME")
		home, _ := g.getenv("HOME")
		folder = filepath.Join(cmp.Or(config, filepath.Join(home, ".config")), "gh")
	}
	text, err := os.ReadFile(filepath.Join(folder, "hosts.yml"))
	if err != nil {
		return nil
	}
	return text
}
