package git

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAWorkspaceHasItsSubmodules(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	f := fetch(t, n.store, withSubmodules)
	c := n.checkout(t, f, f.Head)
	folder := n.fill(t, c)
	if got := filesBelowGit(t, folder); got != nestFiles {
		t.Errorf("the workspace has %s", got)
	}
	assertClean(t, folder)
	want := ""
	for _, m := range [][2]string{{"lib", "deps/lib"}, {"sub", "deps/lib/sub"}, {"web", "web"}} {
		want += fmt.Sprintf(" %s %s (symphony/commit)\n", n.head(t, m[0]), m[1])
	}
	if got := git(t, folder, "submodule", "status", "--recursive") + "\n"; got != want {
		t.Errorf("git submodule status says\n%s\nwant\n%s", got, want)
	}
	for _, place := range []string{"deps/lib", "deps/lib/sub", "web"} {
		git(t, filepath.Join(folder, place), "fsck", "--strict", "--no-dangling")
		if got := git(t, filepath.Join(folder, place), "config", "remote.origin.url"); !strings.HasPrefix(got, n.server.URL) {
			t.Errorf("%s comes from %s", place, got)
		}
	}
	git(t, folder, "submodule", "update", "--recursive", "--no-fetch")
	git(t, folder, "submodule", "sync", "--recursive")
	assertClean(t, folder)
}

// filesBelowGit is filesIn, which stops at the .git of a submodule, for all of them.
func filesBelowGit(t *testing.T, folder string) string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == ".git" {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(folder, path)
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(files, " ")
}

func TestWithoutTheSettingSubmodulesStayEmptyFolders(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	f := fetch(t, n.store, ours)
	if got := n.server.seen(); slices.ContainsFunc(got, func(r string) bool { return !strings.Contains(r, "/app.git/") }) {
		t.Errorf("requests %q", got)
	}
	folder := n.fill(t, Checkout{Base: f.Base, BaseHead: f.Head, Branch: branch(t, "symphony/GH-1"), Head: f.Head, User: person})
	if got := filesBelowGit(t, folder); got != ".gitmodules main.go" || !exists(filepath.Join(folder, "deps/lib")) {
		t.Errorf("the workspace has %s", got)
	}
	assertClean(t, folder)
}

func TestEachCommitOfASubmoduleIsFetchedOnce(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	f := fetch(t, n.store, withSubmodules)
	n.server.seen()
	for range 3 { // sessions, and a later tick
		n.checkout(t, f, f.Head)
	}
	fetch(t, n.store, withSubmodules)
	n.store.Close()
	n.store = n.machine.store(t, n.server.remote(t, "app.git", testToken))
	f = fetch(t, n.store, withSubmodules)
	if got := n.server.seen(); slices.ContainsFunc(got, func(r string) bool { return !strings.Contains(r, "/app.git/") }) {
		t.Errorf("requests %q", got)
	}
	// Only what moves is fetched again, and without its history.
	moved := n.add(t, "web", "", nil, "page", "second of web\n")
	n.add(t, "app", "", []gitlink{{"deps/lib", "../lib.git", n.head(t, "lib")}, {"web", "../web.git", moved}}, "main.go", "package main\n")
	f = fetch(t, n.store, withSubmodules)
	for _, request := range n.server.seen() {
		if strings.Contains(request, "/lib.git/") || strings.Contains(request, "/sub.git/") {
			t.Errorf("request %s", request)
		}
	}
	folder := n.fill(t, n.checkout(t, f, f.Head))
	if got := git(t, filepath.Join(folder, "web"), "rev-list", "--count", "HEAD"); got != "1" || read(t, filepath.Join(folder, "web/page")) != "second of web\n" {
		t.Errorf("%s commits", got)
	}
	assertClean(t, folder)
}

