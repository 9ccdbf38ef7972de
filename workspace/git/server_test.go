package git

import (
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const testToken = "ghs_0123456789abcdefTOKEN"

// server is git's own HTTP server in front of a bare repository, as strict as a hosting
// service: it wants the token for everything.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string                                                 // methods and paths, without those that lacked the token
	before   func(w http.ResponseWriter, r *http.Request) (done bool) // may answer instead; nil for nothing
	token    Token                                                    // that it wants
	sent     func(r *http.Request, n int)                             // is told of the bytes of an answer; nil for nobody
	received atomic.Int64                                             // bytes of requests
}

// serve serves the repositories of a folder.
func serve(t testing.TB, folder string) *server {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Skip("there is no git here")
	}
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skip("there is no git-http-backend here")
	}
	s := &server{token: testToken}
	handler := &cgi.Handler{
		Path: backend, Dir: folder,
		Env: []string{"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=symphony", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"},
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		token := s.token
		s.mu.Unlock()
		if _, password, _ := r.BasicAuth(); password != string(token) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
		before, sent := s.before, s.sent
		s.mu.Unlock()
		if before != nil && before(w, r) {
			return
		}
		r.Body = countedBody{r.Body, &s.received}
		if sent != nil {
			w = countedAnswer{w, r, sent}
		}
		if protocol := r.Header.Get("Git-Protocol"); protocol != "" {
			h := *handler
			h.Env = append(slices.Clone(h.Env), "GIT_PROTOCOL="+protocol)
			h.ServeHTTP(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// answer makes the server answer otherwise from now on.
func (s *server) answer(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// watch has the server tell of all it sends from now on. A panic with http.ErrAbortHandler
// there cuts the connection.
func (s *server) watch(f func(r *http.Request, n int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = f
}

type countedAnswer struct {
	http.ResponseWriter
	r    *http.Request
	sent func(r *http.Request, n int)
}

func (c countedAnswer) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.sent(c.r, n)
	return n, err
}

type countedBody struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c countedBody) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// accept makes the server want another token from now on.
func (s *server) accept(token Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// seen returns the requests since the last call.
func (s *server) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// remote returns the remote of a repository on the server.
func (s *server) remote(t testing.TB, name string, token Token) Remote {
	t.Helper()
	r, err := ParseRemote(s.URL+"/"+name, token)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
