package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// entry is one entry of the cache: it is never written again.
type entry struct {
	key, paths string
	folder     string // the copies, by the number of the path
}

// use stands in for an action of somebody else.
func (j *job) use(s step, outputs map[string]any) int {
	j.t.Helper()
	with := j.fillAll(s.With)
	name, _, _ := strings.Cut(s.Uses, "@")
	j.uses = append(j.uses, name)
	switch name {
	case "actions/setup-go":
		if _, err := os.Stat(with["go-version-file"]); err != nil {
			j.t.Errorf("setup-go: %v", err)
		}
		return 0 // the tests have Go
	case "actions/cache/restore":
		outputs["cache-hit"] = stringOf(j.restore(with))
		return 0
	case "actions/cache/save":
		j.save(with)
		return 0
	case "actions/upload-artifact":
		return j.upload(with)
	}
	j.t.Fatalf("nothing stands in for %s", s.Uses)
	return 1
}

// restore takes the entry of the key, or else the newest one that begins with a
// restore key, for the same paths.
func (j *job) restore(with map[string]string) (hit bool) {
	j.t.Helper()
	var found *entry
	for n, e := range j.cache {
		if e.paths != with["path"] {
			continue
		}
		if e.key == with["key"] {
			found, hit = &j.cache[n], true
			break
		}
		for prefix := range strings.Lines(with["restore-keys"]) {
			if prefix = strings.TrimSpace(prefix); prefix != "" && strings.HasPrefix(e.key, prefix) {
				found = &j.cache[n] // the last one is the newest
			}
		}
	}
	if found == nil {
		fmt.Fprintf(&j.log, "Cache not found for %s\n", with["key"])
		return false
	}
	fmt.Fprintf(&j.log, "Cache restored from %s\n", found.key)
	for n, path := range j.listed(with["path"]) {
		from := filepath.Join(found.folder, fmt.Sprint(n))
		if _, err := os.Stat(from); err == nil {
			j.copyTree(from, path)
		}
	}
	return hit
}

func (j *job) save(with map[string]string) {
	j.t.Helper()
	for _, e := range j.cache {
		if e.key == with["key"] && e.paths == with["path"] {
			j.annotate("warning", "", "Unable to reserve cache with key "+e.key+": it exists")
			return
		}
	}
	e := entry{key: with["key"], paths: with["path"], folder: j.t.TempDir()}
	saved := 0
	for n, path := range j.listed(with["path"]) {
		if _, err := os.Stat(path); err == nil {
			j.copyTree(path, filepath.Join(e.folder, fmt.Sprint(n)))
			saved++
		}
	}
	if saved == 0 {
		j.annotate("warning", "", "Path Validation Error: nothing to cache in "+with["path"])
		return
	}
	j.cache = append(j.cache, e)
}

func (j *job) upload(with map[string]string) int {
	j.t.Helper()
	name := with["name"]
	if _, taken := j.artifacts[name]; taken {
		j.annotate("error", "", "an artifact with the name "+name+" exists")
		return 1
	}
	var files []string
	for _, root := range j.listed(with["path"]) {
		_ = filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				rel, _ := filepath.Rel(filepath.Dir(root), path)
				files = append(files, rel)
			}
			return nil // what is not there is not uploaded
		})
	}
	j.artifacts[name] = files
	return 0
}

// listed is an input of paths, one to a line, from the checkout.
func (j *job) listed(text string) []string {
	var paths []string
	for line := range strings.Lines(text) {
		if path := strings.TrimSpace(line); filepath.IsAbs(path) {
			paths = append(paths, path)
		} else if path != "" {
			paths = append(paths, filepath.Join(j.workspace, path))
		}
	}
	return paths
}

func (j *job) copyTree(from, to string) {
	j.t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		j.t.Fatal(err)
	}
	// cp, as os.CopyFS takes neither a file nor a link.
	if _, err := os.Stat(to); err == nil {
		from += "/."
	}
	if out, err := j.program("cp", "-R", "-p", from, to); err != nil {
		j.t.Errorf("copy %s: %v\n%s", from, err, out)
	}
}
