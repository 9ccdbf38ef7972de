package git

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// git waits for ever for what it finds there. The harvest says at once what is wrong: if
// it does not, the test hangs.
func TestAHarvestDoesNotWaitForWhatGitWouldOpen(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	pipe := func(t *testing.T, path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		os.Remove(path)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(t *testing.T, path string) {
		t.Helper()
		target := d.path("pipe-" + strings.ReplaceAll(t.Name(), "/", "-"))
		pipe(t, target)
		os.RemoveAll(path)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		make func(t *testing.T, path string)
	}{
		{".git/HEAD", pipe},
		{".git/HEAD", link},
		{".git/config", pipe},
		{".git/packed-refs", pipe},
		{".git/packed-refs", link},
		{".git/refs/heads/symphony/GH-1", pipe},
		{".git/shallow", pipe},
		{".git/info/exclude", pipe},
		{".git/objects/info/alternates", link},
		{".git/objects/pack/pack-0000000000000000000000000000000000000000.idx", pipe},
		{".git", pipe},
		{".git", link},
		{".gitignore", pipe},
		{"src/.gitattributes", pipe},
		{"nested/.git/HEAD", pipe},
	} {
		t.Run(strings.ReplaceAll(test.name, "/", "_"), func(t *testing.T) {
			folder := d.workspace(t, "GH-1")
			defer remove(t, folder)
			if test.name == ".git" {
				remove(t, filepath.Join(folder, ".git"))
			}
			test.make(t, filepath.Join(folder, test.name))
			code, said := d.runHarvest(t, folder)
			if code != 3 || !strings.Contains(said, test.name+" is neither a file nor a folder") {
				t.Errorf("exit status %d: %s", code, said)
			}
		})
	}
}

// Pipes that git does not open, and links among the files and in the hooks, are not a
// reason to refuse the work.
func TestAHarvestTakesWhatStandsBesideOddFiles(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	folder := d.workspace(t, "GH-1")
	for _, name := range []string{"pipe", "src/pipe"} {
		if err := syscall.Mkfifo(filepath.Join(folder, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".git/hooks/pre-commit", "link"} {
		if err := os.Symlink("README.md", filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(folder, "new"), "new")
	var names []string
	for _, c := range changes(t, d.receive(t, d.harvest(t, folder))) {
		names = append(names, c.Path)
	}
	if got := strings.Join(names, " "); got != "link new" {
		t.Errorf("taken: %s", got)
	}
}

// A commit needs few objects for many names. git would read all of them into its index: for
// ten million it takes minutes, and most of a gigabyte.
func TestAHarvestEndsBeforeItReadsTooManyNames(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		leaf  string // an entry of the innermost folder, or none
		depth int
	}{
		"ten million files":            {"100644 blob %s\tx\n", 7},
		"folders alone without an end": {"", 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDelivery(t)
			folder := d.workspace(t, "GH-1")
			made := func(text string, args ...string) string {
				out, err := plain(t, folder, text, args...)
				if err != nil {
					t.Fatal(out)
				}
				return out
			}
			blob := made("some\n", "hash-object", "-w", "--stdin")
			leaf := test.leaf
			if leaf != "" {
				leaf = fmt.Sprintf(leaf, blob)
			}
			tree := made(leaf, "mktree")
			for range test.depth {
				var entries strings.Builder
				for i := range 10 {
					fmt.Fprintf(&entries, "040000 tree %s\t%d\n", tree, i)
				}
				tree = made(entries.String(), "mktree")
			}
			made("", "update-ref", "HEAD", made("", "commit-tree", "-p", "HEAD", "-m", "many", tree))
			code, said := d.runHarvest(t, folder)
			if code != 3 || !strings.Contains(said, "the commit at HEAD has more than 1000000 files and folders: commit fewer") {
				t.Errorf("exit status %d: %s", code, said)
			}
		})
	}
}

// runHarvest runs the harvest and returns how it ended and what it said.
func (d *delivery) runHarvest(t testing.TB, folder string) (code int, said string) {
	t.Helper()
	c := d.host.Harvest(d.from.Start, t.TempDir(), WorkTree{})
	cmd := exec.CommandContext(t.Context(), c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = folder, append([]string{"PATH=" + os.Getenv("PATH")}, c.Env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), stderr.String()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, stderr.String()
}
