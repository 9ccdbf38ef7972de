package git

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// parts is what a sparse workspace of the tests has.
var parts = []string{"app", "docs/deep", "docs/deep/z"}

// newSparse returns a delivery whose origin has folders, of which a workspace has some.
func newSparse(t *testing.T) *delivery {
	t.Helper()
	history := "commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 5\nfirst\n"
	for _, file := range []string{
		".gitignore", "old/a", // which has each of its lines ignored, as old
		"root", "app/a", "app/x/b", "app2/a", "lib/c", "lib/y/d", "docs/e", "docs/deep/f", "docs/deep/z/g", "docs/deep2/h", ".github/workflows/ci.yml",
	} {
		history += "M 100644 inline " + file + "\ndata 4\nold\n\n"
	}
	m := newMachine(t)
	return m.deliver(t, m.imported(t, history))
}

func (d *delivery) sparseCheckout(t *testing.T) Checkout {
	return Checkout{Base: d.from.Base, BaseHead: d.from.Start, Branch: target, Head: d.from.Start, User: person, Paths: parts}
}

// filesIn returns the files of a folder apart from .git, sorted.
func filesIn(t *testing.T, folder string) string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == ".git" {
			return fs.SkipDir
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

const sparseFiles = ".gitignore app/a app/x/b docs/deep/f docs/deep/z/g docs/e root"

// changesOf returns what a harvest changes: + added, - deleted, * changed.
func (d *delivery) changesOf(t *testing.T, command Command, folder string) string {
	t.Helper()
	in, err := d.store.Receive(t.Context(), strings.NewReader(runAsAgent(t, folder, "", command)), d.from)
	if errors.Is(err, ErrNothingNew) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var list []string
	for _, c := range changes(t, in) {
		switch {
		case c.OldMode == 0:
			list = append(list, "+"+c.Path)
		case c.NewMode == 0:
			list = append(list, "-"+c.Path)
		default:
			list = append(list, "*"+c.Path)
		}
	}
	return strings.Join(list, " ")
}

func TestASparseWorkspaceHasItsFoldersAndLosesNothing(t *testing.T) {
	t.Parallel()
	const elsewhere = "-.github/workflows/ci.yml -app2/a -docs/deep2/h -lib/c -lib/y/d -old/a"
	for name, test := range map[string]struct {
		agent string // shell commands
		want  string
	}{
		"nothing":                        {"true", ""},
		"changes where it should":        {"echo new > app/a; rm docs/e root; echo new > docs/deep/n; echo new > top", "*app/a +docs/deep/n -docs/e -root +top"},
		"deletes a folder it has":        {"rm -r app docs", "-app/a -app/x/b -docs/deep/f -docs/deep/z/g -docs/e"},
		"commits":                        {"echo new > app/a; git commit -qam new", "*app/a"},
		"makes files elsewhere":          {"mkdir -p lib other; echo new > lib/n; echo new > other/n", "+lib/n +other/n"},
		"changes a file elsewhere":       {"mkdir -p .github/workflows; echo new > .github/workflows/ci.yml", "*.github/workflows/ci.yml"},
		"hides a change by its index":    {"git update-index --skip-worktree app/a root; git update-index --assume-unchanged docs/e; echo new | tee app/a root docs/e", "*app/a *docs/e *root"},
		"puts a file over a folder":      {"echo new > lib", "+lib -lib/c -lib/y/d"},
		"puts a link over a folder":      {"ln -s app lib", "+lib -lib/c -lib/y/d"},
		"commits a deletion elsewhere":   {"git rm -q --cached --sparse lib/c; git commit -qm delete", "-lib/c"},
		"asks for all files":             {"git sparse-checkout disable; test -e lib/c", ""},
		"asks for all, and deletes some": {"git sparse-checkout disable; rm lib/c", ""}, // looks as at first
		"asks for fewer files":           {"printf '/*\\n!/*/\\n' > .git/info/sparse-checkout; git sparse-checkout reapply; test ! -e app/a", "-app/a -app/x/b -docs/deep/f -docs/deep/z/g -docs/e"},
		"asks for others":                {"git sparse-checkout set lib; echo new > lib/c", "-app/a -app/x/b -docs/deep/f -docs/deep/z/g -docs/e *lib/c"},
		"breaks the list":                {"rm .git/info/sparse-checkout; mkdir .git/info/sparse-checkout; git config core.sparseCheckout true", ""},
		"turns it off":                   {"git config core.sparseCheckout false; rm .git/info/sparse-checkout", ""},
		"wants a sparse index":           {"git config index.sparse true; git config core.splitIndex true; echo new > app/a", "*app/a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newSparse(t)
			folder := populateFrom(t, d.machine, d.store, "GH-1", d.sparseCheckout(t))
			if got := filesIn(t, folder); got != sparseFiles {
				t.Fatalf("the workspace has %s", got)
			}
			if naive := d.changesOf(t, d.host.Harvest(d.from.Start, t.TempDir(), WorkTree{}), folder); naive != elsewhere {
				t.Fatalf("a harvest of all files finds %q", naive)
			}
			runAsAgent(t, folder, "", Command{Args: []string{"sh", "-ec", test.agent}, Env: sandboxEnv})
			if got := d.changesOf(t, d.host.Harvest(d.from.Start, t.TempDir(), WorkTree{Paths: parts}), folder); got != test.want {
				t.Errorf("the work is %q, want %q", got, test.want)
			}
		})
	}
}

