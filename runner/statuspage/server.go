package statuspage

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/report"
)

// Server shows the latest progress of a run. It reads nothing else and changes nothing; a
// refresh asks the run for an early poll, and a command of [Control] is passed to it.
type Server struct {
	redactor  *redact.Redactor
	refresh   chan<- struct{}
	control   Control
	latest    atomic.Pointer[snapshot] // nil until the state is read
	clients   *clients
	every     time.Duration // between two updates of a page at least
	heartbeat time.Duration // between two signs of life of a page without updates
	patience  time.Duration // with a page that is slow
}

// snapshot is one progress, and what was made of it so far.
type snapshot struct {
	view func() *view

	mu        sync.Mutex
	overviews map[string]*overview // by path and part
}

// overview returns a part of a page of the run, which all readers share. A part after the
// last one is the last one: the list was longer when somebody opened the page.
func (s *snapshot) overview(path string, part int) *overview {
	v := s.view()
	part = min(part, runPages[path].parts(v))
	at := partPath(path, part)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.overviews[at] == nil {
		s.overviews[at] = overviewOf(v, path, part)
	}
	return s.overviews[at]
}

// New returns a server that hides what the redactor hides. A request for an early poll
// sends to refresh, which must be buffered, unless its buffer is full.
func New(r *redact.Redactor, refresh chan<- struct{}) *Server {
	return &Server{redactor: r, refresh: refresh, clients: newClients(), every: updateEvery, heartbeat: heartbeat, patience: patience}
}

// Take makes the server take commands. It must be called before the first request.
func (s *Server) Take(c Control) { s.control = c }

// Show replaces what the server shows.
func (s *Server) Show(p progress.Progress) {
	s.latest.Store(&snapshot{view: sync.OnceValue(func() *view { return viewOf(p, s.redactor) }), overviews: map[string]*overview{}})
	s.clients.wake()
}

// Close ends the updates of open pages. Other requests are answered as before.
func (s *Server) Close() { s.clients.end() }

// Handler returns the handler of all requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(method, path string, serve http.HandlerFunc) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == method || method == http.MethodGet && r.Method == http.MethodHead {
				serve(w, r)
				return
			}
			allowed := method
			if method == http.MethodGet {
				allowed += ", " + http.MethodHead
			}
			w.Header().Set("Allow", allowed)
			s.fail(w, r, http.StatusMethodNotAllowed, "method_not_allowed", r.URL.Path+" answers "+allowed+" alone")
		})
	}
	for path := range runPages {
		at := strings.TrimSuffix(path, "/")
		handle(http.MethodGet, path+map[bool]string{true: "{$}"}[path == "/"], s.pageOf(path))
		handle(http.MethodGet, at+"/events", s.eventsOf(path))
	}
	handle(http.MethodGet, "/issues/{issue}", s.shown(s.serveIssue))
	handle(http.MethodGet, "/issues/{issue}/events", s.serveIssueEvents)
	handle(http.MethodGet, "/icon.svg", s.serveIcon)
	handle(http.MethodGet, "/api/v1/state", s.shown(s.serveState))
	handle(http.MethodGet, "/api/v1/{issue}", s.shown(s.serveIssueState))
	handle(http.MethodPost, "/api/v1/refresh", s.serveRefresh)
	handle(http.MethodPost, "/api/v1/{issue}/command", s.shown(s.serveCommand))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, http.StatusNotFound, "not_found", "there is nothing at "+clean(s.redactor, r.URL.Path, maxName))
	})
	return withHeaders(s.localOnly(mux))
}

// shown returns a handler that calls serve with the latest snapshot. Before the first one
// it answers that the state is not read yet (SPEC §13.3): an empty snapshot would say
// that nothing runs.
func (s *Server) shown(serve func(http.ResponseWriter, *http.Request, *snapshot)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		snap := s.latest.Load()
		if snap == nil {
			w.Header().Set("Retry-After", "1")
			s.fail(w, r, http.StatusServiceUnavailable, "unavailable", "the state is not read yet: ask again")
			return
		}
		serve(w, r, snap)
	}
}

// serveRefresh asks the run for a poll at once. Requests that come before it began are
// served by the same poll.
func (s *Server) serveRefresh(w http.ResponseWriter, r *http.Request) {
	if !isEmptyObject(http.MaxBytesReader(w, r.Body, maxRefreshBody)) {
		s.fail(w, r, http.StatusBadRequest, "bad_request", "want no body, or {}")
		return
	}
	answer := refreshJSON{Queued: true, RequestedAt: report.Time{Time: time.Now()}, Operations: []string{"poll", "reconcile"}}
	select {
	case s.refresh <- struct{}{}:
	default:
		answer.Coalesced = true
	}
	writeJSON(w, http.StatusAccepted, answer)
}

// maxRefreshBody bounds the body of a request for a poll, in bytes.
const maxRefreshBody = 1 << 10

func isEmptyObject(body io.Reader) bool {
	text, err := io.ReadAll(body)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return err == nil
	}
	var members map[string]json.RawMessage
	return json.Unmarshal(text, &members) == nil && members != nil && len(members) == 0
}

// localOnly refuses requests that a web page of somebody else makes through the user's
// browser. They name another host (the name of that page, when its address was changed to
// the local one), or the browser says that they come from another site. A link that
// somebody follows is no such request.
func (s *Server) localOnly(next http.Handler) http.Handler {
	refuse := func(w http.ResponseWriter, r *http.Request, message string) {
		explain(w, http.StatusForbidden, "forbidden", message, wantsPage(r)) // whatever was asked for
	}
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, "this request comes from a page of another origin")
	}))
	return cross.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch site := r.Header.Get("Sec-Fetch-Site"); {
		case !isLoopback(r.Host):
			refuse(w, r, "this server answers on localhost only"+localAddress(r))
		case (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			refuse(w, r, "this request comes from a page of another origin")
		default:
			next.ServeHTTP(w, r)
		}
	}))
}

// isLoopback reports whether a host, with a port or without, names this machine.
func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// localAddress returns the address of the server for a browser, as the end of a sentence; empty if
// the connection does not say.
func localAddress(r *http.Request) string {
	address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if address == nil {
		return ""
	}
	return ": open http://" + address.String() + "/"
}

// wantsPage reports whether a request is that of a browser which shows its answer to somebody.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// fail answers with an error: in JSON, except to somebody who looks at a page.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	explain(w, status, code, message, !strings.HasPrefix(r.URL.Path, "/api") && wantsPage(r))
}

func explain(w http.ResponseWriter, status int, code, message string, asPage bool) {
	if asPage {
		title := http.StatusText(status)
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Refresh", "1")
		}
		writePage(w, status, render("problem", problemPage{page{Title: title}, message}))
		return
	}
	writeJSON(w, status, errorJSON{Error: errorDetail{Code: code, Message: message}})
}

// problemPage answers with a page that says why the requested page is not shown.
type problemPage struct {
	page
	Message string
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // a client that hangs up is not a failure
}
