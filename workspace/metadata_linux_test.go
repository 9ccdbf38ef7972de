package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// startStray starts a process that looks like one that an earlier run left in the
// workspace. alive reports whether it was not killed.
func startStray(t *testing.T, ws Workspace) (alive func() bool) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{workspaceMark + ws.Path, sessionMark + "of-an-earlier-run"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return func() bool {
		// The search also reaps it, because it is our child.
		return syscall.Kill(cmd.Process.Pid, 0) == nil
	}
}

// metadataFiles returns the names of the files of metadata, sorted.
func metadataFiles(t *testing.T, r *Root) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(r.path, metadataDir))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

func TestAWorkspaceIsBusyWhileASessionRunsAndIdleAfterIt(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{BeforeRun: "ls ../.symphony > seen", BeforeRemove: "true"})
	ws := prepare(t, r)
	if diff := cmp.Diff([]string{"ABC-1.json", "ABC-1.lock"}, metadataFiles(t, r)); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	if err := r.BeforeRun(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(ws.Path, "seen")); got != "ABC-1.busy\nABC-1.lock\n" {
		t.Errorf("the hook saw %q", got)
	}
	p, _ := start(t, r, "cat")
	if diff := cmp.Diff([]string{"ABC-1.busy", "ABC-1.lock"}, metadataFiles(t, r)); diff != "" {
		t.Errorf("during the session (-want +got):\n%s", diff)
	}
	known, unknown, err := r.Issues()
	if err != nil || len(known) != 1 || known[0].ID != issue.ID || len(unknown) > 0 {
		t.Errorf("during the session the workspace is known as %v, unknown %v, %v", known, unknown, err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Release(ws)
	r.Release(ws) // the agent prepared it too
	if diff := cmp.Diff([]string{"ABC-1.json"}, metadataFiles(t, r)); diff != "" {
		t.Errorf("after the session (-want +got):\n%s", diff)
	}
	if _, err := r.Remove(t.Context(), issue); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), metadataFiles(t, r)); diff != "" {
		t.Errorf("after the removal (-want +got):\n%s", diff)
	}
}

func TestAnIdleWorkspaceIsNotSearchedForProcesses(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*Root) error{
		"Prepare": func(r *Root) error { _, err := r.Prepare(t.Context(), issue); return err },
		"Remove":  func(r *Root) error { _, err := r.Remove(t.Context(), issue); return err },
		"Reclaim": func(r *Root) error { return r.Reclaim(t.Context(), issue) },
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, Hooks{})
			p, _ := start(t, r, "cat")
			if err := p.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			alive := startStray(t, r.workspace(issue))
			if err := next(r); err != nil {
				t.Error(err)
			}
			if !alive() {
				t.Error("the processes of the whole machine were searched after a session that ended cleanly")
			}
		})
	}
}

func TestAWorkspaceThatMayNotBeIdleIsSearchedForProcesses(t *testing.T) {
	t.Parallel()
	record := func(r *Root) string { return filepath.Join(r.path, metadataDir, idleFile("ABC-1")) }
	for name, leave := range map[string]func(*Root, Workspace) error{
		"a killed session": func(r *Root, ws Workspace) error { _, err := r.markBusy(ws); return err },
		"no record":        func(r *Root, _ Workspace) error { return os.Remove(record(r)) },
		"a half-done removal": func(r *Root, ws Workspace) error {
			return r.markPartial(ws)
		},
		"a removal by hand": func(r *Root, ws Workspace) error {
			if _, err := r.markBusy(ws); err != nil {
				return err
			}
			return os.RemoveAll(ws.Path)
		},
		"a session after one that was not watched to its end": func(r *Root, ws Workspace) error {
			if _, err := r.markBusy(ws); err != nil {
				return err
			}
			return r.AfterRun(t.Context(), ws)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, Hooks{AfterRun: "true"})
			ws := prepare(t, r)
			if err := leave(r, ws); err != nil {
				t.Fatal(err)
			}
			alive := startStray(t, ws)
			if _, err := r.Prepare(t.Context(), issue); err != nil {
				t.Error(err)
			}
			if alive() {
				t.Error("a process of an earlier run is left")
			}
			if diff := cmp.Diff([]string{"ABC-1.json", "ABC-1.lock"}, metadataFiles(t, r)); diff != "" {
				t.Errorf("records after Prepare (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASessionThatDidNotStartLeavesTheWorkspaceIdle(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	ws := prepare(t, r)
	r.bash = filepath.Join(t.TempDir(), "none")
	if _, err := r.Start(t.Context(), ws, "true", nil); err == nil || !strings.Contains(err.Error(), "start bash") {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ABC-1.json", "ABC-1.lock"}, metadataFiles(t, r)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}
