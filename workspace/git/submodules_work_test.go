package git

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What an agent has left in the folder of a submodule is gone in the next session, and
// nothing of it has run outside the sandbox.
func TestAKeptWorkspaceHasFreshSubmodules(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	f := fetch(t, n.store, withSubmodules)
	write(t, n.path("outside", "file"), "mine")
	for name, leave := range map[string]string{
		"changed files":                "echo hostile | tee deps/lib/lib.go deps/lib/new deps/lib/cache web/page",
		"commits":                      "cd web; echo x > page; git -c user.name=x -c user.email=x@y commit -qam x",
		"no folder":                    "rm -rf deps web",
		"a file for a folder":          "rm -rf web; echo hostile > web",
		"a link for a folder":          "rm -rf web deps; ln -s OUTSIDE web; ln -s OUTSIDE deps",
		"a link in a folder":           "rm -rf deps/lib/sub web/.git; ln -s OUTSIDE deps/lib/sub; ln -s OUTSIDE web/.git",
		"a repository of its own":      "rm web/.git; git init -q web; git -C web config core.fsmonitor 'touch OUTSIDE/ran; true'; printf '#!/bin/sh\\ntouch OUTSIDE/ran' > web/.git/hooks/post-checkout; chmod +x web/.git/hooks/post-checkout",
		"another repository's name":    "echo 'gitdir: OUTSIDE' > web/.git",
		"a repository without commits": "rm web/.git; git init -q web",
		"pipes":                        "rm web/.git deps/lib/.gitignore; mkfifo web/.git deps/lib/.gitignore web/page2",
		"hooks and settings":           "git -C web config core.fsmonitor 'touch OUTSIDE/ran; true'; git -C web config filter.x.smudge 'touch OUTSIDE/ran'; echo '* filter=x' > web/.gitattributes; mkdir -p .git/modules/web/hooks; printf '#!/bin/sh\\ntouch OUTSIDE/ran' > .git/modules/web/hooks/post-checkout; chmod +x .git/modules/web/hooks/post-checkout",
		"no modules":                   "rm -rf .git/modules; ln -s OUTSIDE .git/modules",
		"read-only folders":            "chmod a-w web deps/lib",
	} {
		t.Run(name, func(t *testing.T) {
			c := n.checkout(t, f, f.Head)
			folder := n.fill(t, c)
			runAsAgent(t, folder, "", Command{Args: []string{"sh", "-ec", strings.ReplaceAll(leave, "OUTSIDE", n.path("outside"))}, Env: sandboxEnv})
			n.fill(t, c)
			if got := filesBelowGit(t, folder); got != nestFiles {
				t.Errorf("the workspace has %s", got)
			}
			assertClean(t, folder)
			if got := filesBelowGit(t, n.path("outside")); got != "file" {
				t.Errorf("outside: %s", got)
			}

			// The same without the setting.
			runAsAgent(t, folder, "", Command{Args: []string{"sh", "-ec", strings.ReplaceAll(leave, "OUTSIDE", n.path("outside"))}, Env: sandboxEnv})
			c.Submodules = nil
			n.fill(t, c)
			if got := filesBelowGit(t, folder); got != ".gitmodules main.go" {
				t.Errorf("without the setting the workspace has %s", got)
			}
			assertClean(t, folder)
		})
	}
}

// deliveryOf returns the folder as the subject of a harvest.
func (n *nest) deliveryOf(f Fetched) *delivery {
	return &delivery{machine: n.machine, origin: n.path("app.git"), store: n.store, from: From{f.Head, f.Base}}
}

// changed returns the submodules that are said to have changes.
func (n *nest) changed(t *testing.T, folder string, submodules []Submodule) string {
	t.Helper()
	return strings.Join(ReadChangedSubmodules(submodules, runAsAgent(t, folder, "", n.host.ChangedSubmodules(submodules))), " ")
}

func TestChangesInsideASubmoduleAreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	const commit = "git -c user.name=x -c user.email=x@y commit -q "
	n := newNest(t)
	f := fetch(t, n.store, withSubmodules)
	c := n.checkout(t, f, f.Head)
	for name, test := range map[string]struct {
		agent   string
		changes string // that a harvest finds
		changed string // submodules
	}{
		"nothing":                         {"true", "", ""},
		"work elsewhere":                  {"echo new > main.go", "*main.go", ""},
		"a file":                          {"echo new > web/page; echo new > main.go", "*main.go", "web"},
		"a new file":                      {"echo new > deps/lib/sub/new", "", "deps/lib/sub"},
		"an ignored file":                 {"echo new > deps/lib/cache", "", ""},
		"a commit inside":                 {"cd web; echo new > page; " + commit + "-am new", "", "web"},
		"a commit inside, and one around": {"cd web; echo new > page; " + commit + "-am new; cd ..; " + commit + "-am new", "*web", "web"},
		"a repository that is none":       {"git clone -q web more; git -C more remote remove origin", "", ""},
		"a submodule is gone":             {"rm -rf web", "", "web"},
		"a submodule is removed":          {"git rm -q web; " + commit + "-m gone", "*.gitmodules -web", "web"},
		"files in its place":              {"rm -rf web; mkdir web; echo new > web/page", "", "web"},
		"a file in its place":             {"rm -rf web; echo new > web", "", "web"},
		"another repository in its place": {"rm web/.git; git init -q web; git -C web add -A; cd web; " + commit + "-m new", "", "web"},
		"it brings the index along":       {"cd web; echo new > page; " + commit + "-am new; cd ..; git add -A", "", "web"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := n.fill(t, c)
			runAsAgent(t, folder, "", Command{Args: []string{"sh", "-ec", test.agent}, Env: sandboxEnv})
			if got := n.deliveryOf(f).changesOf(t, n.host.Harvest(f.Head, t.TempDir(), WorkTree{}), folder); got != test.changes {
				t.Errorf("the work is %q, want %q", got, test.changes)
			}
			if got := n.changed(t, folder, c.Submodules); got != test.changed {
				t.Errorf("changed submodules %q, want %q", got, test.changed)
			}
		})
	}
}

