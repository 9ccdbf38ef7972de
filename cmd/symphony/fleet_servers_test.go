package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/storetest"
)

// wrap counts the requests of each process, and kills it at one of them.
func (f *fleets) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		p := f.byToken[storetest.TokenOf(r)]
		now := false
		if p != nil {
			now = !p.killed && p.requests+p.queries+p.unchanged+1 == p.killAt
			p.killed = p.killed || now
		}
		f.mu.Unlock()
		if p == nil {
			next.ServeHTTP(w, r)
			return
		}
		if now && !p.late {
			p.kill()
			panic(http.ErrAbortHandler)
		}
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		f.count(p, r, rec.Code)
		if now {
			p.kill()
			panic(http.ErrAbortHandler)
		}
		maps.Copy(w.Header(), rec.Header())
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()) // the process may be gone
	})
}

// count counts an answered request.
func (f *fleets) count(p *jobProcess, r *http.Request, status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if status == http.StatusNotModified {
		if p.unchanged++; p.unchanged == p.hold {
			close(p.polled)
		}
		return
	}
	if strings.HasSuffix(r.URL.Path, "/graphql") {
		p.queries++
		return
	}
	p.requests++
	if strings.Contains(r.URL.Path, "/actions/runs/") && !strings.HasSuffix(r.URL.Path, "/artifacts") {
		p.liveness++
	}
	if strings.Contains(r.URL.Path, "/git/refs") && r.Method != http.MethodGet && status < 300 {
		p.saves++
	}
}

// serveAgent answers a session, which asks with the path of its workspace.
func (f *fleets) serveAgent(w http.ResponseWriter, r *http.Request) {
	number, _ := strconv.Atoi(strings.TrimPrefix(filepath.Base(r.URL.Path), "GH-"))
	f.mu.Lock()
	p := f.byDir[filepath.Dir(filepath.Dir(r.URL.Path))]
	if p == nil || p.over {
		f.mu.Unlock()
		w.WriteHeader(http.StatusGone) // its machine is gone
		return
	}
	if other := f.working[number]; other != nil {
		f.t.Errorf("%s and %s work on issue %d at the same time", other.name, p.name, number)
	}
	if f.handed[number] {
		f.t.Errorf("%s works on issue %d, which was handed over", p.name, number)
	}
	f.working[number] = p
	p.reached++
	kill := p.reached == 1 && !p.killed && p.killWhen != sessionNever
	p.killed = p.killed || kill
	fails := f.failing[number] > 0
	if fails {
		f.failing[number]--
	}
	f.mu.Unlock()
	if kill && p.killWhen == sessionWorks {
		p.kill()
		panic(http.ErrAbortHandler)
	}
	if p.hold > 0 {
		select {
		case <-p.polled:
		case <-p.dead:
		}
	}
	if fails {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	f.handOver(number)
	if kill {
		p.kill()
		panic(http.ErrAbortHandler)
	}
}

// handOver takes the label off an issue.
func (f *fleets) handOver(number int) {
	f.mu.Lock()
	f.handed[number] = true
	f.mu.Unlock()
	req, err := http.NewRequest(http.MethodDelete, fmt.Sprintf("%s/repos/%s/issues/%d/labels/symphony", f.hub.URL(), f.hub.Repo(), number), nil)
	if err != nil {
		f.t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer ghs_0123456789abcdefTOKEN")
	answer, err := f.hub.Client().Do(req)
	if err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusOK {
		f.t.Errorf("hand over issue %d: %v", number, err)
	}
}
