package main

import (
	"cmp"
	"fmt"
	"net/url"
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
func (l *logCommand) runServer(path string, wf workflow.Workflow) (repo, server, api string, err error) {
	origin, originName := l.originNear(path)
	repo, _ = l.getenv("GITHUB_REPOSITORY")
	repo = cmp.Or(strings.TrimSpace(repo), trackerRepository(wf))
	server, _ = l.getenv("GITHUB_SERVER_URL")
	server = strings.TrimRight(server, "/")
	name := "GITHUB_API_URL"
	api, _ = l.getenv(name)
	if cfg, ok := wf.Settings.Tracker.Config.(*github.Config); ok && api == "" && (repo != "" || cfg.APIURL != client.DefaultAPI) {
		name, api = "tracker.provider.api_url", cfg.APIURL
	}
	ghHost, _ := l.getenv("GH_HOST")
	switch {
	case server == "" && api != "":
		server = serverOf(api)
	case server == "" && ghHost != "":
		server = "https://" + strings.ToLower(ghHost)
	case server == "":
		server = cmp.Or(origin, gitHub)
	}
	api = cmp.Or(api, apiOf(server))
	switch {
	case !hostName().MatchString(addressHost(server)):
		return "", "", "", fmt.Errorf("%w: --run: %.100q is not the address of a server: correct GITHUB_SERVER_URL or GH_HOST", errUsage, server)
	case addressHost(api) != addressHost(server) && addressHost(api) != addressHost(apiOf(server)):
		return "", "", "", fmt.Errorf("%w: --run: GITHUB_SERVER_URL names %s, but %s names %s, so the token may be that of another server: set GITHUB_SERVER_URL and GITHUB_API_URL to one server",
			errUsage, addressHost(server), name, addressHost(api))
	}
	if repo == "" && hostOf(origin) == hostOf(server) {
		repo = originName
	}
	return repo, server, api, nil
}

// isCloud reports whether a host belongs to GitHub itself. The API of such a host is on a
// host of its own.
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

// githubLogin returns the token of the user for a host of GitHub, and where it is from: a
// variable of the environment, or the folder of gh. gh keeps tokens in the keyring of the
// system where there is one; this program starts no process to ask for it.
func (a *app) githubLogin(host string) (token, from string) {
	for _, name := range a.tokenVariables(host) {
		if token, _ := a.getenv(name); token != "" {
			return token, name
		}
	}
	return client.TokenOfGH(a.loginsOfGH(), host), "the token of gh"
}

// tokenVariables returns the environment variables whose tokens are for a host of GitHub, as
// gh has them: GH_TOKEN is for GitHub's own hosts, and GH_ENTERPRISE_TOKEN for a server that
// the user, and not WORKFLOW.md alone, has named. GITHUB_TOKEN is the token of the job, so it
// is for the server of the job where there is one. No other host may get one of them.
func (a *app) tokenVariables(host string) (names []string) {
	server, _ := a.getenv("GITHUB_SERVER_URL")
	ghHost, _ := a.getenv("GH_HOST")
	own := addressHost(server)
	switch {
	case host == "":
		return nil
	case isCloud(host):
		names = []string{"GH_TOKEN"}
	case host == own, host == strings.ToLower(ghHost), client.IsHostOfGH(a.loginsOfGH(), host):
		names = []string{"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"}
	}
	if host == own || own == "" && isCloud(host) {
		names = append(names, "GITHUB_TOKEN")
	}
	return names
}

// loginAdvice returns which variables to set for a token of a host.
func loginAdvice(host string) string {
	if isCloud(host) {
		return "GH_TOKEN, as with GH_TOKEN=$(gh auth token)"
	}
	return fmt.Sprintf("GH_HOST to %s, if you trust it, and GH_ENTERPRISE_TOKEN, as with GH_ENTERPRISE_TOKEN=$(gh auth token --hostname %[1]s)", host)
}

// loginsOfGH returns the file of gh with its logins; empty for none.
func (a *app) loginsOfGH() []byte {
	folder, _ := a.getenv("GH_CONFIG_DIR")
	if folder == "" {
		config, _ := a.getenv("XDG_CONFIG_HOME")
		home, _ := a.getenv("HOME")
		folder = filepath.Join(cmp.Or(config, filepath.Join(home, ".config")), "gh")
	}
	text, err := os.ReadFile(filepath.Join(folder, "hosts.yml"))
	if err != nil {
		return nil
	}
	return text
}
