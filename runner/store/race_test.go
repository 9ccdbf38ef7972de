package store

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/symphony-runner/symphony/internal/storetest"
)

var (
	raceRuns   = flag.Int("store.runs", 64, "runs that race over one branch")
	raceIssues = flag.Int("store.claims", 500, "issues that they share; each is claimed once at least")
	raceTurns  = flag.Int("store.turns", 2, "runs that load and save at the same time")
	raceKills  = flag.Int("store.kills", 0, "runs that are killed; 0 for one for each")
)

const raceBranch = "race"

// Runs in processes of their own race over one branch. Each claims issues, holds
// them, marks them as done and releases them. A run is killed at a random one of its
// requests, just before or just after the server carries it out, and another run
// takes its place. Some answers are lost as well. The arena, which does not look at
// the branch, records which run holds which issue. The race ends when all issues are
// done and no claim is left.
func TestNoIssueIsHeldTwiceOrLostWhenRunsRaceAndAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	a := &arena{
		kills: *raceKills, last: map[string]*end{}, turns: make(chan struct{}, *raceTurns), inTurn: map[string]bool{},
		done: map[string]bool{}, dead: map[string]bool{}, held: map[string]string{},
	}
	if a.kills == 0 {
		a.kills = *raceRuns
	}
	kills := a.kills
	h := storetest.New(t, storetest.Config{Wrap: a.wrap})
	h.Handle("GET /arena", http.HandlerFunc(a.look))
	h.Handle("POST /arena/turn", http.HandlerFunc(a.turn))
	h.Handle("POST /arena/hold/{issue}", http.HandlerFunc(a.hold))
	h.Handle("POST /arena/done/{issue}", http.HandlerFunc(a.finish))
	for i := 0; i < 20**raceIssues; i += 20 {
		h.Fail(storetest.Move, append(make([]storetest.Fault, 18), storetest.Fault{Lose: true}, storetest.Fault{Status: 502})...)
	}
	home := t.TempDir()
	var all sync.WaitGroup
	for range *raceRuns {
		all.Go(func() {
			if err := a.race(h, home); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()

	content, _ := h.File(raceBranch, stateFile)
	s, generation, err := Decode([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d issues done by %d claims in %d saves; %d runs, %d of them killed; requests %v",
		len(a.done), a.claims, generation, a.runs, kills-a.kills, h.Asked())
	if len(s.Claims) > 0 || len(a.held) > 0 {
		t.Errorf("%d claims are left, and %d issues are held", len(s.Claims), len(a.held))
	}
	if len(a.done) != *raceIssues || a.claims < *raceIssues {
		t.Errorf("%d of %d issues are done, by %d claims", len(a.done), *raceIssues, a.claims)
	}
	if kills == a.kills {
		t.Error("no run was killed")
	}
}

// arena records which run really holds which issue. Any goroutine may call its
// methods.
type arena struct {
	mu     sync.Mutex
	runs   int
	kills  int               // how many runs are still to be killed
	last   map[string]*end   // end of each run, by run
	done   map[string]bool   // issues
	dead   map[string]bool   // runs
	held   map[string]string // run by issue
	claims int

	// turns limits how many runs load and save at the same time: more of them than
	// the machine has cores would only conflict.
	turns  chan struct{}
	inTurn map[string]bool // runs
}

// end says when a run is killed.
type end struct {
	process *os.Process
	in      int  // number of requests before it
	after   bool // the server carries out the last of them
}

// race starts runs, one after the other, until one ends by itself.
func (a *arena) race(h *storetest.Hub, home string) error {
	for {
		run, cmd, err := a.start(h, home)
		if err != nil {
			return err
		}
		err = cmd.Wait()
		a.bury(run)
		if err == nil {
			return nil
		}
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
			return fmt.Errorf("run %s: %w: %s", run, err, cmd.Stderr)
		}
	}
}

func (a *arena) start(h *storetest.Hub, home string) (run string, cmd *exec.Cmd, err error) {
	a.mu.Lock() // so that it makes no request before its end is set
	defer a.mu.Unlock()
	a.runs++
	run = strconv.Itoa(a.runs)
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "HOME="+home, "GOMAXPROCS=1", "GOGC=400", "GORACE=atexit_sleep_ms=0", "STORE_TEST_ROLE=racer", "STORE_TEST_RUN="+run,
		"STORE_TEST_API="+h.URL(), "STORE_TEST_REPO="+h.Repo(), "STORE_TEST_ISSUES="+strconv.Itoa(*raceIssues))
	cmd.Stderr = new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	in := 1 + rand.N(50)
	if a.runs == 1 { // this one is killed in any case
		in = 1 + rand.N(3)
	}
	a.last[run] = &end{cmd.Process, in, rand.N(2) == 0}
	return run, cmd, nil
}

// bury releases everything that a run held, after the run has ended. Requests that it
// has sent may still arrive.
func (a *arena) bury(run string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dead[run] = true
	a.leave(run)
	maps.DeleteFunc(a.held, func(_, by string) bool { return by == run })
}

// runOf returns the run that makes a request: its token is the run's name.
func runOf(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// wrap kills a run at its last request.
func (a *arena) wrap(hub http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last := a.tick(runOf(r))
		if last == nil {
			hub.ServeHTTP(w, r)
			return
		}
		defer panic(http.ErrAbortHandler)
		defer last.process.Kill()
		if last.after {
			hub.ServeHTTP(httptest.NewRecorder(), r)
		}
	})
}

