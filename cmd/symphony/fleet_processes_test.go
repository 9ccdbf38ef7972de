package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// fleets is a repository whose issues fleets of real processes work on. Each process has
// a folder and a token of its own, as on a machine of its own.
type fleets struct {
	*project
	hub   *githubtest.GitHub
	agent *httptest.Server // which sessions ask what comes of them
	runs  int

	mu      sync.Mutex
	byToken map[string]*jobProcess
	byDir   map[string]*jobProcess
	working map[int]*jobProcess // by issue, until the process has ended
	handed  map[int]bool        // issues that were handed over
	failing map[int]int         // sessions on an issue that still fail
}

// jobProcess is one run of the program.
type jobProcess struct {
	name, dir string
	run       int // the id of the workflow run
	token     string
	cmd       *exec.Cmd
	started   chan struct{} // is closed when cmd can be killed
	dead      chan struct{} // is closed when it has ended

	killAt   int       // the request to GitHub at which it is killed, from 1; 0 for none
	late     bool      // after the server has done what was asked
	killWhen sessionAt // its first session is there
	hold     int       // its sessions end after this many polls

	// Guarded by fleets.mu.
	over, killed bool
	requests     int // that the rate limit of REST counts
	queries      int // of GraphQL
	unchanged    int // answered with 304, which no limit counts
	liveness     int // those of requests that ask about runs
	saves        int
	reached      int
	polled       chan struct{} // is closed after hold polls
}

// sessionAt is a moment of a session.
type sessionAt int

const (
	sessionNever sessionAt = iota
	sessionWorks           // before the issue is handed over
	sessionDone            // after it
)

// newFleets returns a repository with n issues.
func newFleets(t testing.TB, n int, settings string) *fleets {
	t.Helper()
	f := &fleets{
		project: emptyProject(t), byToken: map[string]*jobProcess{}, byDir: map[string]*jobProcess{},
		working: map[int]*jobProcess{}, handed: map[int]bool{}, failing: map[int]int{},
	}
	f.exe = program(t)
	f.hub = githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: "ghs_0123456789abcdefTOKEN", Wrap: f.wrap})
	f.agent = httptest.NewServer(http.HandlerFunc(f.serveAgent))
	t.Cleanup(f.agent.Close)
	f.env = append(f.env, f.hub.Env()...)
	host, port, _ := strings.Cut(strings.TrimPrefix(f.agent.URL, "http://"), ":")
	f.write("WORKFLOW.md", strings.NewReplacer("COMMAND", mustJSON(t, scripted(t, "../../agent")), "HOST", host, "PORT", port, "SETTINGS", settings).Replace(`---
tracker:
  kind: github
  required_labels: [symphony]
  provider: {repo: acme/shop, api_key: $GITHUB_TOKEN}
workspace: {root: workspaces}
agent: {max_concurrent_agents: 10000, max_retry_backoff_ms: 1, max_turns: 1}
budget: {max_attempts_per_issue: 0}
codex: {command: COMMAND}
SETTINGS---
- [ ] Spend `+"`{{ issue.id }}`"+` tokens
- [ ] Run `+"`exec 3<>/dev/tcp/HOST/PORT; printf 'POST %s HTTP/1.0\\r\\n\\r\\n' \"$PWD\" >&3; IFS= read -r status <&3; [[ $status == *200* ]]`"+`
`))
	f.addIssues(n)
	return f
}

func (f *fleets) addIssues(n int) {
	for range n {
		f.hub.AddIssue(githubtest.Issue{Title: "Carts forget", Body: "Again.", Labels: []string{"symphony"}})
	}
}

// process returns a process of a workflow run, which has not started.
func (f *fleets) process(run int, name string) *jobProcess {
	f.t.Helper()
	p := &jobProcess{
		name: fmt.Sprintf("%s of run %d", name, run), run: run, dir: filepath.Join(f.dir, strconv.Itoa(run), name),
		token: fmt.Sprintf("ghs_%d%s0123456789abcdefTOKEN", run, name), started: make(chan struct{}), dead: make(chan struct{}), polled: make(chan struct{}),
	}
	f.hub.AcceptToken(p.token)
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Link(filepath.Join(f.dir, "WORKFLOW.md"), filepath.Join(p.dir, "WORKFLOW.md")); err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byToken[p.token], f.byDir[p.dir] = p, p
	return p
}

