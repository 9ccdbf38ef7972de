package git

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// nest is a server with an application that has submodules: deps/lib, which has the
// submodule sub, and web.
type nest struct {
	*machine
	server *server
	store  *Store
}

// newNest serves the application without cloning it.
func newNest(t *testing.T) *nest {
	t.Helper()
	m := newMachine(t)
	n := &nest{machine: m}
	n.add(t, "sub", "", nil, "file", "first of sub\n")
	n.add(t, "lib", "", []gitlink{{"sub", "../sub.git", n.head(t, "sub")}}, "lib.go", "package lib\n", ".gitignore", "cache\n")
	n.add(t, "web", "", nil, "page", "first of web\n")
	n.add(t, "app", "", []gitlink{{"deps/lib", "../lib.git", n.head(t, "lib")}, {"web", "../web.git", n.head(t, "web")}}, "main.go", "package main\n")
	n.server = serve(t, m.dir)
	n.store = m.store(t, n.server.remote(t, "app.git", testToken))
	return n
}

// gitlink is a submodule of a commit of the tests.
type gitlink struct {
	path, address string
	commit        ObjectID
}

// modulesText returns a .gitmodules in which each submodule is named like its path.
func modulesText(links []gitlink) string {
	var text strings.Builder
	for _, l := range links {
		fmt.Fprintf(&text, "[submodule \"%s\"]\n\tpath = %s\n\turl = %s\n", l.path, l.path, l.address)
	}
	return text.String()
}

// add adds a commit with just these submodules and files to a branch of a repository on
// the server, which may be new; "" is main. Files are names and contents.
func (n *nest) add(t *testing.T, name, branch string, links []gitlink, files ...string) ObjectID {
	t.Helper()
	repository := n.path(name + ".git")
	if !exists(repository) {
		git(t, n.dir, "init", "-q", "--bare", "-b", "main", "--template=", repository)
	}
	if branch == "" {
		branch = "main"
	}
	history := "commit refs/heads/" + branch + "\ncommitter A <a@b> 1700000000 +0000\ndata 0\n"
	if _, err := plain(t, repository, "", "rev-parse", "-q", "--verify", "refs/heads/"+branch); err == nil {
		history += "from refs/heads/" + branch + "^0\ndeleteall\n"
	}
	if len(links) > 0 {
		files = append(files, modulesFile, modulesText(links))
	}
	for i := 0; i < len(files); i += 2 {
		history += fmt.Sprintf("M 100644 inline %s\ndata %d\n%s\n", files[i], len(files[i+1]), files[i+1])
	}
	for _, l := range links {
		history += "M 160000 " + l.commit.String() + " " + l.path + "\n"
	}
	if out, err := plain(t, repository, history, "fast-import", "--quiet", "--force"); err != nil {
		t.Fatal(out)
	}
	return n.headOf(t, name, branch)
}

func (n *nest) head(t *testing.T, name string) ObjectID { return n.headOf(t, name, "main") }

func (n *nest) headOf(t *testing.T, name, branch string) ObjectID {
	t.Helper()
	return headOf(t, n.path(name+".git"), "refs/heads/"+branch)
}

// withSubmodules is what the tests fetch.
var withSubmodules = Source{Prefix: "symphony/", Submodules: true}

// checkout returns the content of a workspace that begins at a commit.
func (n *nest) checkout(t *testing.T, f Fetched, head ObjectID, paths ...string) Checkout {
	t.Helper()
	list, skipped, err := n.store.Submodules(t.Context(), f.Head, head, paths)
	if err != nil || len(skipped) > 0 {
		t.Fatal(err, skipped)
	}
	return Checkout{Base: f.Base, BaseHead: f.Head, Branch: branch(t, "symphony/GH-1"), Head: head, User: person, Paths: paths, Submodules: list}
}

// fill gives the workspace GH-1 a new .git and its files.
func (n *nest) fill(t *testing.T, c Checkout) string {
	t.Helper()
	if err := os.RemoveAll(n.path("workspaces", "GH-1", ".git")); err != nil {
		t.Fatal(err)
	}
	folder := populateFrom(t, n.machine, n.store, "GH-1", c)
	runAsAgent(t, folder, "", n.host.SubmodulesCommand(c.Submodules))
	return folder
}

const nestFiles = ".gitmodules deps/lib/.gitignore deps/lib/.gitmodules deps/lib/lib.go deps/lib/sub/file main.go web/page"

// assertClean fails the test if git sees a change in a workspace or its submodules.
func assertClean(t *testing.T, folder string) {
	t.Helper()
	if got := git(t, folder, "status", "--porcelain", "--ignore-submodules=none"); got != "" {
		t.Errorf("git status says\n%s", got)
	}
}
