//go:build unix && !linux

package workspace

import (
	"context"
	"os"
	"syscall"
)

// Without /proc and subreapers a session is its process group. The processes of a
// killed run end only if they react to the end of their input.

const limitProcesses = 7 // RLIMIT_NPROC of the BSDs and macOS, which package syscall does not name

// machineMemory returns 0: this system has no limit of memory that holds.
func machineMemory() uint64 { return 0 }

// HideFromChildren does nothing: other systems than Linux show the environment of a
// process to its own user, and have no call to prevent that.
func HideFromChildren() error { return nil }

// Programs returns nil: this system does not list the programs of a process.
func (p *Process) Programs() []string { return nil }

// Programs returns nil.
func Programs(int) []string { return nil }

func becomeSubreaper() error { return nil }

// ReapOrphans does nothing: orphans are not ours.
func ReapOrphans() {}

func isKernelFS(string) bool { return false }

func childDir(_ *os.File, path string) string { return path }

func (s *session) killRemaining() error {
	syscall.Kill(-s.leader, syscall.SIGKILL)
	return nil
}

func (r *Root) killLeftovers(context.Context, Workspace) error { return nil }
