package schedule_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// workflowRun is a run of the workflow of a fleet, with its attempts.
type workflowRun struct {
	id        string
	calm      bool // nothing fails since it began
	attempts  []*runAttempt
	slices    map[schedule.Owner]*schedule.State // the artifacts of plans
	artifacts []*artifact                        // artifacts of all shards, in all attempts
}

// artifact is the result of a shard.
type artifact struct {
	attempt int // that uploaded it
	owner   schedule.Owner
	state   *schedule.State
	tokens  map[*agentSession]int64 // that it reports
	visible time.Time               // when it can be read first; zero if it is lost
	expires time.Time
}

func (a *artifact) readable(now time.Time) bool {
	return !a.visible.IsZero() && !now.Before(a.visible) && now.Before(a.expires)
}

// runAttempt is an attempt of a run: its jobs, of which a re-run keeps some.
type runAttempt struct {
	run     *workflowRun
	number  int
	plan    *planJob
	work    []*workJob
	spread  bool // the matrix was made
	collect *collectJob
	over    bool
}

type jobStatus int

const (
	active jobStatus = iota
	succeeded
	failed
)

// process is a job that GitHub runs, or a tick.
type process interface {
	step(w *fleetWorld)
	kill(w *fleetWorld)
	active() bool // it can take a step
}

// progress does what GitHub does when a job has ended.
func (a *runAttempt) progress() {
	if a.over || a.plan.status == active {
		return
	}
	if !a.spread {
		a.spread = true
		for _, owner := range a.plan.shards {
			a.work = append(a.work, &workJob{owner: owner, attempt: a})
		}
	}
	if slices.ContainsFunc(a.work, func(j *workJob) bool { return j.status == active }) {
		return
	}
	switch {
	case a.plan.nothing:
		a.over = true
	case a.collect == nil:
		a.collect = &collectJob{attempt: a}
	default:
		a.over = a.collect.status != active
	}
}

// cancel ends the jobs of the attempt, except for collect, which runs always.
func (a *runAttempt) cancel(w *fleetWorld) {
	if a.plan.status == active {
		a.plan.kill(w)
	}
	a.progress()
	for _, j := range a.work {
		if j.status == active {
			j.kill(w)
		}
	}
}

// rerun begins the next attempt of a run that is over. It keeps the jobs for which keep
// says so, as long as they need no job that runs again.
func (r *workflowRun) rerun(keepPlan bool, keep func(*workJob) bool, keepCollect bool) {
	last := r.attempts[len(r.attempts)-1]
	a := &runAttempt{run: r, number: last.number + 1}
	r.attempts = append(r.attempts, a)
	if !keepPlan {
		a.plan = &planJob{attempt: a}
		return
	}
	a.plan, a.spread = last.plan, true
	for _, j := range last.work {
		if !keep(j) {
			j, keepCollect = &workJob{owner: j.owner, attempt: a}, false
		}
		a.work = append(a.work, j)
	}
	if keepCollect {
		a.collect = last.collect
	}
	a.progress()
}

// planJob is the job that gives issues to shards.
type planJob struct {
	attempt  *runAttempt
	status   jobStatus
	stage    int // 0 plan, 1 save, 2 tell GitHub
	state    *schedule.State
	revision int
	owners   []schedule.Owner
	slices   map[schedule.Owner]*schedule.State

	// The outputs, which GitHub knows only if the job has ended well.
	shards  []schedule.Owner
	nothing bool // it says that there is no work
}

func (j *planJob) active() bool { return j.status == active }

func (j *planJob) kill(*fleetWorld) { j.status = failed }

func (j *planJob) step(w *fleetWorld) {
	fleet := w.fleet
	fleet.Owner = schedule.Owner{Run: j.attempt.run.id, Attempt: j.attempt.number, Limit: int64(shardLimit / time.Second)}
	switch j.stage {
	case 0:
		j.state, j.revision = w.load(schedule.Owner{Run: j.attempt.run.id, Attempt: j.attempt.number, Job: "plan"})
		for _, owner := range slices.SortedFunc(maps.Keys(j.state.Reserves), schedule.CompareOwners) {
			if fleet.Owns(owner) { // a save of ours that seemed to fail
				j.state.Unstart(owner, w.now)
			}
		}
		j.state.Adopt(w.statuses(j.state, nil), w.policy, w.now)
		p := fleet.Bind(w.policy)
		ds, shards := fleet.Spread(j.state, schedule.Plan(j.state, w.snapshot(j.state, true), p, w.now), p, w.now)
		for _, d := range ds {
			j.state.Apply(d, w.now)
		}
		j.owners, j.slices = nil, map[schedule.Owner]*schedule.State{}
		for _, shard := range shards {
			owner := fleet.Owner.OfShard(shard.Number)
			j.owners = append(j.owners, owner)
			j.slices[owner] = j.state.Slice(owner, w.now)
		}
		j.stage = 1
	case 1:
		if j.stage = 0; !w.saveOf(fleet, j.state, j.revision) || w.unlucky(16, "the answer is lost") {
			return
		}
		j.stage = 2
	case 2:
		j.attempt.run.keepSlices(j.slices)
		j.status, j.shards, j.nothing = succeeded, j.owners, len(j.owners) == 0
	}
}

