package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Action is the action of a plan on an issue.
type Action string

// The actions of a plan.
const (
	Dispatch Action = "dispatch" // claim it and start a session
	Observe  Action = "observe"  // store the tracker's record of it
	Steer    Action = "steer"    // give its session what people said since it began
	Stop     Action = "stop"     // end its session
	Release  Action = "release"  // delete its claim
	Park     Action = "park"     // keep the claim, or make one, until a person acts
	Free     Action = "free"     // let it go on: make it due at once, with its counters reset
	Finish   Action = "finish"   // its pull request was merged, or its work is over: delete its claim and clean up
)

// Happened returns the words for an action that was taken. The log, the displays and the
// API all use them.
func (a Action) Happened() string {
	switch a {
	case Dispatch:
		return "dispatched"
	case Observe:
		return "observed"
	case Steer:
		return "steering" // its session still has to take it
	case Stop:
		return "stopping" // its session still has to end
	case Release:
		return "released"
	case Park:
		return "parked"
	case Free:
		return "free to go on"
	case Finish:
		return "finished"
	}
	return string(a)
}

// Decision represents one step of a plan. [State.Apply] writes it into the state,
// then the runner performs it.
type Decision struct {
	Action Action
	ID     tracker.ID
	Issue  tracker.Issue // the issue when last read; may be zero for a Stop
	Why    Why           // all but Observe; empty for a Dispatch that answers nothing
	Clean  bool          // Release, Finish: nobody works on the issue again, so its workspace is removed

	Feedback Feedback // feedback that it answers; zero for none
	Answers  bool     // Dispatch, Free, Park: the claim is for feedback
	Host     string   // Dispatch: worker host of the session; empty for this machine
	Hosts    []string // Release, Finish: worker hosts that may have a workspace of the issue
	Move     bool     // Finish: the issue is to be moved to the state of merged work

	// Owner, Fleet, Lease and Share are set for a Dispatch to a shard; see [Fleet.Spread].
	Owner Owner         // the shard; zero for this run
	Fleet string        // the name of its fleet
	Lease time.Duration // time for which the shard counts as alive if nobody can be asked
	Share Share         // share of the budgets for this session
}

// Snapshot holds the known facts about the issues when a plan is made.
type Snapshot struct {
	// Candidates holds the known issues in active states. Planning is fastest
	// when they are in the order of [Compare]. Claimed issues may be among them.
	Candidates []tracker.Issue
	// Claimed holds each claimed issue, and each one with feedback, as it was last read:
	// nil if the tracker no longer shows it, absent if it could not be read. Nothing is
	// done about feedback on an issue that is absent.
	Claimed map[tracker.ID]*tracker.Issue
	// Malformed maps a claimed issue that is absent from Claimed to the defect
	// of its record.
	Malformed map[tracker.ID]string
	// Feedback holds the unanswered feedback on each issue with a claim or a delivery whose
	// conversation was read; a zero one for none. It is nil if no conversation can be
	// read at all.
	Feedback map[tracker.ID]Feedback
	// Own maps the issue of a session to that issue as the session itself has left it: it ends
	// by itself, so it is not stopped for that. nil says that it may be changing the issue now;
	// a session that is absent has not changed it.
	Own map[tracker.ID]*tracker.Issue
	// Steerable holds the sessions of this run that take feedback while they work, and have taken
	// all that they were given.
	Steerable map[tracker.ID]bool
	// Hold is the reason why nothing at all may be started; zero when there is
	// none.
	Hold Why
}

// Plan returns the decisions for now. It changes nothing.
func Plan(s *State, snap Snapshot, p Policy, now time.Time) []Decision {
	return run(s, snap, p, now, false).decisions
}

// Verdict is a plan's decision about one issue, with the reason.
type Verdict struct {
	Issue  tracker.Issue // the issue, or its claim's memory of it if it could not be read
	Phase  Phase         // phase of its claim; empty when it has none
	Action Action        // empty when nothing is done
	Why    Why           // reason why nothing is done, or of the action
	Host   string        // worker host on which its session runs, or starts now; empty for none
}

// Explain returns a verdict on every claim and candidate, including those that
// [Plan] does not need to look at.
func Explain(s *State, snap Snapshot, p Policy, now time.Time) []Verdict {
	return run(s, snap, p, now, true).verdicts
}

// Queue returns the candidates without a claim that lack nothing but room, in the order in
// which they are started when there is some.
func Queue(verdicts []Verdict) []tracker.Issue {
	var queue []tracker.Issue
	for _, v := range verdicts {
		if v.Phase == "" && v.Action == "" && v.Why.Reason.lacksRoom() {
			queue = append(queue, v.Issue)
		}
	}
	return queue
}

// run makes the passes. If they obey a person who ends the pause, they are made again
// without it.
func run(s *State, snap Snapshot, p Policy, now time.Time, explain bool) *planner {
	pl := newPlanner(s, snap, p, now, false)
	pl.explain = explain
	pl.run()
	if pl.resumes && s.Pause.Why != "" {
		pl = newPlanner(s, snap, p, now, true)
		pl.explain = explain
		pl.run()
	}
	return pl
}

