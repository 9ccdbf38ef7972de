package githubtest

import (
	"net/http"
	"net/http/cgi"
	"os"
	"path/filepath"

	"github.com/symphony-runner/symphony/runner/store/storetest"
)

// The kinds of requests of git. Every fetch, push or look at the branches begins with
// one for the refs, whose query says which it is.
const (
	Refs  storetest.Op = "GET /info/refs"
	Fetch storetest.Op = "POST /git-upload-pack"
	Push  storetest.Op = "POST /git-receive-pack"
)

// addGit serves the repository over git's protocol for HTTP, which wants the token for
// everything. The test is skipped where git has no server.
func (g *GitHub) addGit() {
	g.t.Helper()
	backend := filepath.Join(g.Git("--exec-path"), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		g.t.Skipf("no git server: %v; it comes with git, or with a package of its own", err)
	}
	g.Git("config", "gc.auto", "0") // nothing goes on after a push
	folder := g.Git("rev-parse", "--absolute-git-dir")
	for _, path := range []string{"/" + g.Repo(), "/" + g.Repo() + ".git"} {
		serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := &cgi.Handler{Path: backend, Root: path, Env: []string{
				"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + account, "GIT_PROTOCOL=" + r.Header.Get("Git-Protocol"),
				"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
			}}
			h.ServeHTTP(w, r)
		})
		g.HandleFor("contents: read", Refs, "GET "+path+"/info/refs", serve)
		g.HandleFor("contents: read", Fetch, "POST "+path+"/git-upload-pack", serve)
		g.HandleFor("contents: write", Push, "POST "+path+"/git-receive-pack", serve)
	}
}
