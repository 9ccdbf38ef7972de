package setup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// The errors of a folder of packs.
var (
	ErrDamaged = errors.New("setup_pack_damaged")       // a pack has another key, or is not whole
	ErrFolder  = errors.New("setup_folder_unavailable") // the folder cannot be read or written
)

const (
	extension = ".pack"
	magic     = "symphony setup "
	// maxPacks bounds the packs in a folder. Each base branch and recipe uses one.
	maxPacks = 3
	// draftTime is the age from which on a draft is of a program that was killed.
	draftTime = 24 * time.Hour
)

// Folder is the place of the packs.
type Folder struct {
	Path string // absolute; it need not exist
}

// Pack is a pack that was found whole. It can be read also when its file is removed: another run
// may do so at any time.
type Pack struct {
	Key   Key
	Path  string
	Size  int64 // bytes of the compressed stream
	begin int64 // offset of the compressed stream
	file  *os.File
}

// Close closes the file of the pack.
func (p *Pack) Close() error { return p.file.Close() }

// Find returns the pack of a key. The error is [fs.ErrNotExist] if there is none, or [ErrDamaged],
// or [ErrFolder].
func (f Folder) Find(key Key) (pack *Pack, err error) {
	fail := func(err error) (*Pack, error) {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrDamaged) {
			err = fmt.Errorf("%w: %w", ErrFolder, err)
		}
		return nil, fmt.Errorf("read the preparation: %w", err)
	}
	if !key.isSound() {
		return fail(fmt.Errorf("%w: %q is no key", ErrDamaged, key))
	}
	path := f.file(key)
	if info, err := os.Lstat(path); err != nil {
		return fail(err)
	} else if !info.Mode().IsRegular() {
		return fail(fmt.Errorf("%w: %s is not a regular file: remove it", ErrDamaged, path))
	}
	file, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	defer func() {
		if pack == nil {
			file.Close()
		}
	}()
	head := make([]byte, len(headOf(key, sha256.New())))
	if _, err := io.ReadFull(file, head); err != nil {
		return fail(fmt.Errorf("%w: %s is cut off", ErrDamaged, path))
	}
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return fail(err)
	}
	if string(head) != headOf(key, sum) {
		return fail(fmt.Errorf("%w: %s is cut off, was changed or belongs to another preparation", ErrDamaged, path))
	}
	return &Pack{Key: key, Size: size, Path: path, begin: int64(len(head)), file: file}, nil
}

// Remove removes the pack of a key, if there is one.
func (f Folder) Remove(key Key) error {
	return f.remove(string(key) + extension)
}

// remove removes a file of the folder, unless another run has.
func (f Folder) remove(name string) error {
	if err := os.Remove(filepath.Join(f.Path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the preparation: %w: %w", ErrFolder, err)
	}
	return nil
}

// headOf returns the first line of a pack, whose other bytes have this sum.
func headOf(key Key, sum hash.Hash) string {
	return fmt.Sprintf("%s%d %s %s\n", magic, format, key, hex.EncodeToString(sum.Sum(nil)))
}

func (f Folder) file(key Key) string { return filepath.Join(f.Path, string(key)+extension) }

// write makes the file of a pack by a function, whole or not at all.
func (f Folder) write(key Key, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(f.Path, ".draft-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(draft.Name())
		}
	}()
	sum := sha256.New()
	_, err = io.WriteString(draft, headOf(key, sum)) // a placeholder of the right length
	if err == nil {
		err = write(io.MultiWriter(draft, sum))
	}
	if err == nil {
		_, err = draft.WriteAt([]byte(headOf(key, sum)), 0)
	}
	if err = errors.Join(err, draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), f.file(key))
}

// Prune removes the oldest packs but maxPacks, and drafts of programs that were killed.
func (f Folder) Prune(now time.Time) error {
	entries, err := os.ReadDir(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	type pack struct {
		name string
		used time.Time
	}
	var packs []pack
	for _, entry := range entries {
		info, infoErr := entry.Info()
		switch {
		case infoErr != nil:
		case strings.HasSuffix(entry.Name(), extension):
			packs = append(packs, pack{entry.Name(), info.ModTime()})
		case strings.HasPrefix(entry.Name(), ".draft-") && now.Sub(info.ModTime()) > draftTime:
			err = errors.Join(err, f.remove(entry.Name()))
		}
	}
	slices.SortFunc(packs, func(a, b pack) int { return b.used.Compare(a.used) })
	for _, old := range packs[min(len(packs), maxPacks):] {
		err = errors.Join(err, f.remove(old.name))
	}
	return err
}

// Key identifies a pack: 64 hexadecimal digits.
type Key string

// Recipe is everything that decides the content of a pack.
type Recipe struct {
	Script  string
	Hosts   []string          // hosts that the script reaches
	Env     []string          // names of the variables that the script sees
	Keep    []string          // setup.keep
	Inputs  map[string]string // the objects of the files of the base that count, by their paths
	Tools   []string          // the programs of the machine: path, size and time of each
	Private bool              // setup.network_private
	Full    bool              // setup.network_mode
}

// format is the version of the packs and of how they are made. Another one is another key.
const format = 1

// Key returns the key of the packs of the recipe on this system.
func (r Recipe) Key() Key {
	text, _ := json.Marshal([]any{format, runtime.GOOS, runtime.GOARCH, r}) // strings and maps of them always marshal
	sum := sha256.Sum256(text)
	return Key(hex.EncodeToString(sum[:]))
}

// isSound reports whether a key can be the name of a file.
func (k Key) isSound() bool {
	raw, err := hex.DecodeString(string(k))
	return err == nil && len(raw) == sha256.Size
}
