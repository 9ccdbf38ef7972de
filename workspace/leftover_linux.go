package workspace

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"syscall"
)

// killLeftovers kills the processes that an earlier, killed run left in a
// workspace: those of our user whose environment names it, and what they
// started. The caller holds the issue's claim, so no such process is wanted.
func (r *Root) killLeftovers(ctx context.Context, ws Workspace) error {
	mark := []byte("\x00" + workspaceMark + ws.Path + "\x00")
	uid := uint32(os.Geteuid())
	found := 0
	err := killAll(r.Grace.Kill, ws, func(p proc) bool {
		var owner syscall.Stat_t
		if syscall.Stat(procFile(p.pid, "environ"), &owner) != nil || owner.Uid != uid || !bytes.Contains(environ(p.pid), mark) {
			return false
		}
		found++
		return true
	})
	if err != nil {
		return fmt.Errorf("workspace %s: %w: %w", ws.Path, ErrBusy, err)
	}
	if found > 0 {
		r.issueLog(ws).WarnContext(ctx, "processes of an earlier run killed", "path", ws.Path, "processes", found)
	}
	return nil
}
