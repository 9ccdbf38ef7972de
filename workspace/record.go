package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// maxRecord bounds what is read of a record, in bytes.
const maxRecord = 4 << 10

// owner is what a record keeps.
type owner struct {
	ID         string `json:"id"`
	Identifier string `json:"identifier"`
}

// Issues are the issues whose workspaces exist, and the keys of workspaces of
// which nobody wrote down whose they are.
func (r *Root) Issues() (known []Issue, unknown []string, err error) {
	keys, err := r.Keys()
	if err != nil {
		return nil, nil, err
	}
	for _, key := range keys {
		if o, err := r.recorded(key); err == nil && Key(o.Identifier) == key && o.ID != "" {
			known = append(known, Issue{ID: o.ID, Identifier: o.Identifier})
		} else {
			unknown = append(unknown, key)
		}
	}
	return known, unknown, nil
}

func recordOf(key string) string { return path.Join(marks, key+".json") }

// record writes down whose workspace it is where nobody has: the key does not
// tell the tracker's id. It is input when it is read again, and leads nowhere.
func (r *Root) record(ws Workspace) error {
	if o, err := r.recorded(ws.Key); err == nil && o == (owner{ws.Issue.ID, ws.Issue.Identifier}) {
		return nil
	}
	if err := r.write(recordOf(ws.Key), ws); err != nil {
		return fmt.Errorf("note whose workspace %s is: %w", ws.Path, err)
	}
	return nil
}

func (r *Root) write(name string, ws Workspace) error {
	text, err := json.Marshal(owner{ws.Issue.ID, ws.Issue.Identifier})
	if err != nil {
		return err
	}
	err = r.dir.WriteFile(name, text, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = r.dir.Mkdir(marks, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			err = r.dir.WriteFile(name, text, 0o600)
		}
	}
	return err
}

func (r *Root) recorded(key string) (o owner, err error) {
	const flags = os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := r.dir.OpenFile(recordOf(key), flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = r.dir.OpenFile(busyOf(key), flags, 0)
	}
	if err != nil {
		return owner{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}
