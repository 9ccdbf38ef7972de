package git

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var person = Person{Name: `Symphony "bot" \o/ #1`, Email: "symphony@example.com"}

// populate gives an issue a workspace whose branch starts at the base, and returns its
// folder.
func populate(t testing.TB, m *machine, s *Store, f Fetched, key string) string {
	t.Helper()
	return populateFrom(t, m, s, key, Checkout{Base: f.Base, BaseHead: f.Head, Branch: branch(t, "symphony/"+key), Head: f.Head, User: person})
}

func populateFrom(t testing.TB, m *machine, s *Store, key string, c Checkout) string {
	t.Helper()
	folder := filepath.Join(m.workspaces, key)
	populateGit(t, s, folder, c)
	for _, command := range m.host.CheckoutCommands(c) {
		runAsAgent(t, folder, "", command)
	}
	return folder
}

// populateGit writes the .git of a workspace, without its files.
func populateGit(t testing.TB, s *Store, folder string, c Checkout) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(folder, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	into, err := os.OpenRoot(filepath.Join(folder, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	if err := s.Populate(t.Context(), into, c); err != nil {
		t.Fatal(err)
	}
}

// runAsAgent runs a command in a workspace as the sandbox does, and returns its output.
func runAsAgent(t testing.TB, folder, stdin string, c Command) string {
	t.Helper()
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir = folder
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TMPDIR=" + t.TempDir()}, c.Env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, stderr.String())
	}
	return string(out)
}

func TestAWorkspaceIsOnTheBranchOfItsIssue(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	pushed := commit(t, origin, "symphony/GH-1", "a", "agent")
	s := m.store(t, remoteAt(t, origin))
	f := fetch(t, s, ours)
	folder := populateFrom(t, m, s, "GH-1", Checkout{
		Base: f.Base, BaseHead: f.Head, Branch: branch(t, "symphony/GH-1"), Head: pushed, Pushed: pushed,
		User: person, Exclude: []string{"/node_modules/", "*.cache"},
	})
	for command, want := range map[string]string{
		"symbolic-ref HEAD":                            "refs/heads/symphony/GH-1",
		"rev-parse HEAD":                               pushed.String(),
		"rev-parse origin/symphony/GH-1":               pushed.String(),
		"rev-parse origin/main":                        f.Head.String(),
		"config user.name":                             person.Name,
		"config user.email":                            person.Email,
		"config remote.origin.url":                     "file://" + origin,
		"config gc.auto":                               "0",
		"status --porcelain":                           "",
		"fsck --strict --no-dangling":                  "",
		"show HEAD:a":                                  "agent",
		"for-each-ref --format=%(refname)":             "refs/heads/symphony/GH-1\nrefs/remotes/origin/main\nrefs/remotes/origin/symphony/GH-1",
		"check-ignore node_modules/x a.cache":          "node_modules/x\na.cache",
		"rev-list --count origin/main..HEAD":           "1",
		"rev-parse --is-shallow-repository":            "false",
		"config --get-all remote.origin.fetch":         "+refs/heads/main:refs/remotes/origin/main",
		"count-objects":                                "0 objects, 0 kilobytes",
		"rev-parse --git-path objects/info/alternates": ".git/objects/info/alternates",
	} {
		if got := git(t, folder, strings.Fields(command)...); got != want {
			t.Errorf("git %s says %q, want %q", command, got, want)
		}
	}
	if exists(filepath.Join(folder, ".git/objects/info/alternates")) {
		t.Error("the workspace borrows objects")
	}
	if read(t, filepath.Join(folder, "src/main.go")) != "package main\n" {
		t.Error("the work tree is not filled")
	}
	// The agent may do what agents do.
	write(t, filepath.Join(folder, "b"), "b")
	git(t, folder, "add", "-A")
	git(t, folder, "commit", "-q", "-m", "work")
	git(t, folder, "gc", "-q", "--prune=now")
	git(t, folder, "rebase", "-q", "origin/main")
}

func TestNothingInAWorkspaceLeadsBackToTheStoreOrHoldsTheToken(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.origin(t)
	srv := serve(t, m.dir)
	s := m.store(t, srv.remote(t, "origin.git", testToken))
	folder := populate(t, m, s, fetch(t, s, ours), "GH-1")
	store := map[uint64]string{}
	for _, root := range []string{m.path("stores"), folder} {
		filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text := read(t, path)
			if strings.Contains(text, testToken) || strings.Contains(text, strings.TrimPrefix(s.remote.header(), "Basic ")) {
				t.Errorf("the token is in %s", path)
			}
			if root == folder && strings.Contains(text, m.path("stores")) {
				t.Errorf("the path of the store is in %s", path)
			}
			if root != folder {
				store[inode(t, path)] = path
			} else if other := store[inode(t, path)]; other != "" {
				t.Errorf("%s and %s are one file", path, other)
			}
			return nil
		})
	}
}

// A naive host clones with hard links, and the agent writes into the store's pack.
func TestAnAgentThatOverwritesItsPacksChangesNothingInTheStore(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	destroy := func(git string) {
		pack := globOne(t, filepath.Join(git, "objects/pack/*.pack"))
		truncateFile(t, pack)
	}
	git(t, m.dir, "clone", "-q", "--bare", "--no-hardlinks", origin, m.path("fresh.git"))
	git(t, m.dir, "clone", "-q", "--bare", origin, m.path("naive-store"))
	git(t, m.dir, "clone", "-q", "--no-checkout", m.path("naive-store"), m.path("naive"))
	destroy(m.path("naive", ".git"))
	if _, err := plain(t, m.path("naive-store"), "", "fsck"); err == nil {
		t.Log("this file system has no hard links between these folders")
	}
	s := m.store(t, remoteAt(t, m.path("fresh.git")))
	folder := populate(t, m, s, fetch(t, s, ours), "GH-1")
	destroy(filepath.Join(folder, ".git"))
	git(t, s.repository(), "fsck", "--strict")
}

