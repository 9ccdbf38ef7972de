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

// maxEntries is how many files and folders a fingerprint looks at.
const maxEntries = 20_000

// Fingerprint is a value that changes when the workspace does: the names,
// modes, sizes and modification times of its files and the targets of its links,
// but of a .git folder only HEAD and the branches. It tells whether a session
// did anything.
//
// It opens no file and runs no git, because the agent decides what is in them.
// It looks at 20,000 entries, those nearest to the top first, and 100 levels; a
// change beyond them goes unseen. Call it while nothing runs in the workspace.
func (r *Root) Fingerprint(ctx context.Context, ws Workspace) (string, error) {
	return r.fingerprint(ctx, ws, maxEntries)
}

func (r *Root) fingerprint(ctx context.Context, ws Workspace, left int) (string, error) {
	dir, err := r.enter(ws)
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	dir.Close()
	sum := sha256.New()
	for todo := []string{""}; len(todo) > 0 && left > 0; todo = todo[1:] {
		if err := context.Cause(ctx); err != nil {
			return "", err
		}
		folders, seen := r.fingerprintFolder(sum, ws.Key, todo[0], left)
		todo = append(todo, folders...)
		left -= seen
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// fingerprintFolder adds the entries of one folder to the sum, and returns the
// folders among them and how many entries it looked at. What cannot be read is
// part of the fingerprint by its absence.
func (r *Root) fingerprintFolder(sum hash.Hash, key, folder string, limit int) (folders []string, seen int) {
	dir, err := r.dir.OpenRoot(path.Join(key, folder))
	if err != nil {
		return nil, 1
	}
	defer dir.Close()
	names, err := namesIn(dir, limit)
	if err != nil {
		return nil, 1
	}
	for _, name := range names {
		file := path.Join(folder, name)
		info, err := dir.Lstat(name)
		if err != nil || !telling(folder, name) {
			continue
		}
		fmt.Fprintf(sum, "%q %v ", file, info.Mode())
		switch {
		case info.IsDir(): // its times change with files that come and go
			if strings.Count(file, "/") < maxDeep { // each is reached from the top
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

// telling reports whether an entry says something about the work: inside .git
// most change with a mere look.
func telling(folder, name string) bool {
	switch {
	case path.Base(folder) == ".git":
		return name == "HEAD" || name == "refs"
	case path.Base(folder) == "refs" && path.Base(path.Dir(folder)) == ".git":
		return name == "heads"
	}
	return true
}

// namesIn lists a folder in order, up to a limit.
func namesIn(dir *os.Root, limit int) ([]string, error) {
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
