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

// Config holds the settings of a Hub; the zero value is valid.
type Config struct {
	Repo  string                          // owner/name; octo/state-keeper when empty
	Root  string                          // the path of the REST API; /api/v3 when empty
	Token string                          // the only one that is valid; any when empty
	Wrap  func(http.Handler) http.Handler // wraps the handler of all requests; nil for no wrapper
}

// Hub is a GitHub server with one repository, which has code on its default
// branch, main. See the documentation of the package.
type Hub struct {
	t      testing.TB
	repo   string
	token  string
	others map[string]bool // more valid tokens
	root   string
	server *httptest.Server
	mux    *http.ServeMux
	git    func() *gitRepo // makes the repository when it is first needed

	mu        sync.Mutex
	asked     map[Op]int
	log       []string
	faults    map[Op][]Fault
	faultsAt  map[int]Fault   // faults by the length of the log before the request
	denied    map[string]bool // permissions
	protected map[string]bool // branches
	runs      map[int64][]Run // attempts by run
	trunk     string
	renamed   string
	archived  bool
	hidden    bool
	unsigned  bool
	limited   time.Time
}

// New starts a server for the length of the test.
func New(t testing.TB, cfg Config) *Hub {
	t.Helper()
	h := &Hub{
		t: t, repo: "octo/state-keeper", root: "/api/v3", token: cfg.Token, others: map[string]bool{}, mux: http.NewServeMux(), git: lazyGitRepo(t),
		asked: map[Op]int{}, faults: map[Op][]Fault{}, faultsAt: map[int]Fault{}, denied: map[string]bool{}, protected: map[string]bool{}, runs: map[int64][]Run{},
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

// URL returns the root of the REST API in the form of GITHUB_API_URL, without a
// slash at its end.
func (h *Hub) URL() string { return h.server.URL + h.root }

// Repo returns the repository, as owner/name.
func (h *Hub) Repo() string { return h.repo }

// Env returns the environment variables that lead a workflow step to this server.
func (h *Hub) Env() []string {
	token := h.token
	if token == "" {
		token = "ghs_storetest"
	}
	return []string{"GITHUB_API_URL=" + h.URL(), "GITHUB_REPOSITORY=" + h.repo, "GITHUB_TOKEN=" + token}
}

// Client returns an HTTP client whose connections end with the server.
func (h *Hub) Client() *http.Client { return h.server.Client() }

// Close stops the server before the end of the test.
func (h *Hub) Close() { h.server.Close() }

// Handle adds a handler for a pattern of http.ServeMux, such as
// "GET /api/v3/repos/octo/state-keeper/issues". Asked counts its requests, and Fail
// makes them fail, with the pattern as their Op.
func (h *Hub) Handle(pattern string, handler http.Handler) {
	h.handle(Op(pattern), pattern, handler.ServeHTTP)
}

// HandleFor adds a handler for the requests of a pattern that need a permission of the
// repository, as a workflow writes it. They are counted, and can fail, as op, and the
// lasting faults concern them too.
func (h *Hub) HandleFor(permission string, op Op, pattern string, handler http.Handler) {
	h.handle(op, pattern, func(w http.ResponseWriter, r *http.Request) {
		if status, header, v := h.lastingFault(permission, r); status != 0 {
			writeResponse(w, status, header, v)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// Asked returns the number of requests of each kind since the last call of
// Asked. The kind of a request that the server does not know is "METHOD /path".
func (h *Hub) Asked() map[Op]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := h.asked
	h.asked = map[Op]int{}
	return counts
}

// Log returns every request so far, as "METHOD /path?query".
func (h *Hub) Log() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string{}, h.log...)
}

// count notes a request and returns the number of requests before it.
func (h *Hub) count(op Op, r *http.Request) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[op]++
	h.log = append(h.log, r.Method+" "+r.URL.RequestURI())
	return len(h.log) - 1
}

// jsonObject is a JSON object.
type jsonObject map[string]any

// rawBody is an answer that is not JSON, such as the content of a file.
type rawBody string

func errorMessage(text string) jsonObject { return jsonObject{"message": text} }

func writeResponse(w http.ResponseWriter, status int, header http.Header, v any) {
	maps.Copy(w.Header(), header)
	if file, ok := v.(rawBody); ok {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(file)) // the client may have hung up
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// Op is a kind of request: its method, and its path below the repository without the varying
// parts.
type Op string

// The kinds of requests that the server knows.
const (
	Repository Op = "GET /"
	Ref        Op = "GET /git/ref"
	Contents   Op = "GET /contents"
	History    Op = "GET /commits"
	Tree       Op = "POST /git/trees"
	Commit     Op = "POST /git/commits"
	Create     Op = "POST /git/refs"
	Move       Op = "PATCH /git/refs"
	Runs       Op = "GET /actions/runs"
	LatestRun  Op = "GET /actions/runs/{id}"
	Attempt    Op = "GET /actions/runs/{id}/attempts"
	Jobs       Op = "GET /actions/runs/{id}/attempts/jobs"
)

// route describes one kind of request: its pattern, the permission that it needs,
// and its handler.
type route struct {
	op      Op
	pattern string
	need    string
	reply   func(*http.Request) (status int, v any)
}

// addRoutes registers the handlers of all requests that the server knows.
func (h *Hub) addRoutes() {
	const read, change, actions = "contents: read", "contents: write", "actions: read"
	repo := h.root + "/repos/" + h.repo
	routes := []route{
		{Repository, "GET " + repo, "metadata: read", h.getRepository},
		{Ref, "GET " + repo + "/git/ref/heads/{branch...}", read, h.getRef},
		{Contents, "GET " + repo + "/contents/{path...}", read, h.getContents},
		{History, "GET " + repo + "/commits", read, h.getCommits},
		{Tree, "POST " + repo + "/git/trees", change, h.postTree},
		{Commit, "POST " + repo + "/git/commits", change, h.postCommit},
		{Create, "POST " + repo + "/git/refs", change, h.postRef},
		{Move, "PATCH " + repo + "/git/refs/heads/{branch...}", change, h.patchRef},
		{Runs, "GET " + repo + "/actions/runs", actions, h.getRuns},
		{LatestRun, "GET " + repo + "/actions/runs/{id}", actions, h.getRun},
		{Attempt, "GET " + repo + "/actions/runs/{id}/attempts/{attempt}", actions, h.getAttempt},
		{Jobs, "GET " + repo + "/actions/runs/{id}/attempts/{attempt}/jobs", actions, h.getJobs},
	}
	for _, r := range routes {
		h.HandleFor(r.need, r.op, r.pattern, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			status, v := r.reply(req)
			writeResponse(w, status, nil, v)
		}))
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		h.count(Op(req.Method+" "+req.URL.Path), req)
		writeResponse(w, http.StatusNotFound, nil, errorMessage("Not Found"))
	})
}

// handle adds a handler whose requests are counted, and can fail, as op.
func (h *Hub) handle(op Op, pattern string, handler http.HandlerFunc) {
	h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { h.serve(op, w, r, handler) })
}
