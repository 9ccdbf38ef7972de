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

	"github.com/symphony-runner/symphony/runner/schedule"
)

// Cache is a [File] that a cache such as actions/cache carries from run to run.
// The cache may restore an older state than was saved last, because it evicts
// entries and can fail to store one. So each save also writes the generation to a
// second file, the high-water mark, which is meant for another cache entry. A
// high-water mark above the state's generation shows that the state was rolled
// back. One goroutine uses a Cache.
type Cache struct {
	*File
	highWaterPath string

	loaded, highWater int64 // generations of the state and of the high-water mark at the last Load
}

// WithHighWater returns the state in a file that a cache carries. The file of the high-water mark
// need not exist.
func (f *File) WithHighWater(path string) *Cache { return &Cache{File: f, highWaterPath: path} }

// Load reads the state as [File.Load] does, and the high-water mark.
func (c *Cache) Load(ctx context.Context) (*schedule.State, Revision, error) {
	s, rev, err := c.File.Load(ctx)
	if err != nil {
		return nil, "", err
	}
	c.loaded, _ = rev.generation() // rev is of a file
	c.highWater = readHighWater(c.highWaterPath)
	c.floor = c.highWater
	return s, rev, nil
}

// RolledBack reports whether the state loaded last is older than one that was
// saved. It also returns the generation of that state and the newest one known.
// The claims in a state that was rolled back may not be those that are held. The
// next Save makes a generation above both.
func (c *Cache) RolledBack() (loaded, newest int64, ok bool) {
	return c.loaded, c.highWater, c.highWater > c.loaded
}

// Save saves as [File.Save] does, and then writes the high-water mark. A failure
// to write it is not an error: the state is saved, and a mark that is too low only
// detects less.
func (c *Cache) Save(ctx context.Context, s *schedule.State, rev Revision) (Revision, error) {
	next, err := c.File.Save(ctx, s, rev)
	if err == nil && next != rev {
		generation, _ := next.generation() // next is of a file
		_ = writeHighWater(c.highWaterPath, generation)
	}
	return next, err
}

// readHighWater returns the generation in the file, 0 if there is no valid one: a
// value above maxGeneration can only be forged.
func readHighWater(path string) int64 {
	f, _, err := openRegular(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	const maxLength = 32 // bytes
	text, err := io.ReadAll(io.LimitReader(f, maxLength))
	if err != nil {
		return 0
	}
	generation, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || generation < 0 || generation > maxGeneration {
		return 0
	}
	return generation
}

func writeHighWater(path string, generation int64) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// Remove a stale temporary file of a run that was killed; we hold the lock.
	if err := os.Remove(tempPath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeAtomically(path, []byte(strconv.FormatInt(generation, 10)+"\n"))
}
