package schedule_test

import (
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// fleetWorld is a model of everything that a fleet depends on: a tracker, a store that
// compares and swaps, workflow runs by GitHub's rules, and processes that can die at each
// step. What the processes decide is decided by the real functions.
type fleetWorld struct {
	t          *rapid.T
	now        time.Time
	saved      *schedule.State
	revision   int
	policy     schedule.Policy
	fleet      schedule.Fleet // the fleet; it has no owner
	selfHosted bool           // a process may go on after GitHub says that its job is over
	quiet      bool           // nothing fails from now on

	board    []*boardIssue
	runs     []*workflowRun
	ticks    []*tickProcess
	sessions []*agentSession
	claimed  map[claimKey]bool        // that a saved plan claimed once
	shares   map[schedule.Owner]int64 // share of the budget by owner, from the saved plan
	counted  map[*agentSession]int64  // tokens that must be in the days of the saved state
}

type boardIssue struct {
	tracker.Issue
	left     int // sessions until it is done
	everDone bool
}

// agentSession represents a session that really runs or ran.
type agentSession struct {
	id     tracker.ID
	owner  schedule.Owner
	live   bool
	tokens int64
}

// usage returns the tokens of the session, all of one model.
func (s *agentSession) usage() schedule.Usage {
	u := schedule.Usage{Input: s.tokens}
	if s.tokens > 0 {
		u.Tariffs = schedule.Tariffs{{Tariff: schedule.Tariff{Model: "m"}, Input: s.tokens}}
	}
	return u
}

type claimKey struct {
	owner schedule.Owner
	id    tracker.ID
}

const (
	shardLimit = 3 * time.Hour
	dayBudget  = 100
	maxTokens  = 32 // more than a session reports at once
)

func newFleetWorld(t *rapid.T) *fleetWorld {
	w := &fleetWorld{
		t: t, now: noon.Add(-11 * time.Hour), saved: schedule.New(schedule.Owner{}),
		claimed: map[claimKey]bool{}, shares: map[schedule.Owner]int64{}, counted: map[*agentSession]int64{},
	}
	w.policy = simple().policy
	w.policy.Budget = schedule.Budget{}
	w.policy.MaxPerTick, w.policy.MaxPerState, w.policy.MaxConcurrent = 0, nil, 2
	switch w.pick(3, "budget") {
	case 1:
		w.policy.Budget.TokensPerDay = dayBudget
	case 2: // a token costs the smallest amount, so the numbers are the same
		w.policy.Budget.USDPerDay = dayBudget
		w.policy.Budget.Prices = schedule.Prices{"m": {Rates: schedule.Rates{Input: 1}}}
	}
	w.selfHosted = w.pick(2, "self-hosted") == 1
	w.fleet = schedule.Fleet{
		Shards: 1 + w.pick(3, "shards"), Slots: 1 + w.pick(2, "slots"), Lease: 48 * time.Hour,
		RunsOn: map[string][]string{"gpu": {"gpu"}},
	}
	for i := range 2 + w.pick(4, "issues") {
		issue := todo(i + 1)
		if w.pick(4, "gpu") == 3 {
			issue.Labels = append(slices.Clone(issue.Labels), "gpu")
		}
		w.board = append(w.board, &boardIssue{Issue: issue, left: 1 + w.pick(2, "sessions")})
	}
	return w
}

// pick draws a number below n.
func (w *fleetWorld) pick(n int, what string) int {
	return picks[n-1].Draw(w.t, what)
}

var picks = func() (gs [32]*rapid.Generator[int]) {
	for i := range gs {
		gs[i] = rapid.IntRange(0, i)
	}
	return gs
}()

// unlucky reports whether something fails that fails once in n times.
func (w *fleetWorld) unlucky(n int, what string) bool {
	return !w.quiet && w.pick(n, what) == n-1
}

func (w *fleetWorld) issue(id tracker.ID) *boardIssue {
	return w.board[slices.IndexFunc(w.board, func(b *boardIssue) bool { return b.ID == id })]
}

// snapshot returns the issues as a process with the state knows them.
func (w *fleetWorld) snapshot(s *schedule.State, lists bool) schedule.Snapshot {
	snap := schedule.Snapshot{Claimed: make(map[tracker.ID]*tracker.Issue, len(s.Claims))}
	for id := range s.Claims {
		issue := w.issue(id).Issue
		snap.Claimed[id] = &issue
	}
	for _, b := range w.board {
		if lists && b.State == "Todo" {
			snap.Candidates = append(snap.Candidates, b.Issue)
		}
	}
	return snap
}

// load returns the saved state as a process reads it.
func (w *fleetWorld) load(self schedule.Owner) (*schedule.State, int) {
	s := w.saved.Clone()
	s.Self = self
	if wrong := s.BoundTimes(w.policy, w.now); wrong != nil {
		w.t.Fatalf("the state holds times that no run can have written: %v", wrong)
	}
	return s, w.revision
}

// save replaces the saved state if nobody else did since it was read.
func (w *fleetWorld) save(s *schedule.State, revision int) bool {
	if revision != w.revision {
		return false
	}
	for id, is := range s.Claims {
		was := w.saved.Claims[id]
		if !holdsSlot(is) || holdsSlot(was) && was.Owner == is.Owner {
			continue
		}
		key := claimKey{is.Owner, id}
		if is.Owner.Shard > 0 && w.claimed[key] {
			w.t.Fatalf("%s was given %s twice", is.Owner.Name(), id)
		}
		w.claimed[key] = true
	}
	for id := range w.saved.Claims {
		if _, kept := s.Claims[id]; !kept && !w.issue(id).everDone {
			w.t.Fatalf("the claim %s is lost", id)
		}
	}
	w.saved, w.revision = s.Clone(), w.revision+1
	w.saved.NewTick()
	return true
}

// start begins a session on an issue.
func (w *fleetWorld) start(id tracker.ID, owner schedule.Owner) *agentSession {
	for _, other := range w.sessions {
		if other.live && other.id == id {
			w.t.Fatalf("%s starts a session on %s, on which %s has one", owner.Name(), id, other.owner.Name())
		}
	}
	session := &agentSession{id: id, owner: owner, live: true}
	w.sessions = append(w.sessions, session)
	return session
}

// end ends a session as its agent likes, and returns its outcome.
func (w *fleetWorld) end(s *agentSession, c schedule.Claim) schedule.Outcome {
	s.live = false
	issue := w.issue(s.id)
	o := schedule.Outcome{Class: schedule.Done, Turns: 1, Usage: s.usage(), Thread: "th"}
	switch what := w.pick(8, "outcome"); {
	case c.Phase == schedule.Stopping:
		o.Class = schedule.Stopped
	case w.quiet || what < 5:
		if issue.left--; issue.left <= 0 {
			issue.State, issue.everDone = "Done", true
		}
	case what == 5:
		o.Class, o.Why = schedule.IssueFailed, "the agent failed"
	case what == 6:
		o.Class, o.Why = schedule.Transient, "busy"
	default:
		o.Class, o.Why, o.Turns = schedule.Systemic, "the key was refused", 0
	}
	read := issue.Issue
	o.Issue = &read
	return o
}

// statuses returns the statuses of the owners of claims according to GitHub; collector is the attempt
// of a run that its own collect asks about, nil for others.
func (w *fleetWorld) statuses(s *schedule.State, collector *runAttempt) map[schedule.Owner]schedule.OwnerStatus {
	lives := map[schedule.Owner]schedule.OwnerStatus{}
	for _, o := range s.Orphans() {
		lives[o] = w.status(o, collector)
	}
	return lives
}

func (w *fleetWorld) status(o schedule.Owner, collector *runAttempt) schedule.OwnerStatus {
	for _, tick := range w.ticks {
		if tick.owner == o {
			if collector == nil && tick.over {
				return schedule.Dead
			}
			return schedule.Alive
		}
	}
	run := w.runs[slices.IndexFunc(w.runs, func(r *workflowRun) bool { return r.id == o.Run })]
	a := run.attempts[o.Attempt-1]
	own := collector != nil && collector.run == run && o.Attempt <= collector.number
	if collector != nil && !own || !own && !a.over {
		return schedule.Alive
	}
	if !own && run.calm {
		w.t.Fatalf("%s left claims although nothing failed", o.Name())
	}
	i := slices.IndexFunc(a.work, func(j *workJob) bool { return j.owner == o })
	switch {
	case i < 0 || a.work[i].started.IsZero():
		return schedule.Unstarted
	case w.selfHosted && w.now.Before(a.work[i].started.Add(shardLimit)):
		return schedule.Alive
	}
	return schedule.Dead
}

// tickProcess is an ordinary run that plans and works.
type tickProcess struct {
	owner    schedule.Owner
	over     bool
	stage    int // 0 plan, 1 save, 2 work, 3 save the ends
	state    *schedule.State
	revision int
	sessions []*agentSession
	ends     []func(*schedule.State)
	ended    map[*agentSession]int64
}

func (p *tickProcess) active() bool { return !p.over }

func (p *tickProcess) kill(*fleetWorld) {
	die(p.sessions)
	p.over = true
}

func (p *tickProcess) step(w *fleetWorld) {
	switch p.stage {
	case 0:
		p.state, p.revision = w.load(p.owner)
		p.state.Adopt(w.statuses(p.state, nil), w.policy, w.now)
		p.sessions = nil
		for _, d := range schedule.Plan(p.state, w.snapshot(p.state, true), w.policy, w.now) {
			p.state.Apply(d, w.now)
		}
		p.stage = 1
	case 1:
		if p.stage = 0; !w.save(p.state, p.revision) {
			return
		}
		p.revision, p.stage = w.revision, 2
		for _, id := range slices.Sorted(maps.Keys(p.state.Claims)) {
			if p.state.Claims[id].Owner == p.owner {
				p.sessions = append(p.sessions, w.start(id, p.owner))
			}
		}
	case 2:
		i := slices.IndexFunc(p.sessions, func(s *agentSession) bool { return s.live })
		if i < 0 {
			p.stage = 3
			return
		}
		s, at := p.sessions[i], w.now
		s.tokens = int64(w.pick(maxTokens, "tokens"))
		o := w.end(s, p.state.Claims[s.id])
		p.ends = append(p.ends, func(into *schedule.State) { into.Exit(s.id, o, w.policy, at) })
		p.ended[s] = s.tokens
		p.state.Exit(s.id, o, w.policy, at)
	case 3:
		if w.save(p.state, p.revision) {
			w.count(p.ended)
			p.over = true
			return
		}
		p.state, p.revision = w.load(p.owner)
		for _, end := range p.ends {
			end(p.state)
		}
	}
}

// count notes tokens that the saved state must have counted, once.
func (w *fleetWorld) count(sessions map[*agentSession]int64) {
	for s, tokens := range sessions {
		w.counted[s] = tokens
	}
}

// die ends the sessions of a process that was killed.
func die(sessions []*agentSession) {
	for _, s := range sessions {
		s.live = false
	}
}

// check fails the test if an invariant does not hold now.
func (w *fleetWorld) check() {
	var spent, counted int64
	for _, day := range w.saved.Days {
		spent += day.Usage.Total()
	}
	for _, tokens := range w.counted {
		counted += tokens
	}
	if spent != counted {
		w.t.Fatalf("%d tokens were counted, and the sessions whose end was told spent %d", spent, counted)
	}
	for id, c := range w.saved.Claims {
		checkShape(w.t, c)
		if c.Owner.Shard > 0 && !slices.Contains(w.saved.Reserves[c.Owner].IDs, id) {
			w.t.Fatalf("nothing is reserved for %s of %s", id, c.Owner.Name())
		}
	}
	live := map[schedule.Owner]bool{}
	for _, c := range w.saved.Claims {
		live[c.Owner] = true
	}
	for owner := range w.saved.Reserves {
		if !live[owner] && w.status(owner, nil) == schedule.Unstarted {
			w.t.Fatalf("something is reserved for %s, which never began", owner.Name())
		}
	}
	w.checkBudget()
}

// checkBudget fails the test if more was promised to shards than the budget allows.
func (w *fleetWorld) checkBudget() {
	b := w.policy.Budget
	budget := max(b.TokensPerDay, int64(b.USDPerDay))
	if budget == 0 {
		return
	}
	used, told := map[schedule.Owner]int64{}, map[schedule.Owner]int64{}
	for _, s := range w.sessions {
		used[s.owner] += s.tokens
		told[s.owner] += w.counted[s] // what a killed shard spent after its last save is not known
	}
	var sum int64
	for owner, share := range w.shares {
		if _, open := w.saved.Reserves[owner]; open {
			sum += share
		} else {
			sum += min(share, told[owner])
		}
		if used[owner] > share+int64(w.fleet.Slots)*maxTokens {
			w.t.Fatalf("%s spent %d tokens of its share of %d", owner.Name(), used[owner], share)
		}
	}
	if sum > budget {
		w.t.Fatalf("%d tokens are promised to shards, and %d are allowed", sum, budget)
	}
}
