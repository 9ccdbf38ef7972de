package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestTheMachineIsTestedWithoutLeavingAnything(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "not", "there")
	env := Env{Parent: os.Environ()}
	if err := CheckMachine(t.Context(), env, folder, ""); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckMachine(t.Context(), env, filepath.Join(file, "below")); !errors.Is(err, ErrMachine) {
		t.Errorf("a folder that cannot be made: %v", err)
	}
	if err := CheckMachine(t.Context(), Env{Parent: []string{"PATH=" + folder}}); !errors.Is(err, ErrMachine) || !strings.Contains(err.Error(), "start a process") {
		t.Errorf("no process can be started: %v", err)
	}
}

func TestWhatToDoAboutAFullDiskFitsItsCause(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]string{
		syscall.ENOSPC: "make room there", syscall.EDQUOT: "make room there", syscall.EROFS: "mount it",
		syscall.EMFILE: "ulimit -n", syscall.ENFILE: "ulimit -n", syscall.EACCES: "let the user that runs symphony write there",
	} {
		if err := roomError(&os.PathError{Op: "open", Path: "/w", Err: cause}); !strings.Contains(err.Error(), want) || !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
	}
}
