package github

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

const (
	fakeRepo  = "acme/shop"
	fakeToken = "ghp_s3cr3tT0k3n"
	// app is the account of the token.
	app = "symphony[bot]"
)

// fake is a private GitHub that records its requests and compares them with GitHub's
// description, with faults on demand.
type fake struct {
	*githubtest.GitHub
	t   testing.TB
	log *lockedBuffer

	mu       sync.Mutex
	requests []string // "METHOD path?query status"
	fault    func(w http.ResponseWriter, r *http.Request) bool
	observe  func(r *http.Request, body []byte, status int, h http.Header, answer []byte)
}

type (
	fakeIssue = githubtest.Issue
	fakeEvent = githubtest.Event
)

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

// newFake starts a server; wrap goes around it, in a benchmark.
func newFake(t testing.TB, wrap ...func(http.Handler) http.Handler) *fake {
	f := &fake{t: t, log: new(lockedBuffer), observe: describedExchange(t)}
	f.GitHub = githubtest.New(t, storetest.Config{Repo: fakeRepo, Root: "/", Token: fakeToken, Wrap: append(wrap, f.recorded)[0]})
	f.SetAccount(fakeToken, app)
	f.MakePrivate()
	return f
}

// config returns a Config that is connected to the fake.
func (f *fake) config(more map[string]any, active, terminal []string) Config {
	f.t.Helper()
	provider := map[string]any{"repo": fakeRepo, "api_key": fakeToken, "api_url": f.URL()}
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
	r, err := newRepository(cfg, f.Client().Transport, slog.New(slog.NewTextHandler(f.log, nil)))
	if err != nil {
		f.t.Fatal(err)
	}
	r.client.Transport.Pause = time.Millisecond
	return r
}

// put adds an issue by a member, changed as edit says, and gives its number.
func (f *fake) put(edit func(*fakeIssue)) int {
	n := f.AddIssue(fakeIssue{Title: "An issue", Body: "Its text.", Association: "MEMBER"})
	f.Change(n, func(i *fakeIssue) {
		if i.Updated = i.Created; edit != nil {
			edit(i)
		}
	})
	return n
}

// texts returns the comments on an issue.
func (f *fake) texts(number int) (list []string) {
	for _, c := range f.Issue(number).Comments {
		list = append(list, c.Body)
	}
	return list
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

// reply sends an answer in JSON; headers may replace its type.
func reply(w http.ResponseWriter, status int, header map[string]string, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	for key, value := range header {
		w.Header().Set(key, value)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// failWith lets every request fail from now on.
func (f *fake) failWith(status int, header map[string]string, body string) {
	f.setFault(func(w http.ResponseWriter, _ *http.Request) bool {
		reply(w, status, header, body)
		return true
	})
}

func (f *fake) recorded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		status := 0
		defer func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.requests = append(f.requests, fmt.Sprintf("%s %s %d", r.Method, r.URL.RequestURI(), status))
		}()
		f.mu.Lock()
		fault := f.fault
		f.mu.Unlock()
		if fault != nil && fault(w, r) {
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		if status = answer.Code; f.observe != nil && status != http.StatusNotModified {
			f.observe(r, body, status, answer.Header(), answer.Body.Bytes())
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(status)
		_, _ = w.Write(answer.Body.Bytes()) // the client may have hung up
	})
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

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// discussion lets accounts of the fake talk.
func (f *fake) discussion() *trackertest.Discussion {
	f.SetPermission("reader", "read")
	accounts := map[string]string{"linter": "linter[bot]", "acme": "acme[organization]"}
	at := func(at time.Time, do func()) {
		f.SetClock(func() time.Time { return at })
		do()
		f.SetClock(nil)
	}
	return &trackertest.Discussion{
		Trusted: githubtest.Member,
		Owner: func() string {
			f.SetAccount(fakeToken, "owner")
			f.SetPermission("owner", "write")
			return "owner"
		},
		Strangers: []string{"mallory", "reader", "linter", "acme", ""},
		Say: func(id tracker.ID, author, text string, when time.Time) (comment string) {
			at(when, func() { comment = f.AddComment(atoi(string(id)), cmp.Or(accounts[author], author), text) })
			return comment
		},
		Edit: func(_ tracker.ID, comment, text string, when time.Time) {
			at(when, func() { f.EditComment(comment, text) })
		},
		Retract: func(_ tracker.ID, comment string) { f.DeleteComment(comment) },
		ToolCall: func(_ tracker.ID, text string) (string, string) {
			return tracker.UpdateTool, fmt.Sprintf(`{"comment": %q}`, text)
		},
		Reactions: func(_ tracker.ID, comment string) int { return len(f.Reactions(comment)) },
	}
}
