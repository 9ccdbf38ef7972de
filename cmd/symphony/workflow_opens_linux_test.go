package main

import (
	"encoding/binary"
	"path/filepath"
	"syscall"
	"testing"
)

// A run with sessions reads it again at every pass, as SPEC §6.2 asks.
func TestAPlanOpensTheWorkflowOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t, "codex app-server", map[string]string{"A-1": "---\ntitle: A title\nstate: Todo\n---\n"})
	watch, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	defer syscall.Close(watch)
	// Closes keep the opens apart, which are else reported as one.
	if _, err := syscall.InotifyAddWatch(watch, filepath.Join(p.dir, "WORKFLOW.md"), syscall.IN_OPEN|syscall.IN_CLOSE_NOWRITE); err != nil {
		t.Fatal(err)
	}
	p.ok("--once", "--dry-run")
	events := make([]byte, 64<<10)
	n, err := syscall.Read(watch, events)
	if err != nil {
		t.Fatal(err)
	}
	opens := 0
	for at := 0; at+syscall.SizeofInotifyEvent <= n; {
		mask, length := binary.NativeEndian.Uint32(events[at+4:]), binary.NativeEndian.Uint32(events[at+12:])
		if mask&syscall.IN_OPEN != 0 {
			opens++
		}
		at += syscall.SizeofInotifyEvent + int(length)
	}
	if opens != 1 {
		t.Errorf("WORKFLOW.md was opened %d times", opens)
	}
}
