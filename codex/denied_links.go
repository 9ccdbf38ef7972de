package codex

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Codex takes a path with one of these characters for a pattern, which denies files of other
// names, and no folder. So it is given the path of a link: bubblewrap, which follows links, then
// hides what the link leads to.

// patternCharacters are the characters that make a path a pattern for Codex.
const patternCharacters = "*?[]"

// Links holds the links of one session to denied paths that Codex takes for patterns. Each is
// in a folder of its own in the nearest folder whose path is none, because the agent must be able
// to see it and not to write it.
type Links struct {
	folders map[string]string // by the folders that they are in
	links   map[string]string // by the denied paths
}

// To returns the path of the link to a denied path, which the first call makes.
func (l *Links) To(path string) (string, error) {
	if link, ok := l.links[path]; ok {
		return link, nil
	}
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("deny %q by a link: %w: only the sandbox of Linux follows links", path, errors.ErrUnsupported)
	}
	parent := path[:strings.LastIndex(path[:strings.IndexAny(path, patternCharacters)], "/")+1]
	folder, err := l.folder(parent)
	if err != nil {
		return "", fmt.Errorf("deny %q by a link: %w: make its folder writable", path, err)
	}
	link := filepath.Join(folder, strconv.Itoa(len(l.links)))
	// The link is relative, because bubblewrap follows it where this root is not the root.
	if err := os.Symlink(filepath.Join("..", path[len(parent):]), link); err != nil {
		return "", fmt.Errorf("deny %q by a link: %w", path, err)
	}
	if l.links == nil {
		l.links = map[string]string{}
	}
	l.links[path] = link
	return link, nil
}

// folder returns the folder of links in a folder. Every user may read it, because Codex may run
// as another one.
func (l *Links) folder(parent string) (string, error) {
	if folder, ok := l.folders[parent]; ok {
		return folder, nil
	}
	folder, err := os.MkdirTemp(parent, "symphony-links-")
	if err != nil {
		return "", err
	}
	if l.folders == nil {
		l.folders = map[string]string{}
	}
	l.folders[parent] = folder
	return folder, os.Chmod(folder, 0o755)
}

// Hold reports whether a path is a folder of links, which may not be denied: they could not be
// followed.
func (l *Links) Hold(path string) bool {
	for _, folder := range l.folders {
		if path == folder {
			return true
		}
	}
	return false
}

// Close removes the links.
func (l *Links) Close() (err error) {
	for _, folder := range l.folders {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return err
}
