package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// oddOrigin makes a repository with whatever a work tree can hold, and with attributes
// that ask for a conversion, and returns its path.
func (m *machine) oddOrigin(t testing.TB) string {
	t.Helper()
	origin := m.path("odd.git")
	git(t, m.dir, "init", "-q", "--bare", "-b", "main", "--template=", origin)
	history := "commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 5\nfirst\n" +
		"M 160000 1111111111111111111111111111111111111111 sub\n"
	for _, file := range [][3]string{
		{"100644", ".gitattributes", "*.txt filter=evil\n*.bat text eol=crlf\n"},
		{"100644", "a.txt", "a\n"}, {"100644", "run.bat", "echo\n"}, {"100755", "bin/run", "#!\n"},
		{"120000", "bin/out", "../../../etc"}, {"120000", "gone", "nowhere"},
		{"100644", ".codex/config.toml", ""}, {"100644", "\"with \\303\\251\\n\"", "x"},
	} {
		history += fmt.Sprintf("M %s inline %s\ndata %d\n%s\n", file[0], file[1], len(file[2]), file[2])
	}
	if out, err := plain(t, origin, history, "fast-import", "--quiet"); err != nil {
		t.Fatal(out)
	}
	return origin
}

// checkOut gives an issue a workspace that the host fills, and returns its folder.
func checkOut(t testing.TB, m *machine, s *Store, c Checkout) string {
	t.Helper()
	folder := filepath.Join(m.workspaces, "host")
	if err := os.MkdirAll(filepath.Join(folder, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	into, err1 := os.OpenRoot(folder)
	dotGit, err2 := os.OpenRoot(filepath.Join(folder, ".git"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	defer dotGit.Close()
	files, err := s.CheckOut(t.Context(), c)
	if err == nil {
		err = errors.Join(s.Populate(t.Context(), dotGit, c), files.CopyIndex(t.Context(), dotGit), files.CopyTo(t.Context(), into), files.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// workTree describes the files of a work tree, apart from .git.
func workTree(t testing.TB, folder string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil || path == folder {
			return err
		}
		name, _ := filepath.Rel(folder, path)
		switch info.Mode().Type() {
		case fs.ModeDir:
			list[name] = info.Mode().String()
		case fs.ModeSymlink:
			target, err := os.Readlink(path)
			list[name] = "-> " + target
			return err
		default:
			list[name] = fmt.Sprintf("%v %q", info.Mode(), read(t, path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestTheHostChecksOutWhatTheSandboxWould(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.store(t, remoteAt(t, m.oddOrigin(t)))
	f := fetch(t, s, ours)
	want := populate(t, m, s, f, "GH-1")
	got := checkOut(t, m, s, Checkout{Base: f.Base, BaseHead: f.Head, Branch: branch(t, "symphony/GH-1"), Head: f.Head, User: person})
	if diff := cmp.Diff(workTree(t, want), workTree(t, got)); diff != "" {
		t.Errorf("files (-in the sandbox +by the host):\n%s", diff)
	}
	if !strings.Contains(fmt.Sprint(workTree(t, got)), `echo\r\n`) {
		t.Error("the attributes have no effect")
	}
	for _, command := range []string{"status --porcelain", "ls-files --stage", "for-each-ref", "symbolic-ref HEAD", "fsck --strict --no-dangling"} {
		a, b := git(t, want, strings.Fields(command)...), git(t, got, strings.Fields(command)...)
		if a != b || command == "status --porcelain" && b != "" {
			t.Errorf("git %s says %q by the host, %q in the sandbox", command, b, a)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(s.dir, incomingName)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestTheHostChecksOutAPartOfTheRepository(t *testing.T) {
	t.Parallel()
	d := newSparse(t)
	folder := checkOut(t, d.machine, d.store, d.sparseCheckout(t))
	if got := filesIn(t, folder); got != sparseFiles {
		t.Errorf("the files are %s", got)
	}
	if got := git(t, folder, "status", "--porcelain"); got != "" {
		t.Errorf("the agent begins with changes:\n%s", got)
	}
}

// A naive host has a configuration in which an attribute of the repository finds a
// program, and a hook.
func TestNoProgramRunsWhenTheHostChecksOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	mark := m.path("mark")
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.path("home")}
	write(t, m.path("home/.gitconfig"), "[core]\n\thooksPath = "+m.path("hooks")+"\n[filter \"evil\"]\n\tsmudge = touch "+mark+"; cat\n\trequired = true\n")
	write(t, m.path("hooks/post-checkout"), "#!/bin/sh\ntouch "+mark+"-of-the-hook\n")
	if err := os.Chmod(m.path("hooks/post-checkout"), 0o755); err != nil {
		t.Fatal(err)
	}
	origin := m.oddOrigin(t)
	naive := exec.CommandContext(t.Context(), "git", "clone", "-q", origin, m.path("naive"))
	naive.Env = env
	if out, err := naive.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{mark, mark + "-of-the-hook"} {
		if err := os.Remove(name); err != nil {
			t.Errorf("the attack fails without the guard: %v", err)
		}
	}
	cfg := m.config()
	cfg.Env = env
	var err error
	if m.host, err = Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	s := m.store(t, remoteAt(t, origin))
	f := fetch(t, s, ours)
	checkOut(t, m, s, Checkout{Base: f.Base, BaseHead: f.Head, Branch: branch(t, "symphony/GH-1"), Head: f.Head, User: person})
	if exists(mark) || exists(mark+"-of-the-hook") {
		t.Error("a program has run")
	}
}

func TestACommitThatTheStoreLacksIsNotCheckedOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.store(t, remoteAt(t, m.origin(t)))
	f := fetch(t, s, ours)
	_, err := s.CheckOut(t.Context(), Checkout{Base: f.Base, BaseHead: f.Head, Branch: branch(t, "symphony/GH-1"), Head: ObjectID{1}, User: person})
	if !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "it does not have this commit; fetch first") {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(s.dir, incomingName)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Files are copied past nothing that is in their place.
func TestFilesAreCopiedOverNothing(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(folder, outside string) error{
		"a link in the place of a folder": func(folder, outside string) error { return os.Symlink(outside, filepath.Join(folder, "src")) },
		"a link in the place of a file": func(folder, outside string) error {
			return os.Symlink(filepath.Join(outside, "x"), filepath.Join(folder, "README.md"))
		},
		"a named pipe": func(folder, _ string) error { return syscall.Mkfifo(filepath.Join(folder, "README.md"), 0o600) },
		"a file":       func(folder, _ string) error { return os.WriteFile(filepath.Join(folder, "README.md"), nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			s := m.store(t, remoteAt(t, m.origin(t)))
			f := fetch(t, s, ours)
			files, err := s.CheckOut(t.Context(), Checkout{Base: f.Base, BaseHead: f.Head, Branch: branch(t, "symphony/GH-1"), Head: f.Head, User: person})
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			folder, outside := t.TempDir(), t.TempDir()
			into, err := os.OpenRoot(folder)
			if err == nil {
				err = plant(folder, outside)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer into.Close()
			if err := files.CopyTo(t.Context(), into); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%v", err)
			}
			if left, _ := os.ReadDir(outside); len(left) > 0 {
				t.Errorf("outside: %v", left)
			}
		})
	}
}
