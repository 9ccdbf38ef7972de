package git

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
)

// A sandbox keeps some folders at the top of a workspace read-only, whether they are there or
// not, so git can check out nothing in them. A workspace does not have the files that a
// repository has there: its checkout is sparse, and for a harvest these folders are unchanged.
// The folders are found where git runs, in the sandbox.

// sandboxFolders are the folders that a sandbox may keep read-only. It creates those that
// are missing, and they cannot be removed while it runs. read_only.sh names them too.
var sandboxFolders = []string{".agents", ".aws", ".codex"}

//go:embed read_only.sh
var readOnlyFunctions string

// leaveOut leaves the folders that are read-only out of the checkout, and prints their
// names, one on a line.
const leaveOut = `for folder in .agents .aws .codex; do
  if read_only "$folder"; then
    printf '!/%s\n' "$folder" >>.git/info/sparse-checkout && printf '%s\n' "$folder" || exit
  fi
done`

// WorkTree describes the files of its commit that a workspace has.
type WorkTree struct {
	Paths   []string // Paths of the [Checkout]
	LeftOut []string // folders that the checkout has left out
	LFS     bool     // files in Git LFS have their contents
}

// LeftOut returns the folders that a checkout has left out; names are the words that its
// commands have printed.
func LeftOut(names []string) []string {
	var left []string
	for _, folder := range sandboxFolders {
		if slices.Contains(names, folder) {
			left = append(left, folder)
		}
	}
	return left
}

// ReadOnly reports whether any of these commits has files in folders that a sandbox may keep
// read-only, for [Checkout]. The commits are in the store or in left, which may be nil. A zero
// commit has no files.
func (s *Store) ReadOnly(ctx context.Context, left *Incoming, commits ...ObjectID) (bool, error) {
	c := s.command()
	if left != nil {
		c = left.confined()
	}
	found := false
	err := s.host.readTrees(ctx, c, func(w *treeWalk) error {
		for _, commit := range commits {
			if commit.IsZero() {
				continue
			}
			entries, err := w.read(commit.String() + "^{tree}")
			if err != nil {
				return err
			}
			found = found || slices.ContainsFunc(entries, func(e treeEntry) bool { return slices.Contains(sandboxFolders, e.name) })
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("read folders: %w", err)
	}
	return found, nil
}
