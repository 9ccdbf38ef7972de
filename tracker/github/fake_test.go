package github

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/vektah/gqlparser/v2/ast"
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
	issues      map[int]*ticket
	clock       time.Time
	requests    []string          // "METHOD path?query status"
	permissions map[string]string // by login
	boards      map[int]*fakeBoard
	labels      []string // of the repository, besides those that issues bear
	exactLabels bool     // a label is found by its own spelling alone
	comments    []string
	pulls       []map[string]any
	pushed      func(branch string) bool // whether a pull request can be opened from it
	refs        map[string]string
	changed     map[string][]string // files that a commit changes
	noSummary   bool                // as servers without dependencies
	noBlockers  bool                // the same: their endpoint is missing
	perPage     int                 // caps per_page when above 0
	fault       func(w http.ResponseWriter, r *http.Request) bool
	observe     func(r *http.Request, body []byte, status int, h http.Header, answer []byte)
}

// ticket is an issue of the fake.
type ticket struct {
	number             int
	title, body, state string
	author             account
	association        string
	labels             []string
	created, updated   time.Time
	pull, corrupt      bool
	gone               int // status instead of the issue
	blockedBy          []int
	edits, renames     []deed
	labelings          []deed
	items              map[int]string // status by number of board
	moreBoards         bool           // than are told
}

type account struct {
	Login string
	Type  string // User, Bot, Organization, …
}

// deed is something somebody did to an issue; label is for labelings.
type deed struct {
	by    *account
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
		t: t, log: new(lockedBuffer), schema: schema(t), pushed: func(string) bool { return true }, issues: make(map[int]*ticket), clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		permissions: map[string]string{"mem": "write"}, boards: make(map[int]*fakeBoard), refs: make(map[string]string), changed: make(map[string][]string),
	}
	f.observe = describedExchange(t)
	mux := http.NewServeMux()
	f.routes(mux)
	f.server = httptest.NewServer(f.recorded(mux))
	t.Cleanup(f.server.Close)
	return f
}

// config is a workflow's, connected to the fake.
func (f *fake) config(more map[string]any, active, terminal []string) Config {
	f.t.Helper()
	provider := map[string]any{"repo": fakeRepo, "api_key": fakeToken, "api_url": f.server.URL}
	maps.Copy(provider, more)
	cfg, err := ConfigFrom(provider, active, terminal)
	if err != nil {
		f.t.Fatal(err)
	}
	cfg.Poll = time.Minute
	return cfg
}

// open is an adapter for the issues that are open or closed.
func (f *fake) open() *repository { return f.openWith(nil, []string{"open"}, []string{"closed"}) }

func (f *fake) openWith(more map[string]any, active, terminal []string) *repository {
	f.t.Helper()
	return f.openConfig(f.config(more, active, terminal))
}

func (f *fake) openConfig(cfg Config) *repository {
	f.t.Helper()
	r, err := newRepository(cfg, f.server.Client(), slog.New(slog.NewTextHandler(f.log, nil)))
	if err != nil {
		f.t.Fatal(err)
	}
	r.wire.pause = time.Millisecond
	return r
}

// put adds an issue by a member, changed as edit says, and gives its number.
func (f *fake) put(edit func(*ticket)) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock = f.clock.Add(time.Minute)
	i := &ticket{
		number: len(f.issues) + 1, title: "An issue", body: "Its text.", state: stateOpen, created: f.clock, updated: f.clock,
		author: account{"mem", "User"}, association: "MEMBER", items: make(map[int]string),
	}
	if edit != nil {
		edit(i)
	}
	f.issues[i.number] = i
	return i.number
}

// change edits an issue as anything on GitHub does: its time of update moves.
func (f *fake) change(number int, edit func(*ticket)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock = f.clock.Add(time.Minute)
	f.issues[number].updated = f.clock
	edit(f.issues[number])
}

// asked gives the requests so far and forgets them.
func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.requests
	f.requests = nil
	return list
}

