package workspace

import "fmt"

// A scratch folder is a second folder of an issue, beside its workspace, in which the host has
// the work tried that was taken out of the workspace. No agent ever works there: its files are
// made from commits and by hooks, so nothing that an agent left in its own folder has a part in
// the result. Its name begins with a dot, so it is no workspace.

// Scratch makes an empty scratch folder for a workspace that this process holds. A folder of an
// earlier run in its place is deleted. Fill, ReplaceGit, Seal and the hooks take the result in
// place of the workspace; a [Workspace] is found by no other method.
func (f *folders) Scratch(ws Workspace) (Workspace, error) {
	scratch := f.scratchFolder(ws)
	err := f.removeTree(scratch.Key)
	if err == nil {
		err = f.dir.Mkdir(scratch.Key, 0o700)
	}
	if err != nil {
		return Workspace{}, fmt.Errorf("make the scratch folder %s: %w", scratch.Path, err)
	}
	return scratch, nil
}

// RemoveScratch deletes the folder of Scratch. No process may run there.
func (f *folders) RemoveScratch(scratch Workspace) error {
	if !scratch.scratch {
		return fmt.Errorf("delete the scratch folder %s: it is a workspace", scratch.Path)
	}
	if err := f.removeTree(scratch.Key); err != nil {
		return fmt.Errorf("delete the scratch folder %s: %w; delete it by hand", scratch.Path, err)
	}
	return nil
}

func (f *folders) scratchFolder(ws Workspace) Workspace {
	scratch := f.workspace(ws.Issue)
	scratch.Key = ".scratch-" + scratch.Key
	scratch.Path = f.pathOf(scratch.Key)
	scratch.CreatedNow, scratch.scratch = true, true
	return scratch
}