// planner holds the progress of one plan.
type planner struct {
	state         *State
	snap          Snapshot
	p             Policy
	rules         rules
	feedbackRules rules // rules for issues that have sessions only because of feedback
	now           time.Time

	hold       Why                 // reason why nothing at all may be started; zero for none
	limit      int                 // sessions at once, of those that count
	probing    bool                // a single session checks whether the pause is over
	running    int                 // running sessions
	underLimit int                 // running sessions that count against MaxConcurrent
	perState   map[string]int      // slots taken by state
	perHost    map[string]hostLoad // sessions by worker host
	left       int                 // sessions that may still start in this tick
	freed      map[tracker.ID]bool // claims released by this plan
	taken      map[tracker.ID]bool // issues dispatched by this plan, or that wait for a slot in it

	obeyed     map[tracker.ID]bool         // issues whose command in a comment this plan obeys
	talks      map[tracker.ID]Conversation // conversations that this plan changes; all others are in the state
	openLimits []openLimit                 // limits of open pull requests, counted before new issues start; empty for none

	listedLabels map[tracker.ID][]string // labels of the candidates, read only for these limits

	due     []*tracker.Issue // issues without a claim that have sessions because of feedback, in order
	resumes bool             // a person ends the pause

	decisions []Decision
	explain   bool
	verdicts  []Verdict
}

func newPlanner(s *State, snap Snapshot, p Policy, now time.Time, resumed bool) *planner {
	pl := &planner{
		state: s, snap: snap, p: p, rules: p.rules(), now: now,
		limit: p.MaxConcurrent, left: p.PerTick() - s.Tick.Sessions,
		perState: map[string]int{}, perHost: map[string]hostLoad{}, freed: map[tracker.ID]bool{}, taken: map[tracker.ID]bool{}, obeyed: map[tracker.ID]bool{},
	}
	pl.feedbackRules = pl.rules.forFeedback(p.HandedOver)
	pl.hold = pl.holdReason(resumed)
	return pl
}

func (pl *planner) run() {
	claims := make([]Claim, 0, len(pl.state.Claims))
	for _, c := range pl.state.Claims {
		claims = append(claims, c)
	}
	claims = append(claims, pl.unclaimed()...)
	claims = SortedClaims(claims, pl.compareClaims)
	for _, c := range claims {
		if c.holdsSlot() {
			pl.reconcile(c)
		}
	}
	var last []Claim
	for _, c := range claims {
		switch {
		case c.holdsSlot():
		case pl.probing && c.Setup != Setup{}:
			last = append(last, c)
		default:
			pl.settle(c)
		}
	}
	pl.startNew()
	// A claim that failed by a fault of the workflow is the last choice for the session
	// that checks whether the pause is over: it may fail for a reason of its own.
	for _, c := range last {
		pl.settle(c)
	}
}

// holdReason returns the reason for starting nothing at all; zero for none.
func (pl *planner) holdReason(resumed bool) Why {
	s := pl.state
	if !pl.snap.Hold.None() {
		return pl.snap.Hold
	}
	if s.Tick.Paused {
		return Why{Paused, s.Pause.Why}
	}
	if s.Pause.Why != "" {
		if pl.now.Before(s.Pause.Until) && !resumed {
			return Why{Paused, fmt.Sprintf("paused until %s: %s", s.Pause.Until.UTC().Format(time.RFC3339), s.Pause.Why)}
		}
		pl.limit, pl.probing = min(pl.limit, 1), true
	}
	return s.SpentBudget(pl.p.Budget, pl.now)
}

// compareClaims orders claims as their issues would be dispatched.
func (pl *planner) compareClaims(a, b *Claim) int {
	x, y := pl.snap.Claimed[a.ID], pl.snap.Claimed[b.ID]
	switch {
	case x != nil && y != nil:
		return Compare(x, y)
	case x != nil:
		return -1
	case y != nil:
		return 1
	}
	return cmp.Or(cmp.Compare(a.Identifier, b.Identifier), cmp.Compare(a.ID, b.ID))
}

// noRoomFor returns the reason for not starting an eligible issue now; zero for none.
func (pl *planner) noRoomFor(issue *tracker.Issue) Why {
	if why := pl.noRoom(); !why.None() {
		return why
	}
	state := tracker.NormalState(issue.State)
	if limit, limited := pl.p.MaxPerState[state]; limited && pl.perState[state] >= limit {
		return Why{NoStateSlots, fmt.Sprintf("all %d slots of state %q are taken", limit, issue.State)}
	}
	return Why{}
}