func TestASubmoduleSharesNothingWithItsStoreAndHasNoToken(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	f := fetch(t, n.store, withSubmodules)
	folder := n.fill(t, n.checkout(t, f, f.Head))
	store := map[uint64]string{}
	for _, root := range []string{n.path("stores"), folder} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			if other := store[inode(t, path)]; root == folder && other != "" {
				t.Errorf("%s is %s", path, other)
			} else if root != folder {
				store[inode(t, path)] = path
			}
			text := read(t, path)
			if root == folder && (strings.Contains(text, n.path("stores"))) || strings.Contains(text, testToken) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("x-access-token:"+testToken))) {
				t.Errorf("%s holds the token, or the place of the store", path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A submodule on another host gets no token, and none that the server redirects to.
func TestTheTokenGoesToTheHostOfTheRepositoryAlone(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	f := fetch(t, n.store, withSubmodules) // the server wants the token for all
	n.fill(t, n.checkout(t, f, f.Head))

	var shown []string
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = append(shown, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(other.Close)
	trusted := n.path("trusted.pem")
	write(t, trusted, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate().Raw})))
	n.host.env = append(n.host.env, "GIT_SSL_CAINFO="+trusted)
	n.add(t, "app", "", []gitlink{{"web", other.URL + "/web.git", n.head(t, "web")}})
	_, err := n.store.Fetch(t.Context(), withSubmodules)
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "submodule web: ") || !strings.Contains(err.Error(), "correct its address in .gitmodules") {
		t.Errorf("error %v", err)
	}
	if len(shown) == 0 || slices.ContainsFunc(shown, func(s string) bool { return s != "" }) {
		t.Errorf("the other host was shown %q", shown)
	}

	shown = nil
	n.server.answer(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/moved.git/") {
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusMovedPermanently)
		}
		return strings.HasPrefix(r.URL.Path, "/moved.git/")
	})
	n.add(t, "app", "", []gitlink{{"web", "../moved.git", n.head(t, "web")}})
	if _, err := n.store.Fetch(t.Context(), withSubmodules); !errors.Is(err, ErrRenamed) || len(shown) > 0 {
		t.Errorf("error %v, the other host was shown %q", err, shown)
	}
}

func TestASubmoduleThatCannotBeFetchedIsOneSentence(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	for name, test := range map[string]struct {
		link gitlink
		kind error
		want string
	}{
		"a commit that is nowhere":    {gitlink{"web", "../web.git", ObjectID{7}}, ErrNotFound, "it does not have the commit 0700000000000000000000000000000000000000"},
		"no repository":               {gitlink{"web", "../nothing.git", ObjectID{7}}, ErrNotFound, "let repository.token read it"},
		"a command":                   {gitlink{"web", "ext::touch%/tmp/x", n.head(t, "web")}, ErrRemote, "is neither relative nor one of https"},
		"a folder of this machine":    {gitlink{"web", "file://" + n.path("web.git"), n.head(t, "web")}, ErrRemote, "is neither relative nor one of https"},
		"a path":                      {gitlink{"web", n.path("web.git"), n.head(t, "web")}, ErrRemote, "is neither relative nor one of https"},
		"a service of this machine":   {gitlink{"web", "http://127.0.0.1:1/x.git", n.head(t, "web")}, ErrRemote, "is neither relative nor one of https"},
		"SSH on another host":         {gitlink{"web", "git@example.com:x/y", n.head(t, "web")}, ErrRemote, "its address in .gitmodules"},
		"a password":                  {gitlink{"web", "https://me:hunter2@example.com/x", n.head(t, "web")}, ErrRemote, "contains a user or a password"},
		"an address above the server": {gitlink{"web", "../../../x.git", n.head(t, "web")}, ErrRemote, "leads above the host"},
	} {
		t.Run(name, func(t *testing.T) {
			n.add(t, "app", "", []gitlink{test.link})
			_, err := n.store.Fetch(t.Context(), withSubmodules)
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), "submodule web: ") || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v", err)
			}
			if _, err := n.store.Fetch(t.Context(), ours); err != nil {
				t.Errorf("without submodules: %v", err)
			}
		})
	}
}

// The branch of an issue may be pushed by an agent. It changes the commits of submodules,
// and adds no fetch.
func TestABranchNeitherAddsNorRedirectsAFetch(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	second := n.add(t, "web", "more", nil, "page", "second of web\n")
	n.add(t, "evil", "", nil, "page", "evil\n")
	n.add(t, "lib", "more", []gitlink{{"sub", "../evil.git", n.head(t, "evil")}}, "lib.go", "package lib\n")
	head := n.add(t, "app", "symphony/GH-1", []gitlink{
		{"deps/lib", "../evil.git", n.headOf(t, "lib", "more")}, {"web", "../evil.git", second}, {"more", "../evil.git", n.head(t, "evil")},
	})
	gone := n.add(t, "app", "symphony/GH-2", []gitlink{{"deps/lib", "../lib.git", ObjectID{7}}, {"web", "../web.git", second}})
	f := fetch(t, n.store, withSubmodules)
	list, skipped, err := n.store.Submodules(t.Context(), f.Head, head, nil)
	var got []string
	for _, m := range list {
		got = append(got, m.Path+" "+m.store.remote.url+" "+m.Commit.String())
	}
	want := []string{"deps/lib " + n.server.URL + "/lib.git " + n.headOf(t, "lib", "more").String(), "web " + n.server.URL + "/web.git " + second.String()}
	if err != nil || !slices.Equal(got, want) || len(skipped) != 1 || !strings.Contains(skipped[0].Error(), "deps/lib/sub") {
		t.Errorf("%q, skipped %v, %v", got, skipped, err)
	}
	list, skipped, err = n.store.Submodules(t.Context(), f.Head, gone, nil)
	if err != nil || len(list) != 1 || len(skipped) != 1 || !errors.Is(skipped[0], errNoCommit) {
		t.Errorf("%v, skipped %v, %v", list, skipped, err)
	}
	for _, request := range n.server.seen() {
		if strings.Contains(request, "evil") {
			t.Errorf("request %s", request)
		}
	}
	c := n.checkout(t, f, f.Head)
	c.Head = head
	c.Submodules, _, _ = n.store.Submodules(t.Context(), f.Head, head, nil)
	folder := n.fill(t, c)
	if got := filesBelowGit(t, folder); got != ".gitmodules deps/lib/.gitmodules deps/lib/lib.go web/page" || read(t, filepath.Join(folder, "web/page")) != "second of web\n" {
		t.Errorf("the workspace has %s", got)
	}
	assertClean(t, folder)
}