func (f *fake) disturb(fault func(http.ResponseWriter, *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// failWith makes every request fail from now on.
func (f *fake) failWith(status int, header map[string]string, body string) {
	f.disturb(func(w http.ResponseWriter, _ *http.Request) bool {
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
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(status)
		if status != http.StatusNotModified {
			w.Write(answer.Body.Bytes())
		}
	})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	if v != nil {
		if err := json.NewEncoder(w).Encode(v); err != nil {
			panic(err)
		}
	}
}

func (f *fake) routes(mux *http.ServeMux) {
	base := "/repos/" + fakeRepo
	handle := func(pattern string, answer func(r *http.Request) (int, any)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+base+path, func(w http.ResponseWriter, r *http.Request) {
			f.mu.Lock()
			defer f.mu.Unlock()
			status, v := answer(r)
			if list, ok := v.([]any); ok {
				v = f.paged(w, r, list)
			}
			reply(w, status, v)
		})
	}
	notFound := map[string]any{"message": "Not Found"}
	handle("GET /issues", func(r *http.Request) (int, any) {
		return http.StatusOK, f.listed(cmp.Or(r.URL.Query().Get("state"), stateOpen), r.URL.Query().Get("labels"))
	})
	handle("GET /issues/{n}", func(r *http.Request) (int, any) {
		i := f.issues[atoi(r.PathValue("n"))]
		switch {
		case i == nil:
			return http.StatusNotFound, notFound
		case i.gone != 0:
			return i.gone, map[string]any{"message": "Moved Permanently", "url": f.server.URL + "/repositories/2/issues/1"}
		}
		return http.StatusOK, f.rest(i)
	})
	handle("GET /issues/{n}/dependencies/blocked_by", func(r *http.Request) (int, any) {
		i := f.issues[atoi(r.PathValue("n"))]
		if f.noBlockers || i == nil {
			return http.StatusNotFound, notFound
		}
		list := []any{}
		for _, n := range i.blockedBy {
			list = append(list, f.rest(f.issues[n]))
		}
		return http.StatusOK, list
	})
	handle("GET /labels", func(*http.Request) (int, any) {
		list := []any{}
		for i, name := range f.allLabels() {
			list = append(list, restLabel(i, name))
		}
		return http.StatusOK, list
	})
	handle("GET /labels/{name}", func(r *http.Request) (int, any) {
		same := func(name string) bool {
			return name == r.PathValue("name") || !f.exactLabels && strings.EqualFold(name, r.PathValue("name"))
		}
		all := f.allLabels()
		if i := slices.IndexFunc(all, same); i >= 0 {
			return http.StatusOK, restLabel(i, all[i])
		}
		return http.StatusNotFound, notFound
	})
	handle("GET /collaborators/{login}/permission", func(r *http.Request) (int, any) {
		login := r.PathValue("login")
		role, ok := f.permissions[login]
		if !ok {
			return http.StatusNotFound, notFound
		}
		return http.StatusOK, map[string]any{"permission": role, "role_name": role, "user": nil}
	})
	mux.HandleFunc("POST /graphql", f.graphql)
	f.toolRoutes(handle)
}

// listed are the issues in a state that bear all of the labels, which are
// separated by commas and compared letter by letter.
func (f *fake) listed(state, labels string) []any {
	bears := func(i *ticket) bool {
		for label := range strings.SplitSeq(labels, ",") {
			if label != "" && !slices.Contains(i.labels, label) {
				return false
			}
		}
		return true
	}
	list := []any{}
	for _, n := range slices.Sorted(maps.Keys(f.issues)) {
		if i := f.issues[n]; i.gone == 0 && (state == "all" || i.state == state) && bears(i) {
			list = append(list, f.rest(i))
		}
	}
	return list
}

// paged cuts a list into pages as the request asks.
func (f *fake) paged(w http.ResponseWriter, r *http.Request, list []any) []any {
	q := r.URL.Query()
	size, page := cmp.Or(atoi(q.Get("per_page")), 30), cmp.Or(atoi(q.Get("page")), 1)
	if f.perPage > 0 {
		size = min(size, f.perPage)
	}
	from, to := min((page-1)*size, len(list)), min(page*size, len(list))
	if to < len(list) {
		q.Set("page", strconv.Itoa(page+1))
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?%s>; rel="next", <%s/x>; rel="last"`, f.server.URL, r.URL.Path, q.Encode(), f.server.URL))
	}
	return list[from:to]
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func nodeID(n int) string { return fmt.Sprintf("I_%d", n) }

// rest is an issue as the REST API gives it.
func (f *fake) rest(i *ticket) map[string]any {
	api := f.server.URL + "/repos/" + fakeRepo
	at := fmt.Sprintf("%s/issues/%d", api, i.number)
	labels := []any{}
	for k, name := range i.labels {
		labels = append(labels, restLabel(k, name))
	}
	open := 0
	for _, n := range i.blockedBy {
		if f.issues[n].state == stateOpen {
			open++
		}
	}
	v := map[string]any{
		"id": i.number, "node_id": nodeID(i.number), "number": i.number, "title": i.title, "body": i.body, "state": i.state,
		"url": at, "repository_url": api, "labels_url": at + "/labels{/name}", "comments_url": at + "/comments", "events_url": at + "/events",
		"html_url": fmt.Sprintf("https://github.com/%s/issues/%d", fakeRepo, i.number), "labels": labels, "assignee": nil,
		"milestone": nil, "locked": false, "comments": 0, "closed_at": nil, "author_association": i.association,
		"created_at": i.created.Format(time.RFC3339), "updated_at": i.updated.Format(time.RFC3339), "user": restUser(i.author),
	}
	if !f.noSummary {
		v["issue_dependencies_summary"] = map[string]any{"blocked_by": open, "total_blocked_by": len(i.blockedBy), "blocking": 0, "total_blocking": 0}
	}
	if i.pull {
		v["pull_request"] = map[string]any{"url": at, "html_url": at, "diff_url": at, "patch_url": at}
	}
	if i.corrupt {
		v["title"] = 7
	}
	return v
}

func restLabel(id int, name string) map[string]any {
	return map[string]any{
		"id": id, "node_id": fmt.Sprintf("L_%d", id), "url": "https://api.github.com/x", "name": name, "color": "ffffff", "default": false, "description": nil,
	}
}

// allLabels are those of the repository: an issue has none that it has not.
func (f *fake) allLabels() []string {
	all := slices.Clone(f.labels)
	for _, i := range f.issues {
		all = append(all, i.labels...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// restUser is null for an account that is gone.
func restUser(a account) any {
	if a.Login == "" {
		return nil
	}
	v := map[string]any{"login": a.Login, "id": 1, "node_id": "U_" + a.Login, "type": a.Type, "site_admin": false, "gravatar_id": ""}
	for _, key := range []string{"avatar_url", "events_url", "followers_url", "following_url", "gists_url", "html_url", "organizations_url",
		"received_events_url", "repos_url", "starred_url", "subscriptions_url", "url"} {
		v[key] = "https://api.github.com/users/x"
	}
	return v
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
