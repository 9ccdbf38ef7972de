package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

func TestRemoveDeletesReadOnlyFolders(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	ws := prepare(t, r)
	outside := t.TempDir()
	if err := os.MkdirAll(filepath.Join(ws.Path, "mod", "pkg", "shut"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(ws.Path, "mod", "pkg", "file"), "")
	if err := os.Symlink(outside, filepath.Join(ws.Path, "mod", "pkg", "link")); err != nil {
		t.Fatal(err)
	}
	for folder, mode := range map[string]os.FileMode{"mod/pkg/shut": 0, "mod/pkg": 0o500, "mod": 0o500, ".": 0o500} {
		defer os.Chmod(filepath.Join(ws.Path, folder), 0o700)
		if err := os.Chmod(filepath.Join(ws.Path, folder), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(outside, 0o500); err != nil {
		t.Fatal(err)
	}

	errs := make(chan [2]error)
	go func() {
		runtime.LockOSThread() // and never unlock: this thread has lost its privileges
		dropCapabilities(t)
		plain := r.dir.RemoveAll(ws.Key)
		_, removed := r.Remove(t.Context(), issue)
		errs <- [2]error{plain, removed}
	}()
	if got := <-errs; got[0] == nil || got[1] != nil {
		t.Errorf("plain removal: %v; Remove: %v", got[0], got[1])
	}
	if exists(ws.Path) {
		t.Error("the workspace is there")
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("the outside became %v, %v", info.Mode(), err)
	}
}

// dropCapabilities makes file permissions apply to this thread even if the test runs
// as root.
func dropCapabilities(t testing.TB) {
	header := struct {
		version uint32
		pid     int32
	}{version: 0x20080522}
	var none [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0); errno != 0 {
		t.Errorf("capset: %v", errno)
	}
}

// An agent can make .git read-only. A commondir that it left there is removed
// nevertheless; where that is impossible, no hook runs, because its git could obey it.
func TestNoHookRunsWhereGitMayObeyAnotherRepository(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		shut []string
		safe bool
	}{
		".git is shut":                    {[]string{".git"}, true},
		".git/commondir is a shut folder": {[]string{".git/commondir", ".git"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ran := filepath.Join(t.TempDir(), "ran")
			r := open(t, Hooks{BeforeRun: "touch " + ran})
			ws := prepare(t, r)
			if err := os.MkdirAll(filepath.Join(ws.Path, ".git", "commondir", "full"), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"HEAD", "config"} {
				write(t, filepath.Join(ws.Path, ".git", file), "")
			}
			for _, folder := range test.shut {
				path := filepath.Join(ws.Path, folder)
				defer os.Chmod(path, 0o700)
				if err := os.Chmod(path, 0o500); err != nil {
					t.Fatal(err)
				}
			}
			errs := make(chan [2]error)
			go func() {
				runtime.LockOSThread() // and never unlock: this thread has lost its privileges
				dropCapabilities(t)
				hook := r.BeforeRun(t.Context(), ws)
				_, seal := r.Seal(ws)
				errs <- [2]error{hook, seal}
			}()
			for _, err := range <-errs {
				if test.safe != (err == nil) || err != nil && !errors.Is(err, ErrUnsafe) {
					t.Errorf("safe %v, yet %v", test.safe, err)
				}
			}
			if exists(ran) != test.safe {
				t.Errorf("the hook ran: %v", exists(ran))
			}
		})
	}
}
