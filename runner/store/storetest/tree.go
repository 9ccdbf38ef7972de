package storetest

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// writeTree stores a writeTree of files, given as blobs by path.
func (r *gitRepo) writeTree(files map[string]string) string {
	folders := map[string]map[string]string{}
	entries := map[string]string{} // by name as git sorts it: a folder ends in a slash
	for path, blob := range files {
		folder, rest, nested := strings.Cut(path, "/")
		if !nested {
			entries[path] = blob
			continue
		}
		if folders[folder] == nil {
			folders[folder] = map[string]string{}
		}
		folders[folder][rest] = blob
	}
	for folder, files := range folders {
		entries[folder+"/"] = r.writeTree(files)
	}
	var content strings.Builder
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		id, _ := hex.DecodeString(entries[name]) // it is one of ours
		mode := "100644"
		folder, nested := strings.CutSuffix(name, "/")
		if nested {
			mode = "40000"
		}
		fmt.Fprintf(&content, "%s %s\x00%s", mode, folder, id)
	}
	return r.writeObject("tree", content.String())
}

// readTree is the tree of a commit as blobs by path.
func (r *gitRepo) readTree(commit string) map[string]string {
	files := map[string]string{}
	_, _, content := r.readObject(commit + "^{tree}")
	for content != "" {
		head, rest, _ := strings.Cut(content, "\x00")
		mode, name, _ := strings.Cut(head, " ")
		id := hex.EncodeToString([]byte(rest[:20]))
		content = rest[20:]
		if mode != "40000" {
			files[name] = id
			continue
		}
		for path, blob := range r.readTree(id) {
			files[name+"/"+path] = blob
		}
	}
	return files
}

func formatCommit(tree, message string, parents ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&text, "parent %s\n", p)
	}
	const who = "Symphony <symphony@example.com> 1772366400 +0000"
	fmt.Fprintf(&text, "author %s\ncommitter %s\n\n%s", who, who, message)
	return text.String()
}
