package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"syscall"
	"unicode/utf8"
)

// The categories of this package's errors, for errors.Is.
var (
	// ErrUnreadable reports a file of the exchange folder that is missing, is damaged, or
	// was not written by this program.
	ErrUnreadable = errors.New("exchange_unreadable")
	// ErrRefused reports a result that its shard was not allowed to leave, such as one that
	// names an issue of another shard.
	ErrRefused = errors.New("result_refused")
	// ErrWorked reports that the exchange folder has a result of the shard already.
	ErrWorked = errors.New("shard_worked")
	// ErrInvalid reports a plan or a result that cannot be written.
	ErrInvalid = errors.New("exchange_invalid")
)

// The names in an exchange folder.
const (
	planName      = "plan.json"
	resultsFolder = "results"
	resultName    = "result.json"
	threadsFolder = "threads"
)

// Names returns the names of the entries of an exchange folder.
func Names() []string { return []string{planName, resultsFolder, threadsFolder} }

// schema is the version of the file formats. The three parts of a tick run the same version
// of this program, so it reads no other schema.
const schema = 1

// The limits of files, in bytes. A state has at most 8 MiB, and the slices of a plan have
// little in common.
const (
	maxPlan   = 64 << 20
	maxResult = 8 << 20
)

func resultFolder(shard int) string { return "result-" + strconv.Itoa(shard) }

// openRoot opens the folder to which the names lead from dir. A link in place of one of
// them is an error.
func openRoot(dir string, names ...string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		var inner *os.Root
		inner, err = openFolder(root, name)
		root.Close()
		root = inner
	}
	return root, err
}

// openFolder opens a folder in a folder; a link is an error.
func openFolder(root *os.Root, name string) (*os.Root, error) {
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return root.OpenRoot(name)
}

// readFile reads a regular file of at most limit bytes. It follows no link and never blocks. An
// [os.Root] by itself would follow links that stay below it.
func readFile(root *os.Root, name string, limit int64) ([]byte, error) {
	named, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT} // not the name of a system call
	} else if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || !os.SameFile(named, info):
		return nil, fmt.Errorf("%s is not a regular file (%v)", name, named.Mode().Type())
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %d bytes, and %d are allowed", name, info.Size(), limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s grows while it is read", name)
	}
	return data, err
}

// writeFile replaces a file atomically: after a kill it has the old content or the new one.
// It follows no link. Only one process may write a file.
func writeFile(root *os.Root, name string, data []byte) error {
	temp := path.Join(path.Dir(name), "."+path.Base(name)+".tmp")
	if err := root.RemoveAll(temp); err != nil { // left by a killed process
		return err
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}

// decode decodes strict JSON into v: valid UTF-8, one value, no unknown fields, and the
// schema of this program.
func decode(data []byte, v any) error {
	if !utf8.Valid(data) {
		return errors.New("it is not UTF-8 text")
	}
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil { // this also finds trailing data
		return err
	}
	if head.Schema != schema {
		return fmt.Errorf("it has schema %d and this program reads %d: plan, work and collect need the same version of symphony", head.Schema, schema)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// encode returns v as indented JSON with a newline at its end. It fails if that is longer
// than limit bytes.
func encode(v any, limit int) ([]byte, error) {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(v)
	if err == nil && data.Len() > limit {
		err = fmt.Errorf("it takes %d bytes, and %d are allowed", data.Len(), limit)
	}
	return data.Bytes(), err
}

// inExchange returns the path of a file in the exchange folder, for messages.
func inExchange(exchange string, names ...string) string {
	return filepath.Join(append([]string{exchange}, names...)...)
}
