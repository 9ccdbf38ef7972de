package workspace

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAHookDoesNotWaitForPipesThatAnAgentLeft(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := openWith(t, Config{Root: filepath.Join(t.TempDir(), "root"), Hooks: Hooks{
		// cat would wait for ever at each of them, and tail at the socket fail.
		AfterRun: "cat package.json deep/*/Makefile > read 2>&1; find . -type p -o -type s | sort >> read; true",
	}}, nil, slog.New(slog.NewTextHandler(&log, nil)))
	ws := prepare(t, r)
	outside := filepath.Join(t.TempDir(), "pipe")
	for _, path := range []string{filepath.Join(ws.Path, "package.json"), filepath.Join(ws.Path, "deep", "er", "Makefile"), outside} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.Listen("unix", filepath.Join(ws.Path, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(ws.Path, "link")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(ws.Path, "kept"), "x")
	if err := r.AfterRun(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(ws.Path, "read")); strings.Contains(got, "./") || !strings.Contains(got, "No such file") {
		t.Errorf("the hook saw %q", got)
	}
	if !exists(outside) || !exists(filepath.Join(ws.Path, "kept")) || !exists(filepath.Join(ws.Path, "link")) {
		t.Error("more was removed than the pipes and sockets of the workspace")
	}
	if !strings.Contains(log.String(), "files=3") {
		t.Errorf("the log does not say what was removed:\n%s", &log)
	}
}

func TestPipesInFoldersThatCannotBeReadAreFound(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("the superuser reads every folder")
	}
	folder := t.TempDir()
	for name, mode := range map[string]os.FileMode{"hidden": 0o111, "fixed": 0o555} {
		inner := filepath.Join(folder, name)
		if err := os.Mkdir(inner, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(inner, "pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(inner, mode); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	s := search{left: 10}
	if s.folder(dir, 0); s.err != nil || s.removed != 2 {
		t.Errorf("%d of 2 pipes removed: %v", s.removed, s.err)
	}
}

func TestTheSearchForPipesIsBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		left int
		make string
		want string
	}{
		"files":  {3, "a b c d", "it has too many files"},
		"enough": {5, "a b c d", ""},
	} {
		folder := t.TempDir()
		for _, file := range strings.Fields(test.make) {
			write(t, filepath.Join(folder, file), "")
		}
		dir, err := os.OpenRoot(folder)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		s := search{left: test.left}
		s.folder(dir, 0)
		got := ""
		if s.err != nil {
			got = s.err.Error()
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Mkdir("inner", 0o700); err != nil {
		t.Fatal(err)
	}
	s := search{left: 10}
	if s.folder(dir, maxDeep); s.err == nil {
		t.Error("a folder deeper than the bound is entered")
	}
}