// tick counts a request of a run. It returns the run's end if that was its last
// request, and nil otherwise.
func (a *arena) tick(run string) *end {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.last[run]
	if last == nil || a.kills == 0 {
		return nil
	}
	if last.in--; last.in > 0 {
		return nil
	}
	delete(a.last, run)
	a.kills--
	return last
}

// turn waits until the run may load and save once.
func (a *arena) turn(_ http.ResponseWriter, r *http.Request) {
	run := runOf(r)
	a.mu.Lock()
	a.leave(run)
	a.mu.Unlock()
	select {
	case a.turns <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inTurn[run] = true; a.dead[run] {
		a.leave(run)
	}
}

// leave ends a run's turn, if it has one. a.mu must be held.
func (a *arena) leave(run string) {
	if a.inTurn[run] {
		delete(a.inTurn, run)
		<-a.turns
	}
}

// arenaView is what a run knows of the others in addition to the branch.
type arenaView struct{ Done, Dead []string }

func (a *arena) look(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = json.NewEncoder(w).Encode(arenaView{slices.Collect(maps.Keys(a.done)), slices.Collect(maps.Keys(a.dead))}) // a killed run does not read it
}

// hold records that a run begins to work on an issue. It fails if the run may not do
// that, which is what the race tests.
func (a *arena) hold(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	run, issue := runOf(r), r.PathValue("issue")
	a.leave(run)
	by, held := a.held[issue]
	switch {
	case a.dead[run]:
		http.Error(w, "the run is dead", http.StatusGone)
	case held:
		http.Error(w, fmt.Sprintf("issue %s is held twice, by %s and %s", issue, by, run), http.StatusConflict)
	case a.done[issue]:
		http.Error(w, fmt.Sprintf("issue %s was claimed by %s when it was done", issue, run), http.StatusConflict)
	default:
		a.claims++
		a.held[issue] = run
	}
}

func (a *arena) finish(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	run, issue := runOf(r), r.PathValue("issue")
	switch {
	case a.dead[run]:
		http.Error(w, "the run is dead", http.StatusGone)
	case a.held[issue] != run:
		http.Error(w, fmt.Sprintf("issue %s is not held by %s", issue, run), http.StatusConflict)
	default:
		delete(a.held, issue)
		a.done[issue] = true
	}
}

// readAll returns the body of an answer with status 200.
func readAll(resp *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(data))
	}
	return data, err
}
