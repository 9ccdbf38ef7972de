package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Create makes a repository with a work tree in a folder that is missing or empty. Its
// branch main has one commit with the files, which are given by their path. The folder
// must not be below the root of the workspaces. The error is [ErrFolder] if it cannot be
// used.
func (h *Host) Create(ctx context.Context, folder string, files map[string]string, c Commit) error {
	fail := func(err error) error { return fmt.Errorf("create a repository in %s: %w", folder, err) }
	history, err := firstCommit(files, c)
	if err != nil {
		return fail(err)
	}
	if err := h.checkFolder(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fail(fmt.Errorf("%w: %w", ErrFolder, err))
	}
	switch entries, err := os.ReadDir(folder); {
	case err != nil:
		return fail(fmt.Errorf("%w: %w", ErrFolder, err))
	case len(entries) > 0:
		return fail(fmt.Errorf("%w: it is not empty; name another one", ErrFolder))
	}
	for _, step := range []command{
		{dir: folder, args: []string{"init", "-q", "-b", "main", "--template="}},
		{dir: folder, repository: filepath.Join(folder, ".git"), args: []string{"fast-import", "--quiet"}, stdin: strings.NewReader(history)},
		{dir: folder, repository: filepath.Join(folder, ".git"), args: []string{"reset", "-q", "--hard"}},
	} {
		if _, err := h.run(ctx, step); err != nil {
			return fail(err)
		}
	}
	return nil
}

// firstCommit returns a commit of files on the branch main as git fast-import reads it.
func firstCommit(files map[string]string, c Commit) (string, error) {
	if _, err := c.text(); err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", errors.New("there are no files")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "commit refs/heads/main\nauthor %s\ncommitter %s\ndata %d\n%s\n", c.Author.line(), c.Committer.line(), len(c.Message), c.Message)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\"\n\x00") {
			return "", fmt.Errorf("the path %q cannot be used", name)
		}
		fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", name, len(files[name]), files[name])
	}
	return b.String(), nil
}
