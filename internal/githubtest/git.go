package githubtest

import (
	"net/http"
	"net/http/cgi"
	"os"
	"path/filepath"
	"sync"

	"github.com/symphony-runner/symphony/internal/storetest"
)

// The kinds of requests of git. Every fetch, push or look at the branches begins with a request
// for the refs, whose query names the kind.
const (
	Refs  storetest.Op = "GET /info/refs"
	Fetch storetest.Op = "POST /git-upload-pack"
	Push  storetest.Op = "POST /git-receive-pack"
)

// addGit serves the repository over git's protocol for HTTP, which wants the token for
// everything. The test is skipped where git has no server.
func (g *server) addGit() {
	g.t.Helper()
	backend, err := gitBackend()
	if err != nil {
		g.t.Skipf("no git server: %v; it comes with git, or with a package of its own", err)
	}
	for _, path := range []string{"/" + g.Repo(), "/" + g.Repo() + ".git"} {
		serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			g.prepareGit()
			h := &cgi.Handler{Path: backend, Root: path, Env: []string{
				"GIT_PROJECT_ROOT=" + g.GitDir(), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + account, "GIT_PROTOCOL=" + r.Header.Get("Git-Protocol"),
				"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
			}}
			h.ServeHTTP(w, r)
		})
		g.HandleFor("contents: read", Refs, "GET "+path+"/info/refs", serve)
		g.HandleFor("contents: read", Fetch, "POST "+path+"/git-upload-pack", serve)
		g.HandleFor("contents: write", Push, "POST "+path+"/git-receive-pack", serve)
	}
}

var gitBackend = sync.OnceValues(func() (string, error) { return storetest.GitProgram("git-http-backend") })

// prepareGit prepares the repository for the first request.
func (g *server) prepareGit() {
	g.gitReady.Do(func() {
		g.Git("config", "gc.auto", "0") // nothing goes on after a push
		g.setHook("update", workflowRule)
	})
}

// workflowRule refuses a push of the token of a job, as GitHub does, if a new commit has other
// workflow files than every branch: whoever made them, and whatever else changed. A push to the
// path of the repository is a person's.
const workflowRule = `#!/bin/sh
[ -n "$REMOTE_USER" ] || exit 0
for commit in $(git rev-list "$3" --not --branches 2>/dev/null); do
	files=$(git rev-parse -q --verify "$commit:.github/workflows") || continue
	for tip in $(git for-each-ref --format='%(objectname)' refs/heads); do
		[ "$(git rev-parse -q --verify "$tip:.github/workflows")" != "$files" ] || continue 2
	done
	name=$(git ls-tree --name-only "$files" | head -n 1)
	printf 'refusing to allow a GitHub App to create or update workflow \140.github/workflows/%s\140 without \140workflows\140 permission\n' "$name" >&2
	exit 1
done
`

// setHook sets a hook of the repository; an empty script removes it.
func (g *server) setHook(name, script string) {
	g.t.Helper()
	path := filepath.Join(g.GitDir(), "hooks", name)
	var err error
	if script == "" {
		err = os.Remove(path)
	} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
		err = os.WriteFile(path, []byte(script), 0o755)
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// AllowWorkflows gives the token the permission to change workflow files, which the token of a
// job never has.
func (g *server) AllowWorkflows() {
	g.prepareGit()
	g.setHook("update", "")
}
