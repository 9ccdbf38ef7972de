package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAHookDoesNotWaitForPipesThatAnAgentLeft(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := openWith(t, Config{Root: filepath.Join(t.TempDir(), "root"), Hooks: Hooks{
		// cat would wait forever at each pipe.
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
	r := open(t, Hooks{AfterRun: "find . -type p > found"})
	ws := prepare(t, r)
	for name, mode := range map[string]os.FileMode{"hidden": 0o111, "fixed": 0o555} {
		inner := filepath.Join(ws.Path, name)
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
	if err := r.AfterRun(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	if found := read(t, filepath.Join(ws.Path, "found")); found != "" {
		t.Errorf("the hook finds %s", found)
	}
}

// A reflog that is a symbolic link would make the git of a hook write outside the
// workspace.
func TestLinksInGitAreRemovedBeforeAHook(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	r := open(t, Hooks{
		AfterCreate: "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one",
		AfterRun:    "git update-ref refs/remotes/origin/x HEAD; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two; git log --oneline | wc -l > commits",
	})
	ws := prepare(t, r)
	for _, name := range []string{"logs", "refs/remotes"} {
		path := filepath.Join(ws.Path, ".git", name)
		if err := errors.Join(os.RemoveAll(path), os.Symlink(outside, path)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(ws.Path, "link")); err != nil {
		t.Fatal(err)
	}
	if err := r.AfterRun(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("git wrote outside: %v, %v", left, err)
	}
	if got := strings.TrimSpace(read(t, filepath.Join(ws.Path, "commits"))); got != "2" || !exists(filepath.Join(ws.Path, "link")) {
		t.Errorf("the repository has %s commits, and the link of the work stays: %v", got, exists(filepath.Join(ws.Path, "link")))
	}
}

// makeNested makes folders nested levels deep.
func makeNested(t *testing.T, folder string, levels int) {
	t.Helper()
	at, err := os.OpenRoot(folder)
	for range levels {
		if err != nil {
			t.Fatal(err)
		}
		outer := at
		if err = outer.Mkdir("a", 0o700); err == nil {
			at, err = outer.OpenRoot("a")
		}
		outer.Close()
	}
	at.Close()
}

func TestAWorkspaceOfVeryDeepFoldersIsDeleted(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{BeforeRemove: "true"})
	ws := prepare(t, r)
	makeNested(t, ws.Path, 3000)
	if _, err := r.Fingerprint(t.Context(), ws); err != nil {
		t.Error(err)
	}
	if _, err := r.Remove(t.Context(), issue); err != nil {
		t.Error(err)
	}
	if exists(ws.Path) {
		t.Error("it is still there")
	}
}

// RemoveAll keeps a file open for each level, and the program may open only a limited
// number of files.
func TestFoldersAreFlattenedBeforeADeletion(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	ws := prepare(t, r)
	makeNested(t, ws.Path, 500)
	r.flatten(ws.Key)
	deepest := 0
	err := filepath.WalkDir(ws.Path, func(path string, _ os.DirEntry, err error) error {
		deepest = max(deepest, strings.Count(strings.TrimPrefix(path, ws.Path), "/"))
		return err
	})
	if err != nil || deepest > maxDepth+1 {
		t.Errorf("folders are %d levels deep: %v", deepest, err)
	}
}

func TestTheSearchForPipesIsBounded(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, file := range []string{"a", "b", "c", "d"} {
		write(t, filepath.Join(folder, file), "")
	}
	dir, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for left, want := range map[int]string{3: "it has too many files", 5: "<nil>"} {
		w := walk{budget: left}
		w.walkFolder(dir, "", 0)
		if got := fmt.Sprint(w.err); got != want {
			t.Errorf("after %d entries: %s, want %s", left, got, want)
		}
	}
	if err := os.Remove(filepath.Join(folder, "a")); err != nil {
		t.Fatal(err)
	}
	makeNested(t, folder, maxDepth+1)
	w := walk{budget: 1000}
	if w.walkFolder(dir, "", 0); fmt.Sprint(w.err) != "it is too deep" {
		t.Errorf("a folder deeper than the bound: %v", w.err)
	}
}