// The base has moved a submodule meanwhile, and the agent takes that along: the folder of
// the submodule still has the old commit, which is not a change.
func TestANewerBaseDoesNotMakeASubmoduleAChange(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	old := fetch(t, n.store, withSubmodules)
	moved := n.add(t, "web", "", nil, "page", "second of web\n")
	n.add(t, "app", "", []gitlink{{"deps/lib", "../lib.git", n.head(t, "lib")}, {"web", "../web.git", moved}}, "main.go", "package main\n")
	f := fetch(t, n.store, withSubmodules)
	folder := n.fill(t, n.checkout(t, f, old.Head))
	if got := read(t, filepath.Join(folder, "web/page")); got != "first of web\n" {
		t.Errorf("web has %q", got)
	}
	assertClean(t, folder)
	runAsAgent(t, folder, "", Command{Args: []string{"sh", "-ec", "git rebase -q origin/main; echo new > main.go"}, Env: sandboxEnv})
	d := n.deliveryOf(f)
	d.from.Start = old.Head
	if got := d.changesOf(t, n.host.Harvest(old.Head, t.TempDir(), WorkTree{}), folder); got != "*main.go" {
		t.Errorf("the work is %q", got)
	}
	// It needs no network to have the new one.
	runAsAgent(t, folder, "", Command{Args: []string{"git", "submodule", "--quiet", "update", "web"}, Env: append(sandboxEnv, "GIT_ALLOW_PROTOCOL=none")})
	if got := read(t, filepath.Join(folder, "web/page")); got != "second of web\n" {
		t.Errorf("web has %q", got)
	}
}

// One commit of the host has the submodules of the base as they are.
func TestASquashKeepsTheSubmodulesOfTheBase(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	f := fetch(t, n.store, withSubmodules)
	folder := n.fill(t, n.checkout(t, f, f.Head))
	runAsAgent(t, folder, "", Command{Args: []string{"sh", "-ec", "mkdir deps/more; echo new > deps/more/file; echo new > web/page; rm main.go"}, Env: sandboxEnv})
	in, err := n.store.Receive(t.Context(), strings.NewReader(runAsAgent(t, folder, "", n.host.Harvest(f.Head, t.TempDir(), WorkTree{}))), From{f.Head, f.Base})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	someone := Person{Name: "A", Email: "a@b", When: time.Unix(1_700_000_000, 0)}
	made, err := in.Squash(t.Context(), changes(t, in), ObjectID{}, Commit{Author: someone, Committer: someone, Message: "x"})
	if err == nil {
		err = in.Push(t.Context(), branch(t, "symphony/GH-1"), made, ObjectID{})
	}
	if err != nil {
		t.Fatal(err)
	}
	want := "100644 blob .gitmodules\n160000 commit deps/lib\n100644 blob deps/more/file\n160000 commit web"
	if got := git(t, n.path("app.git"), "ls-tree", "-r", "--format=%(objectmode) %(objecttype) %(path)", "symphony/GH-1"); got != want {
		t.Errorf("the branch has\n%s", got)
	}
	for path, name := range map[string]string{"deps/lib": "lib", "web": "web"} {
		if got := git(t, n.path("app.git"), "rev-parse", "symphony/GH-1:"+path); got != n.head(t, name).String() {
			t.Errorf("%s is at %s", path, got)
		}
	}
}

func TestWhatAnAgentSaysOfSubmodulesIsOnlyTheirNumbers(t *testing.T) {
	t.Parallel()
	all := []Submodule{{Path: "a"}, {Path: "b"}, {Path: "c"}}
	for output, want := range map[string][]string{
		"": nil, "2\n": {"b"}, "3\n1\n1\n": {"a", "c"}, "0\n4\n-1\nx\n99999999999999999999\n": nil, "2": {"b"}, "1 2\n../x\n": nil,
	} {
		if got := ReadChangedSubmodules(all, output); !slices.Equal(got, want) {
			t.Errorf("%q: %q", output, got)
		}
	}
}

// Where another process has a store open, nothing waits for ever.
func TestAStoreOfASubmoduleThatIsOpenElsewhereIsAnError(t *testing.T) {
	t.Parallel()
	n := newNest(t)
	fetch(t, n.store, withSubmodules)
	other := n.machine.store(t, n.server.remote(t, "lib.git", testToken)) // of a workspace, which is another one
	fetch(t, other, ours)
	n.add(t, "other", "", []gitlink{{"lib", "../lib.git", n.head(t, "lib")}})
	second := n.machine.store(t, n.server.remote(t, "other.git", testToken))
	if _, err := second.Fetch(t.Context(), withSubmodules); !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "another process has it open") {
		t.Errorf("error %v", err)
	}
	n.store.Close()
	fetch(t, second, withSubmodules)
}