// execute runs a process to its end. It fails the test if the process fails and was not
// killed.
func (f *fleets) execute(p *jobProcess, args ...string) {
	f.t.Helper()
	f.mu.Lock() // what the process is for was set before, and the servers lock to read it
	p.cmd = f.command(f.t.Context(), append(args, "--log-format=json")...)
	f.mu.Unlock()
	p.cmd.Dir = p.dir
	p.cmd.Env = append(p.cmd.Env, "GITHUB_TOKEN="+p.token, "GITHUB_RUN_ID="+strconv.Itoa(p.run), "GITHUB_RUN_ATTEMPT=1")
	out, err := os.Create(filepath.Join(p.dir, "output"))
	if err != nil {
		f.t.Error(err)
		return
	}
	defer out.Close()
	p.cmd.Stdout, p.cmd.Stderr = out, out // files: nothing waits for what an agent still holds
	err = p.cmd.Start()
	close(p.started)
	if err == nil {
		err = p.cmd.Wait()
	}
	f.mu.Lock()
	p.over = true
	maps.DeleteFunc(f.working, func(_ int, by *jobProcess) bool { return by == p })
	killed := p.killed
	f.mu.Unlock()
	close(p.dead)
	if err != nil && !killed {
		text, _ := os.ReadFile(out.Name())
		f.t.Errorf("%s: %v\n%s", p.name, err, text)
	}
}

// kill ends the process, as when its machine goes away.
func (p *jobProcess) kill() {
	<-p.started
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.dead
}

// shardEnd is how the job of a shard ends.
type shardEnd int

const (
	endsWell      shardEnd = iota
	neverBegins            // no runner takes it
	diesAtRequest          // it is killed at one of its first requests
	diesAtWork             // it is killed in a session
	diesDone               // it is killed when the session has handed over
	losesResult            // its result is not uploaded
	delaysResult           // its result comes after collect
)

// shardProcess is a shard and its job.
type shardProcess struct {
	*jobProcess
	number  int
	ids     []tracker.ID
	end     shardEnd
	uploads bool // what it has saved
}

// runOfFleet is a workflow run of a fleet.
type runOfFleet struct {
	f        *fleets
	run      int
	exchange string
	plan     *jobProcess
	made     fleet.Plan
	shards   []*shardProcess
	arrived  []*shardProcess // whose results are in the exchange folder
	collects []*jobProcess
}

// planFleet begins a run of a fleet. choose says how the job of each shard ends.
func (f *fleets) planFleet(shards, slots int, choose func() (end shardEnd, uploads bool)) *runOfFleet {
	f.t.Helper()
	f.runs++
	run := 100 + f.runs
	r := &runOfFleet{f: f, run: run, plan: f.process(run, "plan")}
	r.exchange = filepath.Join(r.plan.dir, "exchange")
	r.publish("in_progress")
	f.execute(r.plan, "plan", "--exchange", r.exchange, "--shards", strconv.Itoa(shards), "--shard-slots", strconv.Itoa(slots), onBranch)
	var err error
	switch r.made, err = fleet.ReadPlan(r.exchange); {
	case errors.Is(err, os.ErrNotExist):
		return r // there is no work
	case err != nil:
		f.t.Fatal(err)
	}
	for _, slice := range r.made.Shards {
		s := &shardProcess{jobProcess: f.process(run, fmt.Sprintf("shard%d", slice.Number)), number: slice.Number, ids: slices.Collect(maps.Keys(slice.State.Claims))}
		switch s.end, s.uploads = choose(); s.end {
		case diesAtRequest:
			s.killAt, s.late = 1+slice.Number%3, s.uploads
		case diesAtWork:
			s.killWhen = sessionWorks
		case diesDone:
			s.killWhen = sessionDone
		}
		r.shards = append(r.shards, s)
	}
	r.publish("in_progress")
	return r
}

// publish tells GitHub how far the jobs of the run are.
func (r *runOfFleet) publish(status string) {
	run := storetest.Run{ID: int64(r.run), Status: status, Jobs: []storetest.Job{{Name: "fleet / plan", Status: "in_progress", Runner: "GitHub Actions 1", Started: time.Now()}}}
	r.f.mu.Lock()
	for _, s := range r.shards {
		job := storetest.Job{Name: fmt.Sprintf("fleet / shard %d", s.number), Status: "in_progress", Runner: "GitHub Actions 7", Started: time.Now()}
		switch {
		case s.end == neverBegins:
			job = storetest.Job{Name: job.Name, Status: "completed", Conclusion: "cancelled", Completed: time.Now()}
		case s.over:
			job.Status, job.Conclusion, job.Completed = "completed", "success", time.Now()
			if s.killed {
				job.Conclusion = "failure"
			}
		}
		run.Jobs = append(run.Jobs, job)
	}
	r.f.mu.Unlock()
	if status == "completed" {
		run.Conclusion = "success"
	}
	r.f.hub.SetRun(run)
}