func TestABranchCannotSpoilTheStoreOfASubmodule(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	f := fetch(t, n.store, withSubmodules)
	git(t, n.path("web.git"), "tag", "-a", "-m", "x", "v1", "main")
	for _, object := range []string{"main^{tree}", "main:page", "v1"} {
		head := n.add(t, "app", "symphony/GH-1", []gitlink{{"web", "../web.git", id(t, git(t, n.path("web.git"), "rev-parse", object))}})
		fetch(t, n.store, ours)
		list, skipped, err := n.store.Submodules(t.Context(), f.Head, head, nil)
		if err != nil || len(list) != 0 || len(skipped) != 1 || !errors.Is(skipped[0], errNoCommit) {
			t.Errorf("%s: %v, skipped %v, %v", object, list, skipped, err)
		}
		fetch(t, n.store, withSubmodules)
		n.checkout(t, f, f.Head)
	}
	n.store.Close()
	n.store = n.machine.store(t, n.server.remote(t, "app.git", testToken))
	fetch(t, n.store, withSubmodules)
	if strings.Contains(n.log.String(), "damaged") {
		t.Errorf("a store was made again:\n%s", n.log)
	}
}

func TestSubmodulesAreBounded(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	below := n.add(t, "d5", "", nil, "file", "deep\n")
	for _, name := range []string{"d4", "d3", "d2", "d1"} {
		below = n.add(t, name, "", []gitlink{{"in", "../d" + string(name[1]+1) + ".git", below}}, "file", name)
	}
	n.add(t, "app", "", []gitlink{{"d1", "../d1.git", below}})
	f := fetch(t, n.store, withSubmodules)
	folder := n.fill(t, n.checkout(t, f, f.Head))
	if got := filesBelowGit(t, folder); got != ".gitmodules d1/.gitmodules d1/file d1/in/.gitmodules d1/in/file d1/in/in/.gitmodules d1/in/in/file" {
		t.Errorf("the workspace has %s", got)
	}
	assertClean(t, folder)

	var many []gitlink
	for i := range maxSubmodules + 1 {
		many = append(many, gitlink{fmt.Sprintf("m%d", i), "../web.git", n.head(t, "web")})
	}
	n.add(t, "app", "", many)
	if _, err := n.store.Fetch(t.Context(), withSubmodules); !errors.Is(err, ErrTooBig) || !strings.Contains(err.Error(), "more than 50 submodules") {
		t.Errorf("error %v", err)
	}
}

func TestASparseWorkspaceHasTheSubmodulesInItsFolders(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	source := withSubmodules
	source.Paths = []string{"deps"}
	f := fetch(t, n.store, source)
	if got := n.server.seen(); slices.ContainsFunc(got, func(r string) bool { return strings.Contains(r, "/web.git/") }) {
		t.Errorf("requests %q", got)
	}
	c := n.checkout(t, f, f.Head, "deps")
	for range 2 { // the second is a kept workspace
		folder := n.fill(t, c)
		if got := filesBelowGit(t, folder); got != ".gitmodules deps/lib/.gitignore deps/lib/.gitmodules deps/lib/lib.go deps/lib/sub/file main.go" {
			t.Errorf("the workspace has %s", got)
		}
		assertClean(t, folder)
		write(t, filepath.Join(folder, "web/page"), "hostile\n")
	}
}

func TestARepositoryOnThisMachineHasItsSubmodulesBesideIt(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	n.store = n.machine.store(t, remoteAt(t, n.path("app.git")))
	f := fetch(t, n.store, withSubmodules)
	folder := n.fill(t, n.checkout(t, f, f.Head))
	if got := filesBelowGit(t, folder); got != nestFiles {
		t.Errorf("the workspace has %s", got)
	}
	// Not one that an agent can write to.
	if err := os.Rename(n.path("web.git"), n.path("workspaces", "web.git")); err != nil {
		t.Fatal(err)
	}
	n.add(t, "app", "", []gitlink{{"web", "../workspaces/web.git", ObjectID{7}}})
	if _, err := n.store.Fetch(t.Context(), withSubmodules); !errors.Is(err, ErrFolder) {
		t.Errorf("error %v", err)
	}
}
