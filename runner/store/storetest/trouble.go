package storetest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Archive makes the repository read-only, or ends that.
func (h *Hub) Archive(on bool) { h.locked(func() { h.archived = on }) }

// Hide makes the repository one that the token may not see, or ends that.
func (h *Hub) Hide(on bool) { h.locked(func() { h.hidden = on }) }

// Protect puts a rule on a branch, which need not exist, that lets nobody move it.
func (h *Hub) Protect(branch string) { h.locked(func() { h.protected[branch] = true }) }

// Deny takes a permission from every token, as a workflow writes it:
// "contents: write", "contents: read" or "actions: read".
func (h *Hub) Deny(permission string) { h.locked(func() { h.denied[permission] = true }) }

// Rename makes the repository known as owner/name, and only that: whoever asks
// under the old name is sent there.
func (h *Hub) Rename(repo string) { h.locked(func() { h.renamed = repo }) }

// LimitRate answers nothing more until then; the zero time ends that.
func (h *Hub) LimitRate(until time.Time) { h.locked(func() { h.limited = until }) }

// SetTrunk makes another branch the default one; it need not exist.
func (h *Hub) SetTrunk(branch string) { h.locked(func() { h.trunk = branch }) }

func (h *Hub) locked(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// lastingFault is what keeps a request from being answered well; status is 0 when
// nothing does.
func (h *Hub) lastingFault(r route, req *http.Request) (status int, header http.Header, v any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	switch {
	case token == "" || h.token != "" && token != h.token:
		return http.StatusUnauthorized, nil, errorMessage("Bad credentials")
	case time.Now().Before(h.limited):
		return http.StatusForbidden, http.Header{
			"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {strconv.FormatInt(h.limited.Unix(), 10)},
		}, errorMessage("API rate limit exceeded for installation.")
	case h.hidden:
		return http.StatusNotFound, nil, errorMessage("Not Found")
	case h.renamed != "":
		to := strings.Replace(req.URL.RequestURI(), "/repos/"+h.repo, "/repos/"+h.renamed, 1)
		return http.StatusMovedPermanently, http.Header{"Location": {h.server.URL + to}}, errorMessage("Moved Permanently")
	case h.denied[r.need]:
		return http.StatusForbidden, nil, errorMessage("Resource not accessible by integration")
	case h.archived && req.Method != http.MethodGet:
		return http.StatusForbidden, nil, errorMessage("Repository was archived so is read-only.")
	}
	return 0, nil, nil
}

// isProtected reports whether a rule keeps a branch where it is.
func (h *Hub) isProtected(branch string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.protected[branch]
}