// noRoom returns the reason for starting no issue now; zero for none.
func (pl *planner) noRoom() Why {
	switch {
	case !pl.hold.None():
		return pl.hold
	case pl.running >= pl.limit && pl.probing:
		return Why{Paused, "one session checks first whether this is fixed: " + pl.state.Pause.Why}
	case pl.underLimit >= pl.limit:
		return Why{NoSlots, "no available orchestrator slots"}
	case pl.left <= 0:
		return Why{BatchSpent, fmt.Sprintf("this tick has started its %d sessions", pl.p.PerTick())}
	}
	return pl.noHost()
}

// occupy adds a session to those that run. counts tells whether it counts against the limit.
func (pl *planner) occupy(state string, counts bool) {
	pl.running++
	if counts {
		pl.underLimit++
	}
	pl.perState[tracker.NormalState(state)]++
}

// counts reports whether the session of a claim counts against MaxConcurrent.
func (pl *planner) counts(c Claim) bool {
	switch {
	case c.Owner == pl.state.Self:
		return true
	case c.Owner.Shard == 0:
		return !pl.p.OfFleet
	}
	return pl.p.OfFleet && pl.state.Reserves[c.Owner].Fleet == pl.p.Fleet
}

func (pl *planner) dispatch(issue tracker.Issue, phase Phase) {
	host := pl.hostFor(pl.lastHost(issue))
	pl.occupy(issue.State, true)
	pl.addToHost(host, pl.now)
	pl.left--
	pl.taken[issue.ID] = true
	if phase == "" && !pl.hasOpenPull(issue.ID) {
		pl.countTowardsOpen(issue.Labels, false)
	}
	d := Decision{Action: Dispatch, ID: issue.ID, Issue: issue, Answers: pl.answers(&issue), Host: host}
	if d.Feedback, _ = pl.feedback(issue.ID); d.Feedback.Round != "" {
		d.Why = Why{Unanswered, orElse(d.Feedback.Summary, "something was said")}
	}
	pl.decide(d, issue, phase)
}

func (pl *planner) decide(d Decision, issue tracker.Issue, phase Phase) {
	pl.decisions = append(pl.decisions, d)
	pl.add(Verdict{Issue: issue, Phase: phase, Action: d.Action, Why: d.Why, Host: d.Host})
}

// note records a verdict on an issue for which nothing is done, if the plan is explained.
func (pl *planner) note(issue tracker.Issue, phase Phase, why Why) {
	pl.add(Verdict{Issue: issue, Phase: phase, Why: why})
}

// add records a verdict if the plan is explained.
func (pl *planner) add(v Verdict) {
	if !pl.explain || v.Action == Observe {
		return
	}
	if v.Phase.HasSession() {
		v.Host = pl.state.Claims[v.Issue.ID].Host
	}
	pl.verdicts = append(pl.verdicts, v)
}

// NoRoom returns the reason for starting no issue at all; zero for none. If there is one,
// the tracker need not be asked for candidates.
func NoRoom(s *State, snap Snapshot, p Policy, now time.Time) Why {
	pl := newPlanner(s, snap, p, now, false)
	for _, c := range s.Claims {
		if c.holdsSlot() {
			pl.occupy(c.State, pl.counts(c))
			pl.addToHost(c.Host, c.Since)
		}
	}
	return pl.noRoom()
}

// Wake returns the next instant after now at which time alone may change the
// plan: a retry falls due, a session becomes stalled, a pause or a day's budget
// ends. ok is false when there is no such instant.
func (s *State) Wake(p Policy, now time.Time) (at time.Time, ok bool) {
	sooner := func(t time.Time) {
		if t.After(now) && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	for _, c := range s.Claims {
		sooner(c.LostUntil)
		switch {
		case c.Phase == Waiting:
			sooner(c.Due)
		case c.Owner == s.Self && c.watched(p):
			// A nanosecond later: a session is stalled only when more than
			// the timeout has passed.
			sooner(c.silentSince().Add(p.Stall + time.Nanosecond))
		}
	}
	for _, until := range s.Failed {
		sooner(until)
	}
	for _, host := range p.Hosts {
		sooner(s.Hosts[host].Until)
	}
	if s.Pause.Why != "" {
		sooner(s.Pause.Until)
	}
	if s.SpentBudget(p.Budget, now).ofDay() {
		sooner(nextDay(now))
	}
	return at, ok
}

// NextRetry returns the time from which the next waiting issue may continue: its retry is
// due, no pause holds it, and the budget of the day is not spent. ok is false when none waits.
func (s *State) NextRetry(p Policy, now time.Time) (at time.Time, ok bool) {
	for _, c := range s.Claims {
		if c.Phase == Waiting && (!ok || c.Due.Before(at)) {
			at, ok = c.Due, true
		}
	}
	if ok && s.Pause.Why != "" {
		at = later(at, s.Pause.Until)
	}
	if down := s.DownHosts(p, at); ok && len(down) > 0 && len(down) == len(p.Hosts) {
		at = slices.MinFunc(down, func(a, b DownHost) int { return a.Until.Compare(b.Until) }).Until
	}
	if ok && s.SpentBudget(p.Budget, now).ofDay() {
		at = later(at, nextDay(now))
	}
	return at, ok
}
