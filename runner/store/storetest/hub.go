package storetest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Config says what the server is like; the zero value is good.
type Config struct {
	Repo  string                          // owner/name; octo/state-keeper when empty
	Root  string                          // the path of the REST API; /api/v3 when empty
	Token string                          // the only one that is valid; any when empty
	Wrap  func(http.Handler) http.Handler // goes around everything; nil for nothing
}

// Hub is a GitHub with one repository in it, which has code on its default
// branch, main. See the package's documentation.
type Hub struct {
	t      testing.TB
	repo   string
	token  string
	root   string
	server *httptest.Server
	mux    *http.ServeMux
	git    *gitRepo

	mu        sync.Mutex
	asked     map[Op]int
	log       []string
	faults    map[Op][]Fault
	denied    map[string]bool // permissions
	protected map[string]bool // branches
	runs      map[int64][]Run // attempts by run
	trunk     string
	renamed   string
	archived  bool
	hidden    bool
	limited   time.Time
}

// New starts a server for the length of the test.
func New(t testing.TB, cfg Config) *Hub {
	t.Helper()
	h := &Hub{
		t: t, repo: "octo/state-keeper", root: "/api/v3", token: cfg.Token, mux: http.NewServeMux(), git: newGitRepo(t),
		asked: map[Op]int{}, faults: map[Op][]Fault{}, denied: map[string]bool{}, protected: map[string]bool{}, runs: map[int64][]Run{},
		trunk: "main",
	}
	if cfg.Repo != "" {
		h.repo = cfg.Repo
	}
	if cfg.Root != "" {
		h.root = strings.TrimRight(cfg.Root, "/")
	}
	h.addRoutes()
	var handler http.Handler = h.mux
	if cfg.Wrap != nil {
		handler = cfg.Wrap(handler)
	}
	h.server = httptest.NewServer(handler)
	t.Cleanup(h.server.Close)
	return h
}

// URL is the root of the REST API, as GITHUB_API_URL has it: without a slash at
// its end.
func (h *Hub) URL() string { return h.server.URL + h.root }

// Repo is the repository, as owner/name.
func (h *Hub) Repo() string { return h.repo }

// Env is the environment of a step in a workflow, as far as it leads here.
func (h *Hub) Env() []string {
	token := h.token
	if token == "" {
		token = "ghs_storetest"
	}
	return []string{"GITHUB_API_URL=" + h.URL(), "GITHUB_REPOSITORY=" + h.repo, "GITHUB_TOKEN=" + token}
}

// Client is an HTTP client whose connections end with the server.
func (h *Hub) Client() *http.Client { return h.server.Client() }

// Close ends the server before its time: from then on it cannot be reached.
func (h *Hub) Close() { h.server.Close() }

// Handle adds a handler for a pattern of http.ServeMux, such as
// "GET /api/v3/repos/octo/state-keeper/issues". Its requests are counted, and
// can be made to fail, under the pattern as their Op.
func (h *Hub) Handle(pattern string, handler http.Handler) {
	h.handle(Op(pattern), pattern, handler.ServeHTTP)
}

// Asked is how many requests there were, of each kind, since it was called last.
// What the server does not know counts as "METHOD /path".
func (h *Hub) Asked() map[Op]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := h.asked
	h.asked = map[Op]int{}
	return counts
}

// Log is every request so far, as "METHOD /path?query".
func (h *Hub) Log() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string{}, h.log...)
}

func (h *Hub) count(op Op, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[op]++
	h.log = append(h.log, r.Method+" "+r.URL.RequestURI())
}

// jsonObject is a JSON object.
type jsonObject map[string]any

// rawBody is an answer that is a file itself.
type rawBody string

func errorMessage(text string) jsonObject { return jsonObject{"message": text} }

func writeResponse(w http.ResponseWriter, status int, header http.Header, v any) {
	maps.Copy(w.Header(), header)
	if file, ok := v.(rawBody); ok {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(file)) // who hung up has no need of it
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
