package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fillGit writes the parts of a new .git that these tests check.
func fillGit(folder *os.Root) error {
	if err := folder.WriteFile("HEAD", []byte("new\n"), 0o644); err != nil {
		return err
	}
	return folder.WriteFile("config", nil, 0o644)
}

// Whatever an agent leaves in the place of .git, the workspace gets a new one, its other
// files stay, and nothing outside changes.
func TestAWorkspaceGetsANewGitInThePlaceOfAnything(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, git, outside string){
		"nothing":   func(t *testing.T, git, outside string) {},
		"a file":    func(t *testing.T, git, outside string) { write(t, git, "gitdir: "+outside) },
		"a link":    func(t *testing.T, git, outside string) { symlink(t, outside, git) },
		"no target": func(t *testing.T, git, outside string) { symlink(t, outside+"/missing", git) },
		"a pipe": func(t *testing.T, git, outside string) {
			if err := syscall.Mkfifo(git, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"links inside": func(t *testing.T, git, outside string) {
			mkdir(t, git)
			symlink(t, outside, filepath.Join(git, "objects"))
			symlink(t, filepath.Join(outside, "file"), filepath.Join(git, "HEAD"))
			symlink(t, filepath.Join(outside, "file"), filepath.Join(git, "FETCH_HEAD"))
			if err := os.Link(filepath.Join(outside, "file"), filepath.Join(git, "config")); err != nil {
				t.Fatal(err)
			}
		},
		"pipes inside": func(t *testing.T, git, outside string) {
			mkdir(t, git)
			for _, name := range []string{"HEAD", "config", "index.lock"} {
				if err := syscall.Mkfifo(filepath.Join(git, name), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
		"folders without permissions": func(t *testing.T, git, outside string) {
			mkdir(t, filepath.Join(git, "refs"))
			write(t, filepath.Join(git, "refs", "x"), "")
			for _, folder := range []string{filepath.Join(git, "refs"), git, filepath.Dir(git)} {
				if err := os.Chmod(folder, 0o500); err != nil {
					t.Fatal(err)
				}
			}
		},
		"very deep folders": func(t *testing.T, git, outside string) {
			mkdir(t, git)
			dir, err := os.OpenRoot(git)
			for range 3000 {
				if err == nil {
					err = dir.Mkdir("d", 0o700)
				}
				if err != nil {
					t.Fatal(err)
				}
				var next *os.Root
				next, err = dir.OpenRoot("d")
				dir.Close()
				dir = next
			}
			dir.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, Hooks{})
			ws := prepare(t, r)
			outside := t.TempDir()
			write(t, filepath.Join(outside, "file"), "outside")
			write(t, filepath.Join(ws.Path, "cache"), "cache")
			leave(t, filepath.Join(ws.Path, ".git"), outside)
			if err := r.ReplaceGit(ws, fillGit); err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(filepath.Join(ws.Path, ".git"))
			if err != nil || !info.IsDir() || info.Mode().Perm()&0o700 != 0o700 || read(t, filepath.Join(ws.Path, ".git", "HEAD")) != "new\n" {
				t.Errorf(".git is %v, %v", info, err)
			}
			if read(t, filepath.Join(ws.Path, "cache")) != "cache" {
				t.Error("another file of the workspace changed")
			}
			left, _ := filepath.Glob(filepath.Join(r.Path(), metadataDir, "*git*"))
			files, err := os.ReadDir(outside)
			if err != nil || len(files) != 1 || read(t, filepath.Join(outside, "file")) != "outside" || len(left) > 0 {
				t.Errorf("outside: %v, %v; left: %v", files, err, left)
			}
		})
	}
}

func TestAGitThatCannotBeMadeLeavesTheWorkspaceAsItWas(t *testing.T) {
	r := open(t, Hooks{})
	ws := prepare(t, r)
	mkdir(t, filepath.Join(ws.Path, ".git"))
	write(t, filepath.Join(ws.Path, ".git", "HEAD"), "old\n")
	full := errors.New("the disk is full")
	err := r.ReplaceGit(ws, func(folder *os.Root) error { return errors.Join(fillGit(folder), full) })
	if !errors.Is(err, full) || !strings.Contains(err.Error(), ws.Path) || read(t, filepath.Join(ws.Path, ".git", "HEAD")) != "old\n" {
		t.Errorf("error %v", err)
	}
	// A run that was killed at any step leaves one of these behind.
	mkdir(t, filepath.Join(r.Path(), oldGit(ws.Key)))
	mkdir(t, filepath.Join(r.Path(), newGit(ws.Key)))
	write(t, filepath.Join(r.Path(), newGit(ws.Key), "HEAD"), "half\n")
	if err := r.ReplaceGit(ws, fillGit); err != nil || read(t, filepath.Join(ws.Path, ".git", "HEAD")) != "new\n" {
		t.Errorf("the next one: %v", err)
	}
}

func TestAnotherFolderInThePlaceOfTheWorkspaceGetsNoGit(t *testing.T) {
	r := open(t, Hooks{})
	ws := prepare(t, r)
	outside := t.TempDir()
	if err := os.RemoveAll(ws.Path); err != nil {
		t.Fatal(err)
	}
	if err := r.ReplaceGit(ws, fillGit); err == nil {
		t.Error("a missing workspace got a .git")
	}
	symlink(t, outside, ws.Path)
	if err := r.ReplaceGit(ws, fillGit); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a link: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(outside, ".git")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder behind the link: %v", err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}
