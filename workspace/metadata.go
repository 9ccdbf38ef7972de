package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/symphony-runner/symphony/internal/text"
)

// metadataDir is a folder beside the workspaces. It holds one file for each
// workspace, whose content is the issue and whose name is the state:
//
//	<key>.partial   the workspace is being created or deleted
//	<key>.busy      a session runs in the workspace
//	<key>.json      the workspace is complete and no process runs in it
//
// Further files, <key>.note and <key>.files, hold what [Root.SaveNote] and [Root.SaveFiles]
// were given, and the folder <key>.work what [Root.SaveWork] was given. The file <key>.lock is
// there while a process works in the workspace; see [Root.Begin].
//
// A state changes by a rename, so a run that is killed leaves the state that tells
// the next run what to do: a partial workspace is deleted, and a busy one is
// searched for the processes of the killed run. An idle one is not searched, which
// saves reading /proc for every process of the machine.
//
// No sandboxed agent can write to the folder. What is read there is bounded and never waited
// for, and no link leads out of it. A link to another file in it is followed: only a program
// that could write that file itself can make one.
//
// The folder stays open, because each session uses about ten of its files.
const metadataDir = ".symphony"

// maxRecordSize bounds what is read of a metadata file, in bytes.
const maxRecordSize = 4 << 10

func partialFile(key string) string { return key + ".partial" }
func busyFile(key string) string    { return key + ".busy" }
func idleFile(key string) string    { return key + ".json" }
func noteFile(key string) string    { return key + ".note" }
func filesFile(key string) string   { return key + ".files" }
func lockFile(key string) string    { return key + ".lock" }

// issueRecord is the content of a metadata file. The agent may have written it, so
// it is checked as input and never used as a path.
type issueRecord struct {
	ID         string `json:"id"`
	Identifier string `json:"identifier"`
	Project    string `json:"project,omitempty"` // see Config.Project
}

// recordOf returns the record of an issue of our project.
func (r *Root) recordOf(issue Issue) issueRecord {
	return issueRecord{issue.ID, issue.Identifier, r.cfg.Project}
}

// isForeign reports whether a record is that of another project. An older version of this
// program recorded no project.
func (r *Root) isForeign(rec issueRecord) bool {
	return rec.Project != "" && r.cfg.Project != "" && rec.Project != r.cfg.Project
}

// owner returns the other owner of a workspace; empty if there is none, or no record of one.
func (r *Root) owner(ws Workspace) string {
	switch rec, err := r.readRecord(ws.Key); {
	case err != nil || Key(rec.Identifier) != ws.Key:
		return ""
	case r.isForeign(rec):
		return text.OneLine(rec.Project, maxOwner)
	case rec.ID != ws.Issue.ID:
		return "an issue with the id " + text.OneLine(rec.ID, maxOwner)
	}
	return ""
}

// maxOwner bounds the owner of a workspace in an error, in runes.
const maxOwner = 100

// takeOver returns [ErrForeign] for the folder of another project's issue. Of a folder that is
// gone it removes the other record.
func (r *Root) takeOver(ws Workspace, exists bool) error {
	owner := r.owner(ws)
	if owner == "" {
		return nil
	}
	if !exists {
		var errs []error
		for _, name := range []string{idleFile(ws.Key), busyFile(ws.Key)} {
			if err := r.metadata.Load().Remove(name); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errors.Join(errs...), r.clearPartial(ws))
	}
	return fmt.Errorf("workspace %s: %w: it belongs to %s: give each project a workspace.root of its own, or remove the folder if nobody needs it",
		ws.Path, ErrForeign, owner)
}

// Issues returns the issues of our project whose workspaces exist, and the keys of the
// workspaces without a valid record of their issue.
func (r *Root) Issues() (known []Issue, unknown []string, err error) {
	keys, err := r.Keys()
	if err != nil {
		return nil, nil, err
	}
	for _, key := range keys {
		switch o, err := r.readRecord(key); {
		case err != nil || Key(o.Identifier) != key || o.ID == "":
			unknown = append(unknown, key)
		case !r.isForeign(o):
			known = append(known, Issue{ID: o.ID, Identifier: o.Identifier})
		}
	}
	return known, unknown, nil
}

// ensureRecord writes which issue the workspace belongs to unless that is recorded
// already. The key alone does not reveal the tracker's id.
func (r *Root) ensureRecord(ws Workspace) error {
	if o, err := r.readRecord(ws.Key); err == nil && o == r.recordOf(ws.Issue) {
		return nil
	}
	if err := r.writeRecord(idleFile(ws.Key), ws); err != nil {
		return fmt.Errorf("record the issue of workspace %s: %w", ws.Path, err)
	}
	return nil
}

