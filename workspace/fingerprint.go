package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"path"
	"slices"
	"strings"
)

// maxFingerprintEntries bounds the files and folders that a fingerprint covers.
const maxFingerprintEntries = 20_000

// Fingerprint returns a value that changes when the workspace does: it covers the
// names, modes, sizes and modification times of the files and the targets of the
// links, but of a .git folder only HEAD and the branches. Two fingerprints tell
// whether a session changed anything.
//
// It opens no file and runs no git, because the agent controls their content. It
// covers 20,000 entries, those nearest to the top first, and 100 levels; a change
// beyond them is not detected. No process may run in the workspace.
func (f *folders) Fingerprint(ctx context.Context, ws Workspace) (string, error) {
	return f.fingerprint(ctx, ws, maxFingerprintEntries)
}

func (f *folders) fingerprint(ctx context.Context, ws Workspace, left int) (string, error) {
	dir, err := f.openVerified(ws)
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	dir.Close()
	sum := sha256.New()
	for todo := []string{""}; len(todo) > 0 && left > 0; todo = todo[1:] {
		if err := context.Cause(ctx); err != nil {
			return "", err
		}
		folders, seen := f.fingerprintFolder(sum, ws.Key, todo[0], left)
		todo = append(todo, folders...)
		left -= seen
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// fingerprintFolder adds the entries of one folder to the sum, and returns the
// folders among them and the number of entries it read. Entries that cannot be read
// are left out, so that they change the fingerprint too.
func (f *folders) fingerprintFolder(sum hash.Hash, key, folder string, limit int) (folders []string, seen int) {
	dir, err := f.dir.OpenRoot(path.Join(key, folder))
	if err != nil {
		return nil, 1
	}
	defer dir.Close()
	names, err := readNames(dir, limit)
	if err != nil {
		return nil, 1
	}
	for _, name := range names {
		file := path.Join(folder, name)
		info, err := dir.Lstat(name)
		if err != nil || !relevant(folder, name) {
			continue
		}
		fmt.Fprintf(sum, "%q %v ", file, info.Mode())
		switch {
		case info.IsDir(): // the times of a folder do not count: temporary files change them
			if strings.Count(file, "/") < maxDepth { // every folder is opened by its whole path
				folders = append(folders, file)
			}
		case info.Mode()&os.ModeSymlink != 0:
			target, _ := dir.Readlink(name)
			fmt.Fprintf(sum, "%q", target)
		default:
			fmt.Fprint(sum, info.Size(), info.ModTime().UnixNano())
		}
		fmt.Fprintln(sum)
	}
	return folders, len(names) + 1
}

// relevant reports whether a change of an entry is a change of the work: most entries
// of .git change even when git only reads.
func relevant(folder, name string) bool {
	switch {
	case path.Base(folder) == ".git":
		return name == "HEAD" || name == "refs"
	case path.Base(folder) == "refs" && path.Base(path.Dir(folder)) == ".git":
		return name == "heads"
	}
	return true
}

func readNames(dir *os.Root, limit int) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(limit)
	if len(names) == 0 && err != nil {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}
