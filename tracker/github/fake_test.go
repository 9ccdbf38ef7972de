package github

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

const (
	fakeRepo  = "acme/shop"
	fakeToken = "ghp_s3cr3tT0k3n"
)

// fake is GitHub with one repository: stateful, over HTTP, with ETags, pages,
// permissions, and faults on demand.
type fake struct {
	t      testing.TB
	server *httptest.Server
	log    *lockedBuffer
	schema *ast.Schema

	mu          sync.Mutex
	issues      map[int]*fakeIssue
	clock       time.Time
	requests    []string          // "METHOD path?query status"
	permissions map[string]string // by login
	boards      map[int]*fakeBoard
	labels      []string // of the repository, in addition to those of its issues
	exactLabels bool     // a label is found only by its exact spelling
	comments    []string
	loses       bool           // the answer to the next comment
	heads       map[int]string // owner/name:branch that a pull request comes from
	account     fakeUser       // of the token
	noSummary   bool           // as servers without dependencies
	noBlockers  bool           // the same: their endpoint is missing
	perPage     int            // caps per_page when above 0
	fault       func(w http.ResponseWriter, r *http.Request) bool
	observe     func(r *http.Request, body []byte, status int, h http.Header, answer []byte)
}

// fakeIssue is an issue or a pull request of the fake.
type fakeIssue struct {
	number             int
	title, body, state string
	author             fakeUser
	association        string
	labels             []string
	created, updated   time.Time
	pull, corrupt      bool
	gone               int // status instead of the issue
	blockedBy          []int
	edits, renames     []fakeEvent
	labelings          []fakeEvent
	items              map[int]string // status by number of board
	moreBoards         bool           // than the answer lists
	comments           []fakeIssueComment
}

// app is the account of an App's token as the author of comments.
var app = fakeUser{"symphony", "Bot"}

// fakeUser is an account of the fake.
type fakeUser struct {
	Login string
	Type  string // User, Bot, Organization, …
}

// fakeEvent is something that somebody did to an issue. Only labelings have a
// label.
type fakeEvent struct {
	by    *fakeUser
	at    time.Time
	label string
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newFake(t testing.TB) *fake {
	f := &fake{
		t: t, log: new(lockedBuffer), schema: schema(t), issues: make(map[int]*fakeIssue), clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		account: app, permissions: map[string]string{"mem": "write"}, boards: make(map[int]*fakeBoard),
	}
	f.observe = describedExchange(t)
	mux := http.NewServeMux()
	f.routes(mux)
	f.server = httptest.NewServer(f.recorded(mux))
	t.Cleanup(f.server.Close)
	return f
}

// config returns a Config that is connected to the fake.
func (f *fake) config(more map[string]any, active, terminal []string) Config {
	f.t.Helper()
	provider := map[string]any{"repo": fakeRepo, "api_key": fakeToken, "api_url": f.server.URL}
	maps.Copy(provider, more)
	cfg := decode(f.t, provider)
	cfg.Options = tracker.Options{ActiveStates: active, TerminalStates: terminal, Poll: time.Minute}
	return cfg
}

// decode returns settings that must be good.
func decode(t testing.TB, written map[string]any) Config {
	t.Helper()
	cfg, problems := trackertest.Decode(Kind(), written)
	if problems != nil {
		t.Fatal(problems)
	}
	return *cfg.(*Config)
}

// open returns an adapter whose states are "open" and "closed".
func (f *fake) open() *repository { return f.openWith(nil, []string{"open"}, []string{"closed"}) }

func (f *fake) openWith(more map[string]any, active, terminal []string) *repository {
	f.t.Helper()
	return f.openConfig(f.config(more, active, terminal))
}

func (f *fake) openConfig(cfg Config) *repository {
	f.t.Helper()
	r, err := newRepository(cfg, f.server.Client().Transport, slog.New(slog.NewTextHandler(f.log, nil)))
	if err != nil {
		f.t.Fatal(err)
	}
	r.client.Transport.Pause = time.Millisecond
	return r
}

// put adds an issue by a member, changed as edit says, and gives its number.
func (f *fake) put(edit func(*fakeIssue)) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock = f.clock.Add(time.Minute)
	i := &fakeIssue{
		number: len(f.issues) + 1, title: "An issue", body: "Its text.", state: stateOpen, created: f.clock, updated: f.clock,
		author: fakeUser{"mem", "User"}, association: "MEMBER", items: make(map[int]string),
	}
	if edit != nil {
		edit(i)
	}
	f.issues[i.number] = i
	return i.number
}

// change edits an issue as anything on GitHub does: its time of update moves.
func (f *fake) change(number int, edit func(*fakeIssue)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock = f.clock.Add(time.Minute)
	f.issues[number].updated = f.clock
	edit(f.issues[number])
}

// asked returns the requests so far and forgets them.
func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.requests
	f.requests = nil
	return list
}

// setFault lets fault answer requests. When it returns false, the fake answers.
func (f *fake) setFault(fault func(http.ResponseWriter, *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// failWith lets every request fail from now on.
func (f *fake) failWith(status int, header map[string]string, body string) {
	f.setFault(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		for key, value := range header {
			w.Header().Set(key, value)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
		return true
	})
}

func (f *fake) recorded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		f.mu.Lock()
		fault := f.fault
		f.mu.Unlock()
		answer := httptest.NewRecorder()
		note := func(status int) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.requests = append(f.requests, fmt.Sprintf("%s %s %d", r.Method, r.URL.RequestURI(), status))
		}
		if fault != nil && fault(w, r) {
			note(0)
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+fakeToken {
			reply(answer, http.StatusUnauthorized, map[string]any{"message": "Bad credentials"})
		} else {
			next.ServeHTTP(answer, r)
		}
		tag := fmt.Sprintf("W/\"%x\"", sha256.Sum256(answer.Body.Bytes()))
		status := answer.Code
		if r.Method == http.MethodGet && status == http.StatusOK {
			answer.Header().Set("ETag", tag)
			if r.Header.Get("If-None-Match") == tag {
				status = http.StatusNotModified
			}
		}
		note(status)
		if f.observe != nil {
			f.observe(r, body, answer.Code, answer.Header(), answer.Body.Bytes())
		}
		if f.losesAnswer(r) {
			panic(http.ErrAbortHandler)
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(status)
		if status != http.StatusNotModified {
			w.Write(answer.Body.Bytes())
		}
	})
}

// losesAnswer reports whether the connection breaks before the answer to r.
func (f *fake) losesAnswer(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	loses := f.loses && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/comments")
	f.loses = f.loses && !loses
	return loses
}

// list reads the issues in a state, which must work.
func (f *fake) list(r *repository, states ...string) []tracker.Issue {
	f.t.Helper()
	issues, err := r.IssuesByState(f.t.Context(), states)
	if err != nil {
		f.t.Fatal(err)
	}
	return issues
}

func (f *fake) read(r *repository, ids ...tracker.ID) []tracker.Issue {
	f.t.Helper()
	issues, err := r.IssuesByID(f.t.Context(), ids)
	if err != nil {
		f.t.Fatal(err)
	}
	return issues
}