func truncateFile(t testing.TB, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("PACK"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAKeptWorkspaceIsBroughtToTheNewCommitAndKeepsItsCaches(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	s := m.store(t, remoteAt(t, origin))
	f := fetch(t, s, ours)
	folder := populate(t, m, s, f, "GH-1")
	write(t, filepath.Join(folder, ".gitignore"), "cache/\n")
	write(t, filepath.Join(folder, "cache/x"), "kept")
	write(t, filepath.Join(folder, "excluded/x"), "kept")
	write(t, filepath.Join(folder, "README.md"), "changed")
	write(t, filepath.Join(folder, ".gitattributes"), "* filter=evil")
	remove(t, filepath.Join(folder, "src"))
	git(t, folder, "init", "-q", "nested")
	write(t, filepath.Join(folder, "nested/x"), "x")
	commit(t, origin, "main", ".gitignore", "cache/\n")
	f = fetch(t, s, ours)
	remove(t, filepath.Join(folder, ".git"))
	populateFrom(t, m, s, "GH-1", Checkout{Base: f.Base, BaseHead: f.Head, Branch: branch(t, "symphony/GH-1"), Head: f.Head, User: person, Exclude: []string{"/excluded"}})
	var files []string
	filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		if !entry.IsDir() {
			rel, _ := filepath.Rel(folder, path)
			files = append(files, rel+"="+read(t, path))
		}
		return err
	})
	want := []string{".gitignore=cache/\n", "README.md=hello\n", "cache/x=kept", "excluded/x=kept", "src/main.go=package main\n"}
	if slices.Sort(files); !slices.Equal(files, want) {
		t.Errorf("the workspace has %q, want %q", files, want)
	}
}

// git opens such files to read patterns from them.
func TestAKeptWorkspaceWithPipesIsFilledAllTheSame(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	folder := d.workspace(t, "GH-1")
	var opened atomic.Bool
	done := make(chan struct{})
	var watching sync.WaitGroup
	for _, name := range []string{"src/.gitignore", "src/.gitattributes", "new/.gitignore", "README.md"} {
		pipe := filepath.Join(folder, name)
		os.Remove(pipe)
		if err := errors.Join(os.MkdirAll(filepath.Dir(pipe), 0o755), syscall.Mkfifo(pipe, 0o600)); err != nil {
			t.Fatal(err)
		}
		watching.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
				}
				end, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
				if err != nil {
					continue // nobody reads
				}
				if info, err := end.Stat(); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
					opened.Store(true)
				}
				end.Close()
			}
		})
	}
	remove(t, filepath.Join(folder, ".git"))
	d.workspace(t, "GH-1")
	close(done)
	watching.Wait()
	if opened.Load() {
		t.Fatal("git has waited for a pipe")
	}
	if got := git(t, folder, "status", "--porcelain"); got != "" || read(t, filepath.Join(folder, "README.md")) != "hello\n" {
		t.Errorf("the workspace has changes:\n%s", got)
	}
}

func TestAWorkspaceThatCannotBeMadeIsAnError(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.store(t, remoteAt(t, m.origin(t)))
	f := fetch(t, s, ours)
	good := Checkout{Base: f.Base, BaseHead: f.Head, Branch: branch(t, "symphony/x"), Head: f.Head, User: person}
	for name, change := range map[string]func(c *Checkout, folder string){
		"a line break in the name": func(c *Checkout, folder string) { c.User.Name = "a\n[core]\n\tsshCommand = evil" },
		"no address":               func(c *Checkout, folder string) { c.User.Email = "" },
		"no commit":                func(c *Checkout, folder string) { c.Head = ObjectID{} },
		"no branch":                func(c *Checkout, folder string) { c.Branch = Branch{} },
		"something is there":       func(c *Checkout, folder string) { write(t, filepath.Join(folder, "config"), "evil") },
	} {
		folder := filepath.Join(t.TempDir(), "git")
		os.Mkdir(folder, 0o755)
		into, err := os.OpenRoot(folder)
		if err != nil {
			t.Fatal(err)
		}
		c := good
		change(&c, folder)
		if err := s.Populate(t.Context(), into, c); err == nil {
			t.Errorf("%s: no error", name)
		}
		into.Close()
	}
}

// git reads back every value that the configuration is given.
func FuzzConfigurationOfAWorkspace(f *testing.F) {
	m := newMachine(f)
	f.Add("Symphony")
	f.Add(`a"b\c #d ;e`)
	f.Add("  spaces  ")
	f.Add("[core]")
	f.Fuzz(func(t *testing.T, name string) {
		remote := remoteAt(t, "/srv/x.git")
		c := Checkout{Base: branch(t, "main"), Branch: branch(t, "x"), User: Person{Name: name, Email: "a@b"}}
		text, err := c.config(remote)
		if err != nil {
			return
		}
		file := filepath.Join(m.dir, "config")
		write(t, file, text)
		out := git(t, m.dir, "config", "--file", file, "-z", "--list")
		want := "core.repositoryformatversion\n0\x00core.filemode\ntrue\x00core.bare\nfalse\x00core.logallrefupdates\ntrue\x00gc.auto\n0\x00maintenance.auto\nfalse\x00advice.detachedhead\nfalse\x00" +
			"remote.origin.url\nfile:///srv/x.git\x00remote.origin.fetch\n+refs/heads/main:refs/remotes/origin/main\x00user.name\n" + name + "\x00user.email\na@b\x00"
		if out != want {
			t.Errorf("%q is read as %q", text, out)
		}
	})
}
