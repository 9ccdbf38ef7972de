package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// Cache is a [File] that a cache brings and takes away (actions/cache), which may
// bring an older one than was taken last: entries are evicted, and a run whose
// entry was not stored is not seen. So the generation is also written to a second
// file, the witness, which is to travel in another entry. A witness that is ahead
// of the state shows that the state went back in time. It is for one goroutine.
type Cache struct {
	*File
	witness string

	have, seen int64 // generations: of the state as it was loaded last, and of the witness then
}

// OpenCache opens the state at path as [OpenFile] does. The witness need not exist.
func OpenCache(path, witness string) (*Cache, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	return &Cache{File: f, witness: witness}, nil
}

// EditCache opens the state at path as [EditFile] does.
func EditCache(ctx context.Context, path, witness string) (*Cache, error) {
	f, err := EditFile(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Cache{File: f, witness: witness}, nil
}

// LookAtCache is a Cache without the lock, to be shown or planned on, as with
// [ReadFile]: it changes nothing on disk, and cannot be saved.
func LookAtCache(path, witness string) *Cache {
	return &Cache{File: &File{path: path}, witness: witness}
}

// Load is [File.Load], and looks at the witness.
func (c *Cache) Load(ctx context.Context) (*schedule.State, Revision, error) {
	s, rev, err := c.File.Load(ctx)
	if err != nil {
		return nil, "", err
	}
	c.have, _ = rev.generation() // it is one of ours
	c.seen = readWitness(c.witness)
	c.floor = c.seen
	return s, rev, nil
}

// WentBack reports whether the state as it was loaded last is older than one that
// was saved: have is its generation, and seen that of the newest one known. What
// it claims is then not what is held. The next Save is newer than both.
func (c *Cache) WentBack() (have, seen int64, ok bool) {
	return c.have, c.seen, c.seen > c.have
}

// Save is [File.Save], and then tells the witness. That this fails is no error:
// the state is saved, and a witness that is behind only finds less.
func (c *Cache) Save(ctx context.Context, s *schedule.State, rev Revision) (Revision, error) {
	next, err := c.File.Save(ctx, s, rev)
	if err == nil && next != rev {
		generation, _ := next.generation() // it is one of ours
		_ = writeWitness(c.witness, generation)
	}
	return next, err
}

// readWitness is the generation that the witness tells of; 0 when there is none
// to be made out.
func readWitness(path string) int64 {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0
	}
	const enough = 32 // bytes
	text, err := io.ReadAll(io.LimitReader(f, enough))
	if err != nil {
		return 0
	}
	generation, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || generation < 0 || generation > maxGeneration {
		return 0
	}
	return generation
}

func writeWitness(path string, generation int64) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// What a killed run was writing is nobody's: who saves has the lock.
	if err := os.Remove(draft(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return replace(path, []byte(strconv.FormatInt(generation, 10)+"\n"))
}