func (r *workflowRun) keepSlices(slices map[schedule.Owner]*schedule.State) {
	if r.slices == nil {
		r.slices = map[schedule.Owner]*schedule.State{}
	}
	maps.Copy(r.slices, slices)
}

// saveOf saves the state of a plan. No shard of it has begun, so what it saved before is
// forgotten.
func (w *fleetWorld) saveOf(fleet schedule.Fleet, s *schedule.State, revision int) bool {
	if revision != w.revision {
		return false
	}
	maps.DeleteFunc(w.claimed, func(key claimKey, _ bool) bool { return fleet.Owns(key.owner) })
	maps.DeleteFunc(w.shares, func(o schedule.Owner, _ int64) bool { return fleet.Owns(o) })
	for id, c := range w.saved.Claims { // so that it counts as another claim
		if fleet.Owns(c.Owner) {
			c.Owner = schedule.Owner{}
			c.Phase = schedule.Waiting
			w.saved.Claims[id] = c
		}
	}
	for owner, r := range s.Reserves {
		if fleet.Owns(owner) {
			w.shares[owner] = max(r.Tokens, int64(r.USD))
		}
	}
	return w.save(s, revision)
}

// workJob is a shard.
type workJob struct {
	owner    schedule.Owner
	attempt  *runAttempt
	status   jobStatus // GitHub's view of the job
	over     bool      // its process has ended
	started  time.Time // when GitHub gave it a runner
	stage    int       // 0 queued, 1 begin, 2 work, 3 upload
	state    *schedule.State
	sessions []*agentSession
	left     *artifact // what it has saved last
	given    int       // claims
}

func (j *workJob) active() bool { return !j.over }

func (j *workJob) finish(status jobStatus) {
	if j.over = true; j.status == active {
		j.status = status
	}
}

func (j *workJob) kill(w *fleetWorld) {
	switch {
	case j.started.IsZero(), j.status != active:
		j.finish(failed)
	case w.selfHosted && w.pick(2, "goes on") == 1:
		j.status = failed
		return
	case j.left != nil && w.pick(2, "upload what is there") == 1:
		j.upload(w)
	}
	die(j.sessions)
	j.finish(failed)
}

func (j *workJob) step(w *fleetWorld) {
	switch j.stage {
	case 0:
		j.started, j.stage = w.now, 1
	case 1:
		given := j.attempt.run.slices[j.owner]
		switch {
		case j.attempt.number != j.owner.Attempt: // the plan is of another attempt
			j.finish(succeeded)
			return
		case w.unlucky(16, "the plan is lost"):
			j.finish(failed)
			return
		}
		j.state, j.stage, j.given = given.Clone(), 2, len(given.Claims)
		j.plan(w)
	case 2:
		i := slices.IndexFunc(j.sessions, func(s *agentSession) bool { return s.live })
		if i < 0 {
			j.stage = 3
			return
		}
		s := j.sessions[i]
		switch what := w.pick(6, "shard does"); {
		case what < 3 && j.state.Claims[s.id].Phase == schedule.Running:
			s.tokens += int64(w.pick(maxTokens, "tokens"))
			j.state.Heartbeat(s.id, schedule.Update{Alive: true, Usage: s.usage(), Turns: 1}, w.now)
			j.plan(w)
		case what == 3:
			j.keep()
		default:
			j.state.Exit(s.id, w.end(s, j.state.Claims[s.id]), w.policy, w.now)
		}
	case 3:
		if j.status == active { // otherwise GitHub does not take it any more
			j.keep()
			j.upload(w)
		}
		j.finish(succeeded)
	}
}

// plan does what the loop of a shard does in each round.
func (j *workJob) plan(w *fleetWorld) {
	p := w.policy
	p.MaxConcurrent, p.MaxPerTick = w.fleet.Slots, j.given
	for _, d := range schedule.Plan(j.state, w.snapshot(j.state, false), p, w.now) {
		if j.state.Apply(d, w.now); d.Action == schedule.Dispatch {
			j.sessions = append(j.sessions, w.start(d.ID, j.owner))
		}
	}
}

// keep saves what the shard would leave if it was killed now.
func (j *workJob) keep() {
	j.left = &artifact{attempt: j.attempt.number, owner: j.owner, state: j.state.Clone(), tokens: map[*agentSession]int64{}}
	for _, s := range j.sessions {
		j.left.tokens[s] = s.tokens
	}
}

func (j *workJob) upload(w *fleetWorld) {
	j.left.expires = w.now.Add(24 * time.Hour)
	switch {
	case w.unlucky(8, "the result is lost"):
	case w.unlucky(4, "the result is late"):
		j.left.visible = w.now.Add(20 * time.Minute)
	default:
		j.left.visible = w.now
	}
	j.attempt.run.artifacts = append(j.attempt.run.artifacts, j.left)
}

