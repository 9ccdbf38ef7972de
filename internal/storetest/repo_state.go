package storetest

import (
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Archive makes the repository read-only, or writable again.
func (h *Hub) Archive(on bool) { h.locked(func() { h.archived = on }) }

// Hide hides the repository from the token, or shows it again.
func (h *Hub) Hide(on bool) { h.locked(func() { h.hidden = on }) }

// Protect adds a rule that forbids to move a branch, which need not exist.
func (h *Hub) Protect(branch string) { h.locked(func() { h.protected[branch] = true }) }

// Deny takes a permission from every token, as a workflow writes it:
// "contents: write", "contents: read" or "actions: read".
func (h *Hub) Deny(permission string) { h.locked(func() { h.denied[permission] = true }) }

// Denies reports whether Deny took a permission.
func (h *Hub) Denies(permission string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.denied[permission]
}

// Rename gives the repository another owner/name. Requests under the old name are
// redirected.
func (h *Hub) Rename(repo string) { h.locked(func() { h.renamed = repo }) }

// LimitRate refuses every request until the time; the zero time ends that.
func (h *Hub) LimitRate(until time.Time) { h.locked(func() { h.limited = until }) }

// SetTrunk makes a branch the default one; it need not exist.
func (h *Hub) SetTrunk(branch string) { h.locked(func() { h.trunk = branch }) }

// SignNothing has the server sign no commit, as for the token of a person.
func (h *Hub) SignNothing() { h.locked(func() { h.unsigned = true }) }

// signs reports whether the server signs commits that name no author.
func (h *Hub) signs() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.unsigned
}

// AcceptToken makes another token valid besides the token of [Config].
func (h *Hub) AcceptToken(token string) { h.locked(func() { h.others[token] = true }) }

// TokenOf returns the token of a request.
func TokenOf(req *http.Request) string {
	if _, password, ok := req.BasicAuth(); ok {
		return password
	}
	_, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	return token
}

// locked runs change with h.mu held.
func (h *Hub) locked(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// lastingFault returns the error answer to a request that needs a permission, from the
// repository's state and the token; status is 0 if there is no fault.
func (h *Hub) lastingFault(permission string, req *http.Request) (status int, header http.Header, v any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	token := TokenOf(req)
	switch {
	case token == "" || h.token != "" && token != h.token && !h.others[token]:
		return http.StatusUnauthorized, http.Header{"Www-Authenticate": {`Basic realm="GitHub"`}}, errorMessage("Bad credentials")
	case time.Now().Before(h.limited):
		return http.StatusForbidden, http.Header{
			"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {strconv.FormatInt(h.limited.Unix(), 10)},
		}, errorMessage("API rate limit exceeded for installation.")
	case h.hidden:
		return http.StatusNotFound, nil, errorMessage("Not Found")
	case h.renamed != "":
		to := strings.Replace(req.URL.RequestURI(), "/repos/"+h.repo, "/repos/"+h.renamed, 1)
		return http.StatusMovedPermanently, http.Header{"Location": {h.server.URL + to}}, errorMessage("Moved Permanently")
	case h.denied[permission]:
		return http.StatusForbidden, nil, errorMessage("Resource not accessible by integration")
	case h.archived && strings.HasSuffix(permission, ": write"):
		return http.StatusForbidden, nil, errorMessage("Repository was archived so is read-only.")
	}
	return 0, nil, nil
}

// isProtected reports whether a rule forbids to move a branch.
func (h *Hub) isProtected(branch string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.protected[branch]
}

// Head returns the commit that a branch points to, "" if there is no such branch.
func (h *Hub) Head(branch string) string { return h.git().head(branch) }

// File returns the content of a file of a branch; ok is false if there is none.
func (h *Hub) File(branch, path string) (content string, ok bool) {
	_, kind, content := h.git().readObject("refs/heads/" + branch + ":" + path)
	return content, kind == "blob"
}

// Files returns the paths of all files of a branch, sorted.
func (h *Hub) Files(branch string) []string {
	head := h.git().head(branch)
	if head == "" {
		return nil
	}
	return slices.Sorted(maps.Keys(h.git().readTree(head)))
}

// Commit commits to a branch as somebody else, on top of its head or as its first
// commit. The files, by path, replace everything that the branch holds. Commit
// returns the commit.
func (h *Hub) Commit(branch string, files map[string]string) string {
	h.t.Helper()
	blobs := map[string]string{}
	for path, content := range files {
		blobs[path] = h.git().writeObject("blob", content)
	}
	var parents []string
	if head := h.git().head(branch); head != "" {
		parents = []string{head}
	}
	commit := h.git().writeObject("commit", formatCommit(h.git().writeTree(blobs), "Somebody else", parents...))
	h.git().run("update-ref", "refs/heads/"+branch, commit)
	return commit
}

// Delete deletes a branch.
func (h *Hub) Delete(branch string) {
	h.t.Helper()
	h.git().run("update-ref", "-d", "refs/heads/"+branch)
}

// Conflict reports whether the merge of two commits needs a person.
func (h *Hub) Conflict(one, other string) bool {
	return h.git().command("merge-tree", "--write-tree", one, other).Run() != nil
}

// GitProgram returns the path of one of git's own programs.
func GitProgram(name string) (string, error) {
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return "", err
	}
	path := filepath.Join(strings.TrimSpace(string(out)), name)
	_, err = os.Stat(path)
	return path, err
}

// GitDir returns the folder of the repository.
func (h *Hub) GitDir() string { return h.git().dir }

// Git runs git in the repository and returns its trimmed output. If git fails, so
// does the test.
func (h *Hub) Git(args ...string) string {
	h.t.Helper()
	return h.git().run(args...)
}
