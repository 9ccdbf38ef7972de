package git

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A sparse checkout has the files of some folders, with everything below them, and the files
// beside those folders and above them: git calls it a cone. It is a matter of the work tree
// alone: the workspace has all objects, and the agent may commit any path. Comparing trees
// decides which work leaves, as always.

// sparseVersion is the first version that brings files outside the cone, which an
// earlier session has left, to their commit as well.
var sparseVersion = version{2, 36, 0}

// Bounds of the paths of a sparse checkout.
const (
	maxPaths      = 200
	maxPathLength = 1000 // bytes
)

// CheckPaths returns an error unless paths name folders in a repository: relative, with slashes
// and without characters that git would read as a pattern.
func CheckPaths(paths []string) error {
	if len(paths) > maxPaths {
		return fmt.Errorf("%d paths are more than %d; name folders further up", len(paths), maxPaths)
	}
	for _, p := range paths {
		if err := checkPath(p); err != nil {
			return fmt.Errorf("path %.100q: %w; write a folder from the top of the repository, for example services/api", p, err)
		}
	}
	return nil
}

// CanCheckOut returns an error unless git can fill a workspace that has these paths: [ErrNoGit]
// if it is too old for any, or an error of [CheckPaths].
func (e *engine) CanCheckOut(paths []string) error {
	if len(paths) > 0 && e.version.less(sparseVersion) {
		return fmt.Errorf("%w: repository.paths needs git %v or newer, not %v; install it, or remove the key", ErrNoGit, sparseVersion, e.version)
	}
	return CheckPaths(paths)
}

func checkPath(p string) error {
	switch {
	case p == "" || p == ".":
		return errors.New("it names no folder")
	case path.IsAbs(p) || path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../"):
		return errors.New(`it begins or ends with a slash, or has "." or ".." in it`)
	case len(p) > maxPathLength || !utf8.ValidString(p) || strings.ContainsFunc(p, func(c rune) bool { return !unicode.IsPrint(c) }):
		return errors.New("it has characters that do not print, or too many")
	case strings.ContainsAny(p, `*?[]\"`) || strings.TrimSpace(p) != p:
		return errors.New("it is a pattern, or begins or ends with a space")
	case slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }):
		return errors.New("it is a folder of git")
	}
	return nil
}

// cone returns the folders of paths that are inside no other one of them, and the folders above
// them, both sorted.
func cone(paths []string) (folders, above []string) {
	for _, p := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		if slices.ContainsFunc(paths, func(other string) bool { return strings.HasPrefix(p, other+"/") }) {
			continue
		}
		folders = append(folders, p)
		for up := path.Dir(p); up != "."; up = path.Dir(up) {
			above = append(above, up)
		}
	}
	slices.Sort(above)
	return folders, slices.Compact(above)
}

func sparsePatterns(paths []string) string {
	if len(paths) == 0 {
		return "/*\n"
	}
	folders, above := cone(paths)
	var text strings.Builder
	text.WriteString("/*\n!/*/\n")
	for _, p := range above {
		fmt.Fprintf(&text, "/%s/\n!/%s/*/\n", p, p)
	}
	for _, p := range folders {
		fmt.Fprintf(&text, "/%s/\n", p)
	}
	return text.String()
}

// excludeSparse returns pathspecs for everything outside the cone.
func excludeSparse(paths []string) []string {
	if len(paths) == 0 {
		return nil
	}
	folders, above := cone(paths)
	specs := []string{":(exclude,glob)*"}
	for _, p := range above {
		specs = append(specs, ":(exclude,glob)"+p+"/*")
	}
	for _, p := range folders {
		specs = append(specs, ":(exclude,literal)"+p)
	}
	return specs
}