// What an earlier session has left elsewhere is not work of the next one.
func TestAKeptSparseWorkspaceHasOnlyItsFolders(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]string{
		"a changed file elsewhere":  "mkdir lib; echo hostile > lib/c",
		"all files":                 "git sparse-checkout disable; echo hostile | tee lib/c app/a .github/workflows/ci.yml",
		"a file over a folder":      "echo hostile > lib",
		"a link over a folder":      "rm -rf lib; ln -s app lib; echo hostile > lib/c",
		"a new file elsewhere":      "mkdir -p lib/n; echo hostile > lib/n/n",
		"fewer files":               "git sparse-checkout set lib",
		"a repository elsewhere":    "git init -q lib; echo hostile | tee lib/c lib/n",
		"a worktree elsewhere":      "git worktree add -q -f lib; echo hostile | tee lib/c lib/n",
		"a hidden file elsewhere":   "mkdir lib; echo hostile > lib/c; echo c > lib/.gitignore; git update-index --skip-worktree lib/c",
		"an ignored link elsewhere": "ln -s app old",
		"a folder over a file":      "mkdir -p lib/c; echo hostile > lib/c/n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newSparse(t)
			c := d.sparseCheckout(t)
			for _, c.ReadOnly = range []bool{false, true} {
				folder := populateFrom(t, d.machine, d.store, fmt.Sprint("GH-", c.ReadOnly), c)
				runAsAgent(t, folder, "", Command{Args: []string{"sh", "-ec", leave}, Env: sandboxEnv})
				remove(t, filepath.Join(folder, ".git"))
				populateFrom(t, d.machine, d.store, filepath.Base(folder), c)
				if got := filesIn(t, folder); got != sparseFiles || read(t, filepath.Join(folder, "app/a")) != "old\n" {
					t.Errorf("the workspace has %s", got)
				}
				if got := d.changesOf(t, d.host.Harvest(d.from.Start, t.TempDir(), WorkTree{Paths: parts}), folder); got != "" {
					t.Errorf("the work is %q", got)
				}
			}
		})
	}
}

