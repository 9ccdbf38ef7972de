package git

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The agent's git keeps files in Git LFS as pointers by a filter of ours, which is a shell
// script in the configuration: no other program is needed. If git-lfs is installed for all
// users, the agent's git runs that instead; it keeps objects in the same place.
//
// The filter runs inside the sandbox alone. Its files there are the agent's work, and are
// checked like all of it.

//go:embed lfs_filter.sh
var lfsFilter string

// lfsSettings returns the keys and values of git's configuration for files in Git LFS, in
// a repository whose objects are kept.
func lfsSettings() []string {
	return []string{
		"filter.lfs.clean", "mode=clean\n" + lfsFilter,
		"filter.lfs.smudge", "mode=smudge\n" + lfsFilter,
		"filter.lfs.required", "true",
		"lfs.skipdownloaderrors", "true", // git-lfs has no network in the sandbox
	}
}

func lfsConfig() string {
	var text strings.Builder
	for pair := range slices.Chunk(lfsSettings(), 2) {
		dot := strings.LastIndexByte(pair[0], '.')
		section, name, _ := strings.Cut(pair[0][:dot], ".")
		if name != "" {
			section += ` "` + name + `"`
		}
		text.WriteString("[" + section + "]\n\t" + pair[0][dot+1:] + " = " + quoteValue(pair[1]) + "\n")
	}
	return text.String()
}

// lfsHarvestEnv is the environment of a harvest that takes files in Git LFS as pointers.
var lfsHarvestEnv = []string{
	"GIT_CONFIG_COUNT=2",
	"GIT_CONFIG_KEY_0=filter.lfs.clean", "GIT_CONFIG_VALUE_0=mode=point\nfile=%f\n" + lfsFilter,
	"GIT_CONFIG_KEY_1=filter.lfs.required", "GIT_CONFIG_VALUE_1=true",
}

// populateObjects copies objects of a folder into a new .git. They share no inode.
func populateObjects(ctx context.Context, into *os.Root, folder string, pointers []Pointer) error {
	for _, p := range pointers {
		name := path.Join("lfs", "objects", p.file())
		if err := into.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		err := copyChecked(ctx, into, name, filepath.Join(folder, p.file()), p)
		if err != nil && !errors.Is(err, fs.ErrExist) { // the store and the work may both have it
			return err
		}
	}
	return nil
}

// copyChecked copies one object. It removes an object of the store that a fault of the disk has
// damaged: the next session fetches it again.
func copyChecked(ctx context.Context, into *os.Root, name, from string, p Pointer) error {
	err := newCopy(into, name, from, func(dst io.Writer, src io.Reader) error { return copyObject(dst, readUntil{ctx, src}, p) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, ErrLFS) {
		return errors.Join(fmt.Errorf("%w: an object of Git LFS is damaged; it is fetched again", ErrStore), os.Remove(from))
	}
	return err
}

// readUntil reads until a context ends.
type readUntil struct {
	ctx context.Context
	io.Reader
}

func (r readUntil) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}
