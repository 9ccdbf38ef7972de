package attempt

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/workspace"
)

func TestAProgramInAScratchFolderHasATemporaryFolderOfItsOwn(t *testing.T) {
	t.Parallel()
	program := codex.Exec{Argv: []string{"make"}}
	here := place{Workspace: workspace.Workspace{Path: "/w/A-1"}, room: "/s/tmp/A-1"}
	if got := here.exec(program); got.Dir != "" || len(got.Argv) != 1 {
		t.Errorf("in the workspace: %+v", got)
	}
	scratch := scratchPlace(workspace.Workspace{Path: "/w/scratch"})
	const room = "/w/scratch/.git/symphony-tmp"
	got := scratch.exec(program)
	if diff := cmp.Diff([]string{"env", "TMPDIR=" + room, "GIT_CEILING_DIRECTORIES=" + room, "make"}, got.Argv); diff != "" || got.Dir != "/w/scratch" {
		t.Errorf("in %s (-want +got):\n%s", got.Dir, diff)
	}
	if got, want := scratch.setupPlaces(), (setup.Places{Work: "/w/scratch", Home: room + "/home"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestVariablesThatTheAgentMayHaveAreNotSetByARoom(t *testing.T) {
	t.Parallel()
	r := rooms{kept: []string{"GOFLAGS"}}
	if got := r.variables("", codex.Network{}); len(got) > 0 {
		t.Errorf("without a folder: %v", got)
	}
	got := r.variables("/room", codex.Network{})
	_, kept := got["GOFLAGS"]
	if _, temp := got["TMPDIR"]; kept || temp || got["HOME"] != "/room/home" || len(r.assignments("/room", codex.Network{})) != len(got) {
		t.Errorf("%v", got)
	}
}
