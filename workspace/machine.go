package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

const (
	// minFree is the room in bytes, and minFiles the number of files, that a folder must have
	// left. A session needs more than that for a checkout and its commands.
	minFree, minFiles = 256 << 20, 1000
	// testFile is the size of the file that a test writes: a quota shows in no other way.
	testFile = 1 << 20
	// spareFiles is the number of files that a session of its own opens at once, and more.
	spareFiles = 64
	// startTime bounds the start of a process that does nothing.
	startTime = 20 * time.Second
	// maxSaid bounds the error output of a shell, in runes.
	maxSaid = 200
)

// CheckMachine returns an error if sessions cannot work on this machine: if a folder cannot be
// made or written or has no room left, if no file can be opened, or no process started. It
// leaves nothing in the folders, which it makes if they are missing. The error is [ErrMachine],
// with a remedy.
func CheckMachine(ctx context.Context, env Env, folders ...string) error {
	for _, folder := range folders {
		if folder == "" {
			continue
		}
		if err := checkRoom(folder); err != nil {
			return fmt.Errorf("folder %s: %w: %w", folder, ErrMachine, err)
		}
	}
	if err := checkFiles(); err != nil {
		return fmt.Errorf("open files: %w: %w: end what holds them, or raise the limit (ulimit -n)", ErrMachine, err)
	}
	if err := checkProcesses(ctx, env); err != nil {
		return fmt.Errorf("start a process: %w: %w: end other processes, or raise the limit (ulimit -u)", ErrMachine, err)
	}
	return nil
}

func checkRoom(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return roomError(err)
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(folder, &disk); err == nil {
		if free := uint64(disk.Bavail) * uint64(disk.Bsize); disk.Blocks > 0 && free < minFree {
			return fmt.Errorf("its disk has %d MB left: make room there, at least %d MB", free>>20, minFree>>20)
		}
		if disk.Files > 0 && disk.Ffree < minFiles {
			return fmt.Errorf("its disk can take %d more files: remove some there", disk.Ffree)
		}
	}
	f, err := os.CreateTemp(folder, ".room-")
	if err != nil {
		return roomError(err)
	}
	_, err = f.Write(make([]byte, testFile))
	return roomError(errors.Join(err, f.Close(), os.Remove(f.Name())))
}

func roomError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: make room there", err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: mount it so that it can be written, or name another folder", err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w: end what holds files open, or raise the limit (ulimit -n)", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: let the user that runs symphony write there", err)
	}
	return err
}

// checkFiles returns an error if this process cannot open as many files as a session does.
func checkFiles() error {
	var open []*os.File
	defer func() {
		for _, f := range open {
			f.Close()
		}
	}()
	for range spareFiles {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		open = append(open, f)
	}
	return nil
}

// checkProcesses returns an error if no shell can be started that starts a process itself.
func checkProcesses(ctx context.Context, env Env) error {
	bash, err := findBash(env.get("PATH"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("it takes longer than %v", startTime))
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-c", "(:) && (:)")
	cmd.Env = env.forChild(nil)
	said, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, text.OneLine(string(said), maxSaid))
	}
	return errors.Join(err, context.Cause(ctx))
}