// work runs the shards, and uploads their results.
func (r *runOfFleet) work() {
	r.perform()
	r.upload()
}

// perform runs the shards, some at a time.
func (r *runOfFleet) perform() {
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for _, s := range r.shards {
		if s.end == neverBegins {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			exchange := filepath.Join(s.dir, "exchange")
			err := os.Mkdir(exchange, 0o755)
			if err == nil {
				err = os.Link(filepath.Join(r.exchange, "plan.json"), filepath.Join(exchange, "plan.json"))
			}
			if err != nil {
				r.f.t.Error(err)
			}
			r.f.execute(s.jobProcess, "work", "--exchange", exchange, "--shard", strconv.Itoa(s.number))
		})
	}
	wg.Wait()
	r.publish("in_progress")
}

// upload uploads the results that are neither lost nor late.
func (r *runOfFleet) upload() {
	for _, s := range r.shards {
		switch {
		case s.end == neverBegins, s.end == losesResult, s.end == delaysResult, s.killed && !s.uploads:
		default:
			r.arrive(s)
		}
	}
}

// arrive downloads the result of a shard into the exchange folder, and counts what its
// sessions have reported.
func (r *runOfFleet) arrive(s *shardProcess) {
	r.f.t.Helper()
	result := filepath.Join("results", fmt.Sprintf("result-%d", s.number))
	err := os.MkdirAll(filepath.Join(r.exchange, "results"), 0o755)
	if err == nil {
		err = os.Rename(filepath.Join(s.dir, "exchange", result), filepath.Join(r.exchange, result))
	}
	switch {
	case errors.Is(err, os.ErrNotExist) && s.killed:
		return // it left nothing
	case err != nil:
		r.f.t.Fatal(err)
	}
	r.arrived = append(r.arrived, s)
}

// collect runs the last part. It is killed at a request if killAt is one.
func (r *runOfFleet) collect(killAt int, late bool) *jobProcess {
	r.f.t.Helper()
	p := r.f.process(r.run, fmt.Sprintf("collect%d", len(r.collects)+1))
	p.killAt, p.late = killAt, late
	r.collects = append(r.collects, p)
	r.f.execute(p, "collect", "--exchange", r.exchange, onBranch)
	return p
}

// finish ends the run.
func (r *runOfFleet) finish() { r.publish("completed") }

// saves returns how often a part of the run has saved the state.
func (r *runOfFleet) saves() int {
	n := r.plan.saves
	for _, p := range r.collects {
		n += p.saves
	}
	for _, s := range r.shards {
		n += s.saves
	}
	return n
}

// spending returns the spending that the results tell of which have arrived.
func (r *runOfFleet) spending() (u schedule.Usage, sessions int) {
	r.f.t.Helper()
	results, refused := fleet.ReadResults(r.exchange, r.made)
	for _, refusal := range refused {
		r.f.t.Errorf("%s is refused: %v", refusal.Path, refusal.Err)
	}
	if len(results) != len(r.arrived) {
		r.f.t.Errorf("run %d: %d results can be read, and %d have arrived", r.run, len(results), len(r.arrived))
	}
	for _, result := range results {
		for _, day := range result.State.Days {
			u.Input, u.Output, sessions = u.Input+day.Usage.Input, u.Output+day.Usage.Output, sessions+day.Sessions
		}
	}
	return u, sessions
}

// state returns the state on the branch.
func (f *fleets) state() *schedule.State {
	f.t.Helper()
	text, _ := f.hub.File("symphony-state", "state.json")
	s, _, err := store.Decode([]byte(text))
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// spentInState returns what the state has counted.
func (f *fleets) spentInState() (u schedule.Usage, sessions int) {
	for _, day := range f.state().Days {
		u.Input, u.Output, sessions = u.Input+day.Usage.Input, u.Output+day.Usage.Output, sessions+day.Sessions
	}
	return u, sessions
}

// atRandom returns how the jobs of shards end: most of them well.
func atRandom(r *rand.Rand) func() (shardEnd, bool) {
	return func() (shardEnd, bool) {
		end := shardEnd(r.IntN(14))
		if end > delaysResult {
			end = endsWell
		}
		return end, r.IntN(2) == 0
	}
}

// well is how the jobs of shards end in a quiet time.
func well() (shardEnd, bool) { return endsWell, true }
