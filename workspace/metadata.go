package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
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
// No sandboxed agent can write to the folder. Reads there are bounded and never wait, and no
// link leads out of it. A link to another file in it is followed: only a program that could
// write that file itself can make one.
//
// The folder stays open, because each session uses about ten of its files.
const metadataDir = ".symphony"

// maxRecordSize bounds the bytes read of a metadata file.
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

// metadata keeps the states, the issues and the notes of workspaces beside them.
type metadata struct {
	*folders
	project string                  // see Config.Project
	folder  atomic.Pointer[os.Root] // metadataDir
}

func (m *metadata) recordOf(issue Issue) issueRecord {
	return issueRecord{issue.ID, issue.Identifier, m.project}
}

// isForeign reports whether a record belongs to another project. An older version of this
// program recorded no project.
func (m *metadata) isForeign(rec issueRecord) bool {
	return rec.Project != "" && m.project != "" && rec.Project != m.project
}

// owner returns the other owner of a workspace; empty if there is none, or no record of one.
func (m *metadata) owner(ws Workspace) string {
	switch rec, err := m.readRecord(ws.Key); {
	case err != nil || Key(rec.Identifier) != ws.Key:
		return ""
	case m.isForeign(rec):
		return text.OneLine(rec.Project, maxOwner)
	case rec.ID != ws.Issue.ID:
		return "an issue with the id " + text.OneLine(rec.ID, maxOwner)
	}
	return ""
}

// maxOwner bounds the owner of a workspace in an error, in runes.
const maxOwner = 100

// takeOver returns [ErrForeign] for the folder of another project's issue. If the folder is
// gone, it removes the other record.
func (m *metadata) takeOver(ws Workspace, exists bool) error {
	owner := m.owner(ws)
	if owner == "" {
		return nil
	}
	if !exists {
		var errs []error
		for _, name := range []string{idleFile(ws.Key), busyFile(ws.Key)} {
			if err := m.folder.Load().Remove(name); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errors.Join(errs...), m.clearPartial(ws))
	}
	return fmt.Errorf("workspace %s: %w: it belongs to %s: give each project a workspace.root of its own, or remove the folder if nobody needs it",
		ws.Path, ErrForeign, owner)
}

// Issues returns the issues of our project whose workspaces exist, and the keys of the
// workspaces without a valid record of their issue.
func (m *metadata) Issues() (known []Issue, unknown []string, err error) {
	keys, err := m.Keys()
	if err != nil {
		return nil, nil, err
	}
	for _, key := range keys {
		switch o, err := m.readRecord(key); {
		case err != nil || Key(o.Identifier) != key || o.ID == "":
			unknown = append(unknown, key)
		case !m.isForeign(o):
			known = append(known, Issue{ID: o.ID, Identifier: o.Identifier})
		}
	}
	return known, unknown, nil
}

// ensureRecord writes which issue the workspace belongs to unless that is recorded
// already. The key alone does not reveal the tracker's id.
func (m *metadata) ensureRecord(ws Workspace) error {
	if o, err := m.readRecord(ws.Key); err == nil && o == m.recordOf(ws.Issue) {
		return nil
	}
	if err := m.writeRecord(idleFile(ws.Key), ws); err != nil {
		return fmt.Errorf("record the issue of workspace %s: %w", ws.Path, err)
	}
	return nil
}

// open opens the folder of metadata, and makes it if it is missing.
func (m *metadata) open() error {
	if err := m.dir.Mkdir(metadataDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := m.dir.OpenRoot(metadataDir)
	if err == nil {
		m.folder.Store(dir) // one that was removed is closed when nobody uses it any more
	}
	return err
}

// inFolder calls do with the folder of metadata. If somebody has removed that, it makes a
// new one and calls do again.
func (m *metadata) inFolder(do func(folder *os.Root) error) error {
	err := do(m.folder.Load())
	if errors.Is(err, fs.ErrNotExist) {
		if err = m.open(); err == nil {
			err = do(m.folder.Load())
		}
	}
	return err
}

func (m *metadata) writeRecord(name string, ws Workspace) error {
	text, err := json.Marshal(m.recordOf(ws.Issue))
	if err != nil {
		return err
	}
	return m.inFolder(func(folder *os.Root) error { return folder.WriteFile(name, text, 0o600) })
}

func (m *metadata) readRecord(key string) (o issueRecord, err error) {
	var text []byte
	for _, name := range []string{idleFile(key), busyFile(key), partialFile(key)} {
		if text, err = m.read(name); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}

// read returns the content of a metadata file, of a long one its beginning.
func (m *metadata) read(name string) ([]byte, error) {
	f, err := m.folder.Load().OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxRecordSize))
}

