package attempt

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/workspace"
)

// rooms describes the rooms of a session: one for its agent, and one in each scratch folder.
type rooms struct {
	lookup  func(name string) (value string, ok bool) // Job.Lookup
	network codex.Network                             // hosts that the agent's commands reach
	kept    []string                                  // names of variables that no room sets, because codex.env passes them
}

func (r rooms) room(folder string, network codex.Network) room.Room {
	return room.Room{Dir: folder, Lookup: r.lookup, Network: len(network.Hosts) > 0}
}

// variables returns the variables of the room in a folder, by their names, for commands in a
// network; none without a folder. TMPDIR is not among them: see [room.Room.Make].
func (r rooms) variables(folder string, network codex.Network) map[string]string {
	set := map[string]string{}
	if folder == "" {
		return set
	}
	for _, v := range RoomVariables(r.room(folder, network), r.kept) {
		if v.Name != "TMPDIR" {
			set[v.Name] = v.Value
		}
	}
	return set
}

// assignments returns the same variables as assignments of a shell.
func (r rooms) assignments(folder string, network codex.Network) (env []string) {
	for name, value := range r.variables(folder, network) {
		env = append(env, name+"="+value)
	}
	return env
}

// RoomVariables returns the variables of the agent's commands in a room, with the reasons. kept
// names the variables of codex.env, which it leaves out.
func RoomVariables(r room.Room, kept []string) []room.Variable {
	return slices.DeleteFunc(r.Variables(), func(v room.Variable) bool { return slices.Contains(kept, v.Name) })
}

// place is a folder in which programs of the host run in the sandbox: a workspace or a scratch
// folder.
type place struct {
	workspace.Workspace
	room    string // the folder of the room that programs have there
	scratch bool
}

// scratchTemp is the room and the temporary folder of programs in a scratch folder, below its
// .git, where git does not see it. The agent, which may run beside the check, can write to the
// temporary folder of the session.
const scratchTemp = "symphony-tmp"

func scratchPlace(folder workspace.Workspace) place {
	return place{folder, filepath.Join(folder.Path, ".git", scratchTemp), true}
}

func (p place) home() string { return room.Room{Dir: p.room}.Home() }

// setupPlaces returns the paths that prepared files may name.
func (p place) setupPlaces() setup.Places { return setup.Places{Work: p.Path, Home: p.home()} }

// exec returns a program to run in the place. In a scratch folder it has a temporary folder of
// its own.
func (p place) exec(x codex.Exec) codex.Exec {
	if !p.scratch {
		return x
	}
	x.Dir, x.Env = p.Path, append(x.Env, codex.ForCheck)
	// Codex's own TMPDIR stays: it makes that read-only. git in the folder finds no repository
	// above it.
	x.Argv = append([]string{"env", "TMPDIR=" + p.room, "GIT_CEILING_DIRECTORIES=" + p.room}, x.Argv...)
	return x
}

func (r rooms) makeScratchRoom(p place, git *os.Root) error {
	if err := git.Mkdir(scratchTemp, 0o700); err != nil {
		return err
	}
	root, err := git.OpenRoot(scratchTemp)
	if err != nil {
		return err
	}
	defer root.Close()
	return r.room(p.room, r.network).Make(root, codex.ShellStart())
}
