package attempt

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// TestAHookThatReachesNoHostSaysWhichLineIsMissing has the last words of npm.
func TestAHookThatReachesNoHostSaysWhichLineIsMissing(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n")
	f.job.Repository.Hooks.AfterCreate = "echo 'npm error code EAI_AGAIN'; exit 1"
	got := f.session(t.Context())
	if !strings.HasSuffix(got.Why, "write `network: [node]` in the section hooks") || strings.Contains(got.Fault, "network") {
		t.Errorf("%+v", got)
	}
}

// TestHooksHaveTheVariablesOfTheirNetwork has the scripted agent, without a sandbox.
func TestHooksHaveTheVariablesOfTheirNetwork(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n")
	f.job.Loopback = runtime.GOOS == "linux"
	f.job.HookNetwork = codex.Network{Hosts: []string{"registry.example"}}
	f.job.Repository.Hooks.AfterCreate = `test -z "$GOPROXY$UV_OFFLINE" && test "$npm_config_audit" = false && test -n "$SYMPHONY_NETWORK"`
	f.job.Repository.Verify = []string{`test "$GOPROXY" = off && test -z "$SYMPHONY_NETWORK"`}
	got := f.session(t.Context())
	if runtime.GOOS != "linux" {
		if got.Class != schedule.Systemic || !strings.Contains(got.Why, "only Linux") {
			t.Errorf("%+v", got)
		}
		return
	}
	if got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 {
		t.Errorf("%+v", got)
	}
}

// testHost is a server of the test that stands in for a host with a private address.
type testHost struct {
	name string
	url  string
	ask  string // shell code of a function that makes a request: METHOD PATH

	files map[string]string // what it serves, by path; other paths say hello

	mu   sync.Mutex
	seen []string // requests
}

// newTestHost returns a host that commands in a sandbox reach by its name alone.
func newTestHost(t *testing.T) *testHost {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives each command a network of its own")
	}
	name, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	addresses, err := net.LookupHost(name)
	if err != nil {
		t.Skipf("the name of this machine is not known: %v", err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(addresses[0], "0"))
	if err != nil {
		t.Skipf("the name of this machine is not its own: %v", err)
	}
	h := &testHost{name: name, url: "http://" + net.JoinHostPort(name, portOf(listener))}
	server := httptest.NewUnstartedServer(h)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	h.ask = strings.ReplaceAll(`ask() { p=${http_proxy#http://127.0.0.1:}; exec 3<>"/dev/tcp/127.0.0.1/${p:-1}" && printf '%s http://HOST/%s HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' "$1" "$2" >&3 && grep -q '^HTTP/1.1 200' <&3; }
`, "HOST", strings.TrimPrefix(h.url, "http://"))
	return h
}

// portOf returns the port of a listener.
func portOf(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// ServeHTTP answers each request.
func (h *testHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, r.Method+" "+r.URL.Path)
	if body, known := h.files[r.URL.Path]; known {
		fmt.Fprint(w, body)
		return
	}
	fmt.Fprint(w, "hello")
}

// requests returns the requests so far.
func (h *testHost) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen)
}

// TestHooksReachTheirHostsAndTheAgentDoesNot has the real Codex.
func TestHooksReachTheirHostsAndTheAgentDoesNot(t *testing.T) {
	t.Parallel()
	host := newTestHost(t)
	f := newCodexRepository(t, map[string]string{"ask": host.ask}, runs(t, ". ./ask; echo done > a.txt; ask GET turn && echo reached > b.txt"), done)
	f.job.HookNetwork = codex.Network{Hosts: []string{host.name}, Private: true}
	f.job.Repository.Hooks.AfterCreate = ". ./ask; ask GET hook && ! ask POST hook"
	f.job.Repository.Verify = []string{". ./ask; ! ask GET verify && test -e a.txt && test ! -e b.txt"}
	f.delivers()
	if seen, want := host.requests(), []string{"GET /hook", "GET /hook"}; !slices.Equal(seen, want) { // in the workspace, and before the check
		t.Errorf("the host has seen %q, want %q", seen, want)
	}
}
