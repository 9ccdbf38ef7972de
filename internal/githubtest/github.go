package githubtest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/storetest"
)

// Member is the login of a person with write access to the repository, whose membership is
// private, as GitHub has it by default.
const Member = "kim"

// account is the account of a workflow's job, without the suffix of a bot.
const account, accountType = "github-actions", "Bot"

// GitHub is a GitHub server with one repository. See the documentation of the package. Its
// parts have the state and the requests of a subject each. Any goroutine may call any method at
// any time.
type GitHub struct {
	*server
	*graph
	*artifacts
	*rules
}

// New starts a server for the length of the test.
func New(t testing.TB, cfg storetest.Config) *GitHub {
	t.Helper()
	s := newServer(t, cfg)
	i := newIssues(s)
	g := &GitHub{server: s, artifacts: &artifacts{server: s}, rules: &rules{server: s}}
	g.graph = &graph{
		server: s, schema: schema(t), reviews: &reviews{pulls: &pulls{comments: &comments{issues: i}, diffs: &diffs{server: s, answers: map[string]string{}}}},
		checks: &checks{server: s, of: map[string][]*check{}}, boards: &boards{issues: i, fields: map[int]map[string][]string{}}, pictures: &pictures{server: s},
	}
	g.addPermissionRoute()
	g.addIssueRoutes()
	g.addCommentRoutes()
	g.addReviewRoute()
	g.addLogs()
	g.addArtifacts()
	g.addPullRoutes()
	g.addPersonRoutes()
	g.addGraphQL()
	g.addRules()
	g.addGit()
	g.addPictures()
	return g
}

// server answers the requests of all parts.
type server struct {
	*storetest.Hub
	t       testing.TB
	address string
	root    string // path of the REST API

	mu       sync.Mutex        // held while the state of any part is used
	clock    time.Time         // time of the latest event; each one is a minute later
	now      func() time.Time  // another clock; nil for none
	lastID   int               // latest id of a comment, review or check
	accounts map[string]string // accounts by token; the token of a job is not among them
	as       string            // the account of the request that is answered
	content  contentLimit
	quirks   Quirks

	gitReady sync.Once
}

func newServer(t testing.TB, cfg storetest.Config) *server {
	h := storetest.New(t, cfg)
	root := "/api/v3"
	if cfg.Root != "" {
		root = strings.TrimRight(cfg.Root, "/")
	}
	return &server{
		Hub: h, t: t, address: strings.TrimSuffix(h.URL(), root), root: root,
		clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), accounts: map[string]string{}, as: account,
	}
}

// Quirks are the ways in which a server differs from others.
type Quirks struct {
	NoDependencies bool // it has no list of the issues that block an issue
	NoSummary      bool // issues do not say how many others block them
	ExactLabels    bool // a label is found by its exact spelling alone
	PerPage        int  // greatest length of a page; 0 for 100
}

// SetQuirks makes the server differ from others.
func (g *server) SetQuirks(q Quirks) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.quirks = q
}

// ServerURL returns the address of the server in the form of GITHUB_SERVER_URL. The
// repository is below it.
func (g *server) ServerURL() string { return g.address }

// CloneURL returns the address of the repository.
func (g *server) CloneURL() string { return g.address + "/" + g.Repo() }

// pullURL returns the page of a pull request.
func (g *server) pullURL(number int) string { return fmt.Sprintf("%s/pull/%d", g.CloneURL(), number) }

// Env returns the environment variables that lead a workflow step to this server.
func (g *server) Env() []string { return append(g.Hub.Env(), "GITHUB_SERVER_URL="+g.address) }

// Branches returns the commits of all branches, by name.
func (g *server) Branches() map[string]string {
	g.t.Helper()
	heads := map[string]string{}
	for line := range strings.Lines(g.Git("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads")) {
		commit, branch, _ := strings.Cut(strings.TrimSpace(line), " ")
		heads[branch] = commit
	}
	return heads
}

// SetClock has the server take the time of what happens from a function, without the
// parts of seconds. Otherwise each event is a minute after the one before it, beginning
// with the first of March 2026.
func (g *server) SetClock(now func() time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now = now
}

// tick returns the time of what happens now. g.mu must be held.
func (g *server) tick() time.Time {
	if g.now != nil {
		return g.now().UTC().Truncate(time.Second)
	}
	g.clock = g.clock.Add(time.Minute)
	return g.clock
}

// newID returns a number that nothing has. g.mu must be held.
func (g *server) newID() int {
	g.lastID++
	return g.lastID
}

// stamp returns a time as GitHub writes it, nil for the zero time.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// object is a JSON object.
type object = map[string]any

var notFound = object{"message": "Not Found"}

// handle adds a request of the REST API that needs a permission. Its pattern is the pattern of
// the path below the repository, and its kind too. reply is called with g.mu held; a list is
// answered in pages.
func (g *server) handle(permission, pattern string, reply func(r *http.Request) (status int, v any)) {
	method, path, _ := strings.Cut(pattern, " ")
	answer := func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.as = g.accountOf(r)
		refused, status, v := false, 0, any(nil)
		if createsContent[pattern] {
			status, v, refused = g.refuseContent(w)
		}
		if !refused {
			status, v = reply(r)
		}
		if list, ok := v.([]object); ok {
			v = g.page(w, r, list)
		}
		text, err := json.Marshal(v)
		g.mu.Unlock()
		if err != nil {
			g.t.Errorf("%s: %v", pattern, err)
		}
		write(w, r, status, text)
	}
	g.HandleFor(permission, storetest.Op(pattern), method+" "+g.root+"/repos/"+g.Repo()+path, http.HandlerFunc(answer))
}

// write sends an answer. If the client knows it by its ETag, it is not sent again.
func write(w http.ResponseWriter, r *http.Request, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if r.Method == http.MethodGet && status == http.StatusOK {
		tag := fmt.Sprintf("W/\"%x\"", sha256.Sum256(text))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		_, _ = w.Write(text) // the client may have hung up
	}
}

// page returns the part of a list that a request asks for, never nil, and names the next
// one.
func (g *server) page(w http.ResponseWriter, r *http.Request, list []object) []object {
	q := r.URL.Query()
	size, page := atoi(q.Get("per_page")), max(atoi(q.Get("page")), 1)
	if size < 1 || size > 100 {
		size = 30
	}
	if most := g.quirks.PerPage; most > 0 {
		size = min(size, most)
	}
	from, to := min((page-1)*size, len(list)), min(page*size, len(list))
	if to < len(list) {
		q.Set("page", strconv.Itoa(page+1))
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?%s>; rel="next"`, g.address, r.URL.Path, q.Encode()))
	}
	return append([]object{}, list[from:to]...)
}

// atoi returns the number in a text, 0 if there is none.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// decode reads the body of a request, and reports whether it is JSON.
func decode(r *http.Request, into any) bool { return json.NewDecoder(r.Body).Decode(into) == nil }