// openMetadata opens the folder of metadata, and makes it if it is missing.
func (r *Root) openMetadata() error {
	if err := r.dir.Mkdir(metadataDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := r.dir.OpenRoot(metadataDir)
	if err == nil {
		r.metadata.Store(dir) // one that was removed is closed when nobody uses it any more
	}
	return err
}

// writeRecord writes a metadata file. If somebody has removed the folder of metadata, it
// makes a new one.
func (r *Root) writeRecord(name string, ws Workspace) error {
	text, err := json.Marshal(r.recordOf(ws.Issue))
	if err != nil {
		return err
	}
	err = r.metadata.Load().WriteFile(name, text, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = r.openMetadata(); err == nil {
			err = r.metadata.Load().WriteFile(name, text, 0o600)
		}
	}
	return err
}

// readRecord reads the metadata file of a workspace in any state.
func (r *Root) readRecord(key string) (o issueRecord, err error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	var f *os.File
	for _, name := range []string{idleFile(key), busyFile(key), partialFile(key)} {
		if f, err = r.metadata.Load().OpenFile(name, flags, 0); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return issueRecord{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecordSize))
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}

// exists reports whether the workspace has the named metadata file.
func (r *Root) exists(ws Workspace, name string) (bool, error) {
	switch _, err := r.metadata.Load().Lstat(name); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, fmt.Errorf("workspace %s: %w", ws.Path, err)
	}
}

// markPartial records that the workspace is being created or deleted.
func (r *Root) markPartial(ws Workspace) error {
	err := r.metadata.Load().Rename(idleFile(ws.Key), partialFile(ws.Key))
	if errors.Is(err, fs.ErrNotExist) {
		err = r.metadata.Load().Rename(busyFile(ws.Key), partialFile(ws.Key))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = r.writeRecord(partialFile(ws.Key), ws)
	}
	if err != nil {
		return fmt.Errorf("mark workspace %s as unfinished: %w", ws.Path, err)
	}
	return nil
}

// markComplete records that the workspace was created and is idle.
func (r *Root) markComplete(ws Workspace) error {
	if err := r.metadata.Load().Rename(partialFile(ws.Key), idleFile(ws.Key)); err != nil {
		return fmt.Errorf("mark workspace %s as finished: %w", ws.Path, err)
	}
	return nil
}

// clearPartial removes the metadata of a workspace that no longer exists.
func (r *Root) clearPartial(ws Workspace) error {
	for _, name := range []string{noteFile(ws.Key), filesFile(ws.Key), workFolder(ws.Key), newWork(ws.Key), partialFile(ws.Key)} {
		if err := r.metadata.Load().RemoveAll(name); err != nil {
			return fmt.Errorf("mark workspace %s as gone: %w", ws.Path, err)
		}
	}
	return nil
}

// SaveNote keeps a short text with a workspace, for the next run, where its agent does
// not see it. An empty text removes the note.
func (r *Root) SaveNote(ws Workspace, text string) error {
	return r.saveText(ws, noteFile(ws.Key), text)
}

// Note returns the note of a workspace; empty when it has none that can be read.
func (r *Root) Note(ws Workspace) string { return r.readText(noteFile(ws.Key)) }

// SaveFiles keeps the name of the files that were copied into a workspace, as SaveNote does.
func (r *Root) SaveFiles(ws Workspace, name string) error {
	return r.saveText(ws, filesFile(ws.Key), name)
}

// Files returns that name; empty when there is none that can be read.
func (r *Root) Files(ws Workspace) string { return r.readText(filesFile(ws.Key)) }

// saveText writes a short text as a metadata file, or removes the file for an empty text.
func (r *Root) saveText(ws Workspace, name, text string) error {
	var err error
	if text == "" {
		if err = r.metadata.Load().Remove(name); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else if err = r.metadata.Load().WriteFile(name+".new", []byte(text), 0o600); err == nil {
		err = r.metadata.Load().Rename(name+".new", name)
	}
	if err != nil {
		return fmt.Errorf("save the note of workspace %s: %w", ws.Path, err)
	}
	return nil
}

// readText returns the text in a metadata file; empty when it cannot be read.
func (r *Root) readText(name string) string {
	f, err := r.metadata.Load().OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecordSize))
	if err != nil {
		return ""
	}
	return string(text)
}

// markBusy records that a session is about to start in the workspace, and reports
// whether the workspace was idle before.
func (r *Root) markBusy(ws Workspace) (wasIdle bool, err error) {
	err = r.metadata.Load().Rename(idleFile(ws.Key), busyFile(ws.Key))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist): // busy already, partial, or without a record: the next run searches it
		return false, nil
	}
	return false, fmt.Errorf("mark workspace %s as busy: %w", ws.Path, err)
}

// markIdle records that no process runs in the workspace. If that fails the
// workspace stays busy, which costs the next run a search.
func (r *Root) markIdle(ws Workspace) {
	_ = r.metadata.Load().Rename(busyFile(ws.Key), idleFile(ws.Key))
}

// isIdle reports whether the last session in the workspace ended under our control
// and none of its processes survived it.
func (r *Root) isIdle(ws Workspace) bool {
	_, err := r.metadata.Load().Lstat(idleFile(ws.Key))
	return err == nil
}