// git only warns of a file that it cannot remove, and it would be work of the next session.
func TestAnOldFileThatCannotBeRemovedIsAnError(t *testing.T) {
	t.Parallel()
	d := newSparse(t)
	all := d.sparseCheckout(t)
	all.Paths = nil
	folder := populateFrom(t, d.machine, d.store, "GH-1", all)
	write(t, filepath.Join(folder, "lib/c"), "by a session\n")
	remove(t, filepath.Join(folder, ".git"))
	if err := os.Mkdir(filepath.Join(folder, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	into, err := os.OpenRoot(filepath.Join(folder, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	if err := d.store.Populate(t.Context(), into, d.sparseCheckout(t)); err != nil {
		t.Fatal(err)
	}
	unprivileged := ownedByNobody(t, folder)
	shut := filepath.Join(folder, "lib")
	if err := os.Chmod(shut, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(shut, 0o700)
	var said strings.Builder
	for _, c := range d.host.CheckoutCommands(d.sparseCheckout(t)) {
		cmd := exec.Command(c.Args[0], c.Args[1:]...)
		cmd.Dir, cmd.Env, cmd.Stderr, cmd.SysProcAttr = folder, append([]string{"PATH=" + os.Getenv("PATH")}, c.Env...), &said, unprivileged
		if err = cmd.Run(); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(said.String(), "lib/c") {
		t.Errorf("the workspace is filled: %v\n%s", err, said.String())
	}
}

// ownedByNobody gives a folder to a user to whom permissions apply, if the tests are run
// by one to whom they do not, and returns what starts a process as that user.
func ownedByNobody(t *testing.T, folder string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	const nobody = 65534
	for up, n := filepath.Dir(folder), 0; n < 3; up, n = filepath.Dir(up), n+1 { // as far as the test made them
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	})
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

func TestOnlyWhatIsCommittedIsTakenFromAHalfFilledWorkspace(t *testing.T) {
	t.Parallel()
	d := newSparse(t)
	folder := populateFrom(t, d.machine, d.store, "GH-1", d.sparseCheckout(t))
	harvest := func() string { return d.changesOf(t, d.host.HarvestCommits(d.from.Start, t.TempDir()), folder) }
	remove(t, filepath.Join(folder, "root"))
	if got := harvest(); got != "" {
		t.Errorf("the work is %q", got)
	}
	write(t, filepath.Join(folder, "app/a"), "new\n")
	git(t, folder, "commit", "-q", "-m", "new", "app/a")
	if got := harvest(); got != "*app/a" {
		t.Errorf("the work is %q", got)
	}
}

func TestAnOldGitMakesNoSparseWorkspace(t *testing.T) {
	t.Parallel()
	d := newSparse(t)
	d.host.version = version{2, 35, 9}
	into, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	if err := d.store.Populate(t.Context(), into, d.sparseCheckout(t)); !errors.Is(err, ErrNoGit) || !strings.Contains(err.Error(), "repository.paths needs git 2.36.0 or newer, not 2.35.9") {
		t.Errorf("the error is %v", err)
	}
}

func TestPathsOfASparseCheckoutAreFolders(t *testing.T) {
	t.Parallel()
	if err := CheckPaths([]string{"app", "docs/deep", "a b/c", "ünïcode", "-x", "!x", "#x", "..x"}); err != nil {
		t.Errorf("plain folders: %v", err)
	}
	bad := map[string]string{
		"": "names no folder", ".": "names no folder", "/app": "slash", "app/": "slash", "../app": "slash", "a/../b": "slash", "a//b": "slash", "..": "slash",
		"a*": "pattern", "a?": "pattern", "[a]": "pattern", `a\b`: "pattern", " a": "pattern", "a\n!b": "do not print", "\xff": "do not print",
		strings.Repeat("a", 1001): "too many", "a/.GIT/b": "folder of git",
	}
	for _, path := range slices.Sorted(maps.Keys(bad)) {
		if err := CheckPaths([]string{"app", path}); err == nil || !strings.Contains(err.Error(), bad[path]) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", path, err)
		}
	}
	if err := CheckPaths(make([]string, 201)); err == nil || !strings.Contains(err.Error(), "201 paths are more than 200") {
		t.Errorf("many: %v", err)
	}
	d := newSparse(t)
	c := d.sparseCheckout(t)
	c.Paths = []string{"../x"}
	into, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	if err := d.store.Populate(t.Context(), into, c); err == nil {
		t.Error("a path that leaves the repository is taken")
	}
}