func (m *metadata) exists(ws Workspace, name string) (bool, error) {
	switch _, err := m.folder.Load().Lstat(name); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, fmt.Errorf("workspace %s: %w", ws.Path, err)
	}
}

func (m *metadata) markPartial(ws Workspace) error {
	err := m.folder.Load().Rename(idleFile(ws.Key), partialFile(ws.Key))
	if errors.Is(err, fs.ErrNotExist) {
		err = m.folder.Load().Rename(busyFile(ws.Key), partialFile(ws.Key))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = m.writeRecord(partialFile(ws.Key), ws)
	}
	if err != nil {
		return fmt.Errorf("mark workspace %s as unfinished: %w", ws.Path, err)
	}
	return nil
}

// Finish records that a new workspace is filled. A process may run in it: the next Begin
// searches for leftover processes.
func (m *metadata) Finish(ws Workspace) error { return m.markFinished(ws, busyFile(ws.Key)) }

// markFinished records that the workspace was created, as the metadata file of its new state.
func (m *metadata) markFinished(ws Workspace, state string) error {
	if err := m.folder.Load().Rename(partialFile(ws.Key), state); err != nil {
		return fmt.Errorf("mark workspace %s as finished: %w", ws.Path, err)
	}
	return nil
}

// clearPartial removes the metadata of a workspace that no longer exists.
func (m *metadata) clearPartial(ws Workspace) error {
	for _, name := range []string{noteFile(ws.Key), filesFile(ws.Key), workFolder(ws.Key), newWork(ws.Key), partialFile(ws.Key)} {
		if err := m.folder.Load().RemoveAll(name); err != nil {
			return fmt.Errorf("mark workspace %s as gone: %w", ws.Path, err)
		}
	}
	return nil
}

// SaveNote keeps a short text with a workspace, for the next run, where its agent does
// not see it. An empty text removes the note.
func (m *metadata) SaveNote(ws Workspace, text string) error {
	return m.saveText(ws, noteFile(ws.Key), text)
}

// Note returns the note of a workspace; empty when it has none that can be read.
func (m *metadata) Note(ws Workspace) string { return m.readText(noteFile(ws.Key)) }

// SaveFiles keeps the name of the files that were copied into a workspace, as SaveNote does.
func (m *metadata) SaveFiles(ws Workspace, name string) error {
	return m.saveText(ws, filesFile(ws.Key), name)
}

// Files returns that name; empty when there is none that can be read.
func (m *metadata) Files(ws Workspace) string { return m.readText(filesFile(ws.Key)) }

// saveText writes a short text as a metadata file, or removes the file for an empty text.
func (m *metadata) saveText(ws Workspace, name, text string) error {
	var err error
	if text == "" {
		if err = m.folder.Load().Remove(name); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else if err = m.folder.Load().WriteFile(name+".new", []byte(text), 0o600); err == nil {
		err = m.folder.Load().Rename(name+".new", name)
	}
	if err != nil {
		return fmt.Errorf("save the note of workspace %s: %w", ws.Path, err)
	}
	return nil
}

func (m *metadata) readText(name string) string {
	text, err := m.read(name)
	if err != nil {
		return ""
	}
	return string(text)
}

// markBusy records that a session is about to start in the workspace, and reports
// whether the workspace was idle before.
func (m *metadata) markBusy(ws Workspace) (wasIdle bool, err error) {
	err = m.folder.Load().Rename(idleFile(ws.Key), busyFile(ws.Key))
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
func (m *metadata) markIdle(ws Workspace) {
	_ = m.folder.Load().Rename(busyFile(ws.Key), idleFile(ws.Key))
}

// isIdle reports whether the last session in the workspace ended under our control
// and none of its processes survived it.
func (m *metadata) isIdle(ws Workspace) bool {
	_, err := m.folder.Load().Lstat(idleFile(ws.Key))
	return err == nil
}
