package main

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
)

// killer stands before a server, and kills a program at one of its requests.
type killer struct {
	mu       sync.Mutex
	whole    bool // the requests of a run count from its first one
	begun    bool // the session has ended and its work is on its way
	requests int  // since then
	at       int  // the request at which it kills, from 1; 0 is none
	late     bool // after the server has done what was asked, before the answer
	kill     func()
	killed   bool
	log      []string
}

// wrap is [storetest.Config].Wrap.
func (k *killer) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		// The first thing that a publication asks for is the pull request that there is.
		k.begun = k.begun || k.whole || r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pulls")
		if k.begun {
			k.requests++
			k.log = append(k.log, fmt.Sprintf("%s %s", r.Method, r.URL.Path))
		}
		now := k.begun && k.requests == k.at && !k.killed
		k.killed = k.killed || now
		late, kill := k.late, k.kill
		k.mu.Unlock()
		switch {
		case !now:
			next.ServeHTTP(w, r)
		case late:
			next.ServeHTTP(discard{http.Header{}}, r)
			fallthrough
		default:
			kill()
			panic(http.ErrAbortHandler)
		}
	})
}

// discard drops an answer.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// makeRepository makes a repository with one commit, and returns what runs git in it.
func (p *project) makeRepository(name string) (git func(args ...string) string) {
	p.t.Helper()
	git = func(args ...string) string {
		p.t.Helper()
		return runGit(p.t, filepath.Join(p.dir, name), args...)
	}
	p.write(name+"/README.md", "# Shop\n")
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-q", "-m", "first")
	return git
}

// agentKey gives each session a home of its own, with the profile of the programs that
// the host runs in the sandbox.
const agentKey = "sk-0123456789abcdefghij"

// agentCommand returns the command of the agent in the home that a session gives it.
func agentCommand(t *testing.T) string {
	return strings.Split(scripted(t, ""), " --home")[0] + ` --home "$CODEX_HOME"`
}

// shop is a project that delivers to a repository of a GitHub, with one issue.
type shop struct {
	*project
	hub    *githubtest.GitHub
	killer *killer
	runs   int
	out    string // of all runs
}

// newShop returns a shop whose issue asks for a script.
func newShop(t *testing.T, steps ...string) *shop {
	t.Helper()
	s := &shop{project: emptyProject(t), killer: &killer{}}
	s.exe = program(t)
	s.hub = githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: "ghs_0123456789abcdefTOKEN", Wrap: s.killer.wrap})
	s.hub.Commit("main", map[string]string{"README.md": "# Shop\n"})
	s.hub.AddIssue(githubtest.Issue{Title: "Carts forget", Body: "- [ ] " + strings.Join(steps, "\n- [ ] ") + "\n", Labels: []string{"symphony"}})
	s.env = append(append(s.env, s.hub.Env()...), "OPENAI_API_KEY="+agentKey)
	s.write("WORKFLOW.md", strings.NewReplacer("COMMAND", mustJSON(t, agentCommand(t)), "CLONE", s.hub.CloneURL()).Replace(`---
tracker:
  kind: github
  required_labels: [symphony]
  provider: {repo: acme/shop, api_key: $GITHUB_TOKEN}
repository: {url: CLONE}
delivery:
  hand_over: {remove_label: symphony}
workspace:
  root: workspaces
agent:
  max_turns: 1
budget:
  max_attempts_per_issue: 0
codex:
  command: COMMAND
---
{{ issue.description }}
`))
	return s
}

// killedAt makes a run that is killed at a request, and reports whether it made so many.
func (s *shop) killedAt(n int, late bool) bool {
	s.t.Helper()
	s.killer.mu.Lock()
	s.killer.at, s.killer.late = n, late
	s.killer.mu.Unlock()
	return s.tick()
}

// tick makes a run of its own, which the killer may kill. It reports whether it did.
func (s *shop) tick(flags ...string) (killed bool) {
	s.t.Helper()
	s.runs++
	id := int64(s.runs)
	s.hub.SetRun(storetest.Run{ID: id, Status: "in_progress"})
	defer s.hub.SetRun(storetest.Run{ID: id, Status: "completed", Conclusion: "cancelled"})
	cmd := s.command(s.t.Context(), append([]string{"--once", onBranch}, flags...)...)
	cmd.Env = append(cmd.Env, "GITHUB_RUN_ID="+strconv.Itoa(s.runs), "GITHUB_RUN_ATTEMPT=1")
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	dead := make(chan struct{})
	s.killer.mu.Lock()
	s.killer.killed, s.killer.begun, s.killer.requests, s.killer.log = false, false, 0, nil
	s.killer.kill = func() {
		cmd.Process.Kill()
		<-dead
	}
	s.killer.mu.Unlock()
	err := cmd.Wait()
	close(dead)
	s.out += fmt.Sprintf("run %d asked %q and said\n%s", s.runs, s.killer.asked(), out.String())
	if s.killer.wasKilled() {
		return true
	}
	if err != nil {
		s.t.Fatalf("run %d: %v\n%s", s.runs, err, s.out)
	}
	return false
}

// asked returns the requests of the last run.
func (k *killer) asked() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.log)
}

