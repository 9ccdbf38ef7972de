package setup

import (
	"bufio"
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The bounds of a search for projects.
const (
	maxDepth   = 4       // folders above a file
	maxEntries = 50_000  // files and folders that are looked at
	maxRead    = 1 << 20 // bytes of a file
)

// aside are the names of folders whose projects are no part of the work: installed packages,
// and samples.
var aside = []string{"node_modules", "vendor", "third_party", "testdata", "fixtures", "__fixtures__", "examples", "example", "samples", "templates", "docs", "doc", "target", "build", "dist", "venv"}

// Look returns the suggestion for a checkout; false if it has no project of a known kind.
func Look(checkout fs.FS) (Suggestion, bool) {
	s, ok := Detect(projectFiles(checkout))
	for _, made := range s.Makes {
		if !isIgnored(checkout, made) {
			s.Exposed = append(s.Exposed, made)
		}
	}
	return s, ok
}

// projectFiles returns the paths of the files of a checkout that may tell the kind of a
// project. Unreadable files are left out.
func projectFiles(checkout fs.FS) (paths []string) {
	seen := 0
	_ = fs.WalkDir(checkout, ".", func(p string, entry fs.DirEntry, err error) error { // the function never fails
		seen++
		switch name := path.Base(p); {
		case seen > maxEntries:
			return fs.SkipAll
		case err != nil:
			return nil
		case !entry.IsDir():
			if entry.Type().IsRegular() && !isPartial(checkout, p) {
				paths = append(paths, p)
			}
		case p != "." && (strings.HasPrefix(name, ".") || slices.Contains(aside, name) || depth(p) >= maxDepth):
			return fs.SkipDir
		}
		return nil
	})
	return paths
}

// isPartial reports whether a file is named as one that tells the kind of a project, and does
// not tell it: pyproject.toml with the settings of tools alone, and go.mod of a project whose
// modules are in the folder vendor.
func isPartial(checkout fs.FS, p string) bool {
	switch path.Base(p) {
	case "pyproject.toml":
		text := read(checkout, p)
		return !bytes.Contains(text, []byte("[project]")) && !bytes.Contains(text, []byte("[build-system]"))
	case "go.mod", "go.work":
		_, err := fs.Stat(checkout, path.Join(path.Dir(p), "vendor/modules.txt"))
		return err == nil
	}
	return false
}

// read returns the beginning of a file; nothing if it cannot be read.
func read(checkout fs.FS, name string) []byte {
	file, err := checkout.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, maxRead)) // the part before an error counts
	return text
}

// isIgnored reports whether a file .gitignore of a checkout names a folder that a tool makes.
func isIgnored(checkout fs.FS, made string) bool {
	for folder := path.Dir(made); ; folder = path.Dir(folder) {
		lines := bufio.NewScanner(bytes.NewReader(read(checkout, path.Join(folder, ".gitignore"))))
		for lines.Scan() {
			pattern := strings.TrimSuffix(strings.TrimSpace(lines.Text()), "/*")
			pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "**/"), "/")
			name := path.Base(made)
			if strings.Contains(pattern, "/") { // it begins at the folder of the file
				pattern = path.Join(folder, strings.TrimPrefix(pattern, "/"))
				name = made
			}
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return true
			}
		}
		if folder == "." {
			return false
		}
	}
}
