package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/redact"
	"github.com/symphony-runner/symphony/runner/workflow"
)

//go:embed status.html
var statusFiles embed.FS

// checkPort returns an error for a --port that cannot be served.
func (t *tickCommand) checkPort() error {
	const most = 1<<16 - 1
	switch {
	case t.port == nil:
		return nil
	case *t.port < 0 || *t.port > most:
		return fmt.Errorf("%w: --port %d: want 0 (any free port) to %d", errUsage, *t.port, most)
	case t.once || t.dryRun || t.actions.InActions():
		return fmt.Errorf("%w: --port is for the long-running mode: leave it out with --once, --dry-run and inside Actions", errUsage)
	}
	return nil
}

// serve starts the status server of the long-running mode (SPEC §13.3), if the
// command line or the workflow asks for one. The returned function ends it.
func (t *tickCommand) serve(r *runner.Runner, wf workflow.Workflow, console *console) (stop func(), err error) {
	port := wf.Settings.Port
	if t.port != nil {
		port = t.port
	}
	if port == nil || r.Once || t.dryRun {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		return nil, fmt.Errorf("serve status: %w: %w; choose another --port", errUsage, err)
	}
	refresh := make(chan struct{}, 1) // of one: a second request is served by the same poll
	r.Refresh = refresh
	s := &statusServer{redactor: t.redactor, refresh: refresh}
	display := r.Progress
	r.Progress = func(p progress.Progress) {
		s.now.Store(&p)
		if display != nil {
			display(p)
		}
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(listener) // ends with Close
	}()
	fmt.Fprintf(console, "status on http://%s\n", listener.Addr())
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		<-done
	}, nil
}

// statusServer shows the latest progress. It reads nothing else and changes
// nothing; a refresh asks the loop for an early poll.
type statusServer struct {
	now      atomic.Pointer[progress.Progress] // nil until the state is read
	refresh  chan<- struct{}
	redactor *redact.Redactor
}

func (s *statusServer) handler() http.Handler {
	page := template.Must(template.ParseFS(statusFiles, "status.html"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.snapshot(func(w http.ResponseWriter, _ *http.Request, now statusPage) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		page.Execute(w, now) // a reader that hangs up is no failure
	}))
	mux.HandleFunc("GET /api/v1/state", s.snapshot(func(w http.ResponseWriter, _ *http.Request, now statusPage) {
		writeJSON(w, http.StatusOK, now)
	}))
	mux.HandleFunc("GET /api/v1/{issue}", s.snapshot(func(w http.ResponseWriter, r *http.Request, now statusPage) {
		name := r.PathValue("issue")
		if detail, found := now.issue(name); found {
			writeJSON(w, http.StatusOK, detail)
			return
		}
		writeError(w, http.StatusNotFound, "issue_not_found", fmt.Sprintf("no claim of %q", name))
	}))
	mux.HandleFunc("POST /api/v1/refresh", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case s.refresh <- struct{}{}:
		default:
		}
		writeJSON(w, http.StatusAccepted, map[string]any{"queued": true, "requested_at": time.Now().UTC()})
	})
	return localOnly(mux)
}

// snapshot calls show with the latest snapshot. Until there is one it answers that
// there is none (SPEC §13.3): an empty snapshot would say that nothing runs.
func (s *statusServer) snapshot(show func(http.ResponseWriter, *http.Request, statusPage)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now := s.now.Load()
		if now == nil {
			writeError(w, http.StatusServiceUnavailable, "unavailable", "the state is not read yet: ask again")
			return
		}
		show(w, r, statusOf(redacted(*now, s.redactor), time.Now()))
	}
}

// writeError answers with an error in the form that all errors of the API have.
func writeError(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}

// localOnly refuses requests that a web page of somebody else makes through the
// user's browser: those name another host, or come from another origin.
func localOnly(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return cross.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(host); !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this server answers on localhost only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	}))
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(v) // a client that hangs up is no failure
}
