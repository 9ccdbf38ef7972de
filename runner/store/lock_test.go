package store

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestTheErrorOfASecondRunNamesTheHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	began := time.Now().Truncate(time.Second)
	first := start(t, "holder", path)
	first.line(t) // it has it open

	_, err := OpenFile(path)
	var locked *LockedError
	if !errors.As(err, &locked) || !errors.Is(err, ErrLocked) {
		t.Fatalf("got %v, want a LockedError", err)
	}
	host, hostErr := os.Hostname()
	if hostErr != nil {
		t.Fatal(hostErr)
	}
	if locked.Path != path || locked.PID != first.cmd.Process.Pid || locked.Host != host ||
		locked.Started.Before(began) || locked.Command != os.Args[0] {
		t.Errorf("it names %+v", locked)
	}

	if says := fmt.Sprintf("process %d on %s since ", locked.PID, host); !strings.Contains(err.Error(), says) {
		t.Errorf("%q is missing in: %v", says, err)
	}

	first.finish(t)
	mustOpen(t, path)
}

func TestTheLockFileOfAKilledRunIsNoLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	first := start(t, "holder", path)
	first.line(t)
	first.kill(t)
	if left, err := os.ReadFile(path + ".lock"); err != nil || len(left) == 0 {
		t.Fatalf("the killed run left %q, %v", left, err)
	}
	mustOpen(t, path)
}

func TestAStateIsOpenOnceInAProcessToo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	first := mustOpen(t, path)
	if _, err := OpenFile(path); !errors.Is(err, ErrLocked) {
		t.Fatalf("got %v, want locked", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadFile(path + ".lock"); err != nil || len(left) > 0 {
		t.Errorf("a closed lock still names %q, %v", left, err)
	}
	mustOpen(t, path)
}

func TestAnEmptyLockFileStillLocks(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "cut off": `{"pid":12,"ho`, "not ours": "\x1b[2Jname: ci\n", "long": strings.Repeat("x", 2*maxHolderBytes),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.json")
			mustOpen(t, path)
			if err := os.WriteFile(path+".lock", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := OpenFile(path)
			if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "another run has it open") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTheLockFileSaysWhoHoldsItNow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(path+".lock", []byte(strings.Repeat("left by an earlier run ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path)
	_, err := OpenFile(path)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("got %v", err)
	}
}

func TestALockFileCannotWriteToTheTerminal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	mustOpen(t, path)
	text := `{"pid": 1, "host": "a\u001b[2J", "command": "b\n::error::c"}`
	if err := os.WriteFile(path+".lock", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenFile(path)
	if !errors.Is(err, ErrLocked) || strings.ContainsAny(err.Error(), "\x1b\n") || !strings.Contains(err.Error(), "process 1 on a") {
		t.Errorf("got %q", err)
	}
}

func TestALockThatCannotBeTakenIsNoLockedState(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.Symlink("elsewhere", path+".lock"); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(path); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
}

func TestTheLockOfAKilledRunIsWaitedFor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := flock(f, syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	fmt.Fprintf(f, `{"pid": %d, "host": %q}`, dead.Process.Pid, host)
	released := make(chan struct{})
	time.AfterFunc(killedRunGrace/20, func() {
		defer close(released)
		flock(f, syscall.LOCK_UN)
	})
	opened, err := OpenFile(path)
	<-released
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
}

func TestALongCommandOfTheHolderHidesNoRemedy(t *testing.T) {
	t.Parallel()
	err := &LockedError{Path: "/home/me/project/.symphony/state.json", Holder: Holder{PID: 1 << 22, Host: "runner", Started: time.Now(), Command: strings.Repeat("word ", 100)}}
	if text := err.Error(); len(text) > 240 || !strings.HasSuffix(text, ": wait until it ends, or stop it") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}