func (k *killer) wasKilled() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.killed
}

// assertDelivered fails the test unless the issue has one branch, one pull request and
// one hand-over, and the state says so.
func (s *shop) assertDelivered() {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			s.t.Log(s.out)
		}
	}()
	heads := s.hub.Branches()
	const branch = "symphony/GH-1"
	if diff := cmp.Diff([]string{"main", "symphony-state", branch}, slices.Sorted(maps.Keys(heads))); diff != "" {
		s.t.Errorf("branches (-want +got):\n%s", diff)
	}
	if got := s.hub.Git("for-each-ref", "--format=%(refname)", "refs/symphony"); got != "" {
		s.t.Errorf("refs that stayed: %s", got)
	}
	pulls := s.hub.Pulls()
	if len(pulls) != 1 || pulls[0].Head != branch || pulls[0].Base != "main" || pulls[0].State != "open" || pulls[0].Draft {
		s.t.Fatalf("pull requests: %+v", pulls)
	}
	if want := "head=" + heads[branch] + " "; !strings.Contains(pulls[0].Body, want) {
		s.t.Errorf("the pull request does not say %q:\n%s", want, pulls[0].Body)
	}
	if strings.Contains(pulls[0].Body, "ended before the agent was done") {
		s.t.Errorf("the pull request says that the work is not done:\n%s", pulls[0].Body)
	}
	if issue := s.hub.Issue(1); len(issue.Labels) > 0 || issue.State != "open" {
		s.t.Errorf("the issue was not handed over: %+v", issue)
	}
	text, _ := s.hub.File("symphony-state", "state.json")
	state, _, err := store.Decode([]byte(text))
	if err != nil {
		s.t.Fatal(err)
	}
	got := state.Deliveries["1"]
	want := schedule.Delivery{
		Identifier: "GH-1", Title: "Carts forget", IssueURL: s.hub.CloneURL() + "/issues/1",
		Branch: branch, Base: "main", Head: heads[branch],
		Number: pulls[0].Number, URL: s.hub.CloneURL() + "/pull/" + strconv.Itoa(pulls[0].Number), At: got.At,
	}
	if diff := cmp.Diff(want, got); diff != "" || got.At.IsZero() {
		s.t.Errorf("the delivery in the state, at %v (-want +got):\n%s", got.At, diff)
	}
	if len(state.Claims) > 0 {
		s.t.Errorf("claims left: %+v", state.Claims)
	}
	s.noProcessLeft()
}

// The steps of an agent whose work is the same each time, and of one whose work is not.
const sameWork, otherWork = "Create `cart.go` containing `package shop`", "Run `date +%N > cart.go`"

// TestAKillAtAnyRequestOfADeliveryEndsInOnePullRequest kills the program at every request between
// the harvest of the work and the end of the run: when the server has done it, if it changes
// something, or else before the server gets it. The next run works on the same machine or on a
// new one, and its agent does the same again or something else.
func TestAKillAtAnyRequestOfADeliveryEndsInOnePullRequest(t *testing.T) {
	t.Parallel()
	calm := newShop(t, sameWork)
	calm.tick()
	calm.assertDelivered()
	requests := calm.killer.asked()
	if len(requests) < 8 {
		t.Fatalf("a run makes only these requests: %q", requests)
	}
	for at, request := range requests {
		late, fresh, work := !strings.HasPrefix(request, "GET "), at%2 == 0, []string{sameWork, otherWork}[at/2%2]
		t.Run(fmt.Sprintf("%02d late=%v fresh=%v %s", at+1, late, fresh, strings.ReplaceAll(request, "/", "·")), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, work)
			if s.killedAt(at+1, late) && fresh {
				s.removeRemains()
			}
			s.killedAt(0, false)
			s.assertDelivered()
		})
	}
}

// TestAKillAtAnyRequestOfAMergeRecordsItOnce kills the program at every request of the run that
// finds a pull request merged, after GitHub has done it. The next run finishes the issue.
func TestAKillAtAnyRequestOfAMergeRecordsItOnce(t *testing.T) {
	t.Parallel()
	merged := func(t *testing.T) *shop {
		s := newShop(t, sameWork)
		s.tick()
		s.hub.Merge(2, "kim")
		s.killer.whole = true
		return s
	}
	calm := merged(t)
	calm.tick()
	for at, request := range calm.killer.asked() {
		if strings.HasPrefix(request, "GET ") || strings.HasSuffix(request, "/graphql") {
			continue // it changes nothing
		}
		t.Run(fmt.Sprintf("%02d %s", at+1, strings.ReplaceAll(request, "/", "·")), func(t *testing.T) {
			t.Parallel()
			s := merged(t)
			s.killedAt(at+1, true)
			s.killedAt(0, false)
			s.killedAt(0, false)
			state, _ := s.state()
			ends, _ := state.AllEnds()
			if len(ends) != 1 || ends[0].End != schedule.EndMerged || ends[0].Sessions != 1 || ends[0].Opened.IsZero() || len(state.Deliveries) > 0 {
				t.Errorf("the state has the ends %+v and the deliveries %+v\n%s", ends, state.Deliveries, s.out)
			}
		})
	}
}
