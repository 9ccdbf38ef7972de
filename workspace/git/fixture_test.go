package git

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// machine is a folder with a host, and what stands around it.
type machine struct {
	dir        string // holds everything
	workspaces string
	host       *Host
	log        *bytes.Buffer
}

// newMachine opens a host in a temporary folder. Without git the test is skipped.
func newMachine(t testing.TB) *machine {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{dir: dir, workspaces: filepath.Join(dir, "workspaces"), log: &bytes.Buffer{}}
	if err := os.Mkdir(m.workspaces, 0o700); err != nil {
		t.Fatal(err)
	}
	m.host, err = Open(t.Context(), m.config())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) config() Config {
	return Config{
		Dir: filepath.Join(m.dir, "stores"), Workspaces: m.workspaces,
		Env: []string{"PATH=" + os.Getenv("PATH")}, Log: slog.New(slog.NewTextHandler(m.log, nil)),
	}
}

// path returns a path below the machine's folder.
func (m *machine) path(names ...string) string {
	return filepath.Join(append([]string{m.dir}, names...)...)
}

// store opens the store of a remote until the end of the test.
func (m *machine) store(t testing.TB, remote Remote) *Store {
	t.Helper()
	s, err := m.host.Store(t.Context(), remote)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// plain runs git as a naive host does: in that folder, with its configuration. It
// returns what git printed to both streams.
func plain(t testing.TB, dir, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false", // nothing runs on after the test
		"GIT_AUTHOR_NAME=Agent", "GIT_AUTHOR_EMAIL=agent@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Agent", "GIT_COMMITTER_EMAIL=agent@example.com", "GIT_COMMITTER_DATE=1700000000 +0000",
	}
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

// git is plain for a command that has to succeed.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := plain(t, dir, "", args...)
	if err != nil {
		t.Fatalf("git %v in %s: %v\n%s", args, dir, err, out)
	}
	return out
}

// origin makes a bare repository with one commit on main, and returns its path.
func (m *machine) origin(t testing.TB) string {
	t.Helper()
	const history = "commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 5\nfirst\n" +
		"M 100644 inline README.md\ndata 6\nhello\nM 100644 inline src/main.go\ndata 13\npackage main\n"
	return m.imported(t, history)
}

// imported makes a bare repository with a history, and returns its path.
func (m *machine) imported(t testing.TB, history string) string {
	t.Helper()
	origin := m.path("origin.git")
	git(t, m.dir, "init", "-q", "--bare", "-b", "main", "--template=", origin)
	if out, err := plain(t, origin, history, "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet"); err != nil {
		t.Fatal(out)
	}
	return origin
}

// remoteAt returns the remote at a path.
func remoteAt(t testing.TB, path string) Remote {
	t.Helper()
	r, err := ParseRemote(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func id(t testing.TB, s string) ObjectID {
	t.Helper()
	id, err := ParseObjectID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func branch(t testing.TB, name string) Branch {
	t.Helper()
	b, err := ParseBranch(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// write writes a file and the folders above it.
func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// inode returns what identifies a file on its file system.
func inode(t testing.TB, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(info.Sys().(*syscall.Stat_t).Ino)
}
