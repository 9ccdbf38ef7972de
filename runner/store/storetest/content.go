package storetest

import (
	"maps"
	"slices"
)

// Head is the commit that a branch is at, empty when there is no such branch.
func (h *Hub) Head(branch string) string { return h.git.head(branch) }

// File is a file of a branch; ok is false when there is none.
func (h *Hub) File(branch, path string) (content string, ok bool) {
	_, kind, content := h.git.readObject("refs/heads/" + branch + ":" + path)
	return content, kind == "blob"
}

// Files are the paths of all files of a branch, sorted.
func (h *Hub) Files(branch string) []string {
	head := h.git.head(branch)
	if head == "" {
		return nil
	}
	return slices.Sorted(maps.Keys(h.git.readTree(head)))
}

// Commit makes somebody else commit to a branch, on top of what is there, or as
// its first commit: from then on these files, by path, are all that it holds. It
// returns the commit.
func (h *Hub) Commit(branch string, files map[string]string) string {
	h.t.Helper()
	blobs := map[string]string{}
	for path, content := range files {
		blobs[path] = h.git.writeObject("blob", content)
	}
	var parents []string
	if head := h.git.head(branch); head != "" {
		parents = []string{head}
	}
	commit := h.git.writeObject("commit", formatCommit(h.git.writeTree(blobs), "Somebody else", parents...))
	h.git.run("update-ref", "refs/heads/"+branch, commit)
	return commit
}

// Delete deletes a branch.
func (h *Hub) Delete(branch string) {
	h.t.Helper()
	h.git.run("update-ref", "-d", "refs/heads/"+branch)
}

// Git runs git in the repository, and returns what it prints, trimmed; the test
// fails when git does.
func (h *Hub) Git(args ...string) string {
	h.t.Helper()
	return h.git.run(args...)
}