// expire ends the process if its own time is over.
func (j *workJob) expire(w *fleetWorld) {
	if j.over || j.started.IsZero() || w.now.Before(j.started.Add(shardLimit)) {
		return
	}
	for _, s := range j.sessions {
		if s.live {
			s.live = false
			j.state.Apply(schedule.Decision{Action: schedule.Stop, ID: s.id, Why: schedule.Why{Reason: schedule.DeadlineReached}}, w.now)
			j.state.Exit(s.id, schedule.Outcome{Class: schedule.Stopped, Usage: s.usage()}, w.policy, w.now)
		}
	}
	if j.stage < 2 {
		j.finish(failed)
		return
	}
	j.stage = 3
}

// collectJob is the job that settles the results of the shards.
type collectJob struct {
	attempt  *runAttempt
	status   jobStatus
	stage    int // 0 settle, 1 save, 2 end
	state    *schedule.State
	revision int
	reported map[*agentSession]int64
}

func (j *collectJob) active() bool { return j.status == active }

func (j *collectJob) kill(*fleetWorld) { j.status = failed }

func (j *collectJob) step(w *fleetWorld) {
	switch j.stage {
	case 0:
		j.state, j.revision = w.load(schedule.Owner{Run: j.attempt.run.id, Attempt: j.attempt.number, Job: "collect"})
		j.reported = map[*agentSession]int64{}
		results := j.attempt.run.artifacts
		for i := range results {
			if w.unlucky(8, "twice") {
				results = append(slices.Clip(results), results[i])
			}
		}
		for _, r := range results {
			if r.attempt <= j.attempt.number && r.readable(w.now) {
				j.settle(w, r)
			}
		}
		j.state.Adopt(w.statuses(j.state, j.attempt), w.policy, w.now)
		j.stage = 1
	case 1:
		if j.stage = 0; w.save(j.state, j.revision) {
			j.stage = 2
			maps.Copy(w.counted, j.reported)
		}
	case 2:
		j.status = succeeded
	}
}

func (j *collectJob) settle(w *fleetWorld, r *artifact) {
	before := maps.Clone(j.state.Claims)
	settled, err := j.state.Settle(r.owner, r.state, w.policy, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	maps.Copy(j.reported, r.tokens)
	for id, was := range before {
		is, kept := j.state.Claims[id]
		ours := holdsSlot(was) && was.Owner == r.owner
		if ours != slices.Contains(settled, id) || ours && kept && holdsSlot(is) || !ours && !reflect.DeepEqual(is, was) {
			w.t.Fatalf("the result of %s changed %+v to %+v", r.owner.Name(), was, is)
		}
	}
}

// newRun begins a run of the fleet.
func (w *fleetWorld) newRun() {
	r := &workflowRun{id: fmt.Sprint(len(w.runs) + 1), calm: w.quiet}
	a := &runAttempt{run: r, number: 1}
	a.plan = &planJob{attempt: a}
	r.attempts = []*runAttempt{a}
	w.runs = append(w.runs, r)
}

// newTick begins an ordinary run.
func (w *fleetWorld) newTick() {
	owner := schedule.Owner{Run: fmt.Sprint("tick ", len(w.ticks)+1), Attempt: 1}
	w.ticks = append(w.ticks, &tickProcess{owner: owner, ended: map[*agentSession]int64{}})
}

// processes returns the processes that can take a step.
func (w *fleetWorld) processes() []process {
	var ps []process
	add := func(p process) {
		if p.active() {
			ps = append(ps, p)
		}
	}
	for _, tick := range w.ticks {
		add(tick)
	}
	for _, r := range w.runs {
		for _, a := range r.attempts {
			add(a.plan)
			for _, j := range a.work {
				if j.attempt == a { // not one that was kept
					add(j)
				}
			}
			if a.collect != nil {
				add(a.collect)
			}
		}
	}
	return ps
}

// progress does what GitHub does after a step.
func (w *fleetWorld) progress() {
	for _, r := range w.runs {
		r.attempts[len(r.attempts)-1].progress()
	}
}

func (w *fleetWorld) advance(d time.Duration) {
	w.now = w.now.Add(d)
	for _, r := range w.runs {
		for _, a := range r.attempts {
			for _, j := range a.work {
				j.expire(w)
			}
		}
	}
}

// delivered returns the tokens of each session, as the readable results say.
func (w *fleetWorld) delivered() map[*agentSession]int64 {
	all := map[*agentSession]int64{}
	for _, r := range w.runs {
		for _, result := range r.artifacts {
			if result.readable(w.now) {
				maps.Copy(all, result.tokens)
			}
		}
	}
	return all
}

// unfinished returns an issue that is not done, or has a claim.
func (w *fleetWorld) unfinished() (tracker.ID, bool) {
	for _, b := range w.board {
		if _, claimed := w.saved.Claims[b.ID]; claimed || b.State != "Done" {
			return b.ID, true
		}
	}
	return "", false
}
