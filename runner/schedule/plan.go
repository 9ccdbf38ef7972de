package schedule

import (
	"cmp"
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

var happened = map[Action]string{
	Dispatch: "dispatched",
	Observe:  "observed",
	Steer:    "steering", // its session still has to take it
	Stop:     "stopping", // its session still has to end
	Release:  "released",
	Park:     "parked",
	Free:     "free to go on",
	Finish:   "finished",
}

// Happened returns the words for an action that was taken. The log, the displays and the
// API all use them.
func (a Action) Happened() string { return happened[a] }

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
func run(s *State, snap Snapshot, p Policy, now time.Time, explain bool) steps {
	pl := newPlanner(s, snap, p, now, explain, false)
	if pl.run(); pl.resumes && s.Pause.Why != "" {
		pl = newPlanner(s, snap, p, now, explain, true)
		pl.run()
	}
	return pl.steps
}

// planner makes the passes of one plan.
type planner struct {
	state *State
	snap  Snapshot
	p     Policy
	now   time.Time
	steps
	eligible eligibility
	room     *room
	talks    *talks
	open     openPulls // counted before new issues start

	freed   map[tracker.ID]bool // claims that this plan releases
	taken   map[tracker.ID]bool // issues that this plan dispatches, or about which it decided otherwise
	due     []*tracker.Issue    // issues without a claim that have sessions because of feedback, in order
	resumes bool                // a person ends the pause
}

func newPlanner(s *State, snap Snapshot, p Policy, now time.Time, explain, resumed bool) *planner {
	return &planner{
		state: s, snap: snap, p: p, now: now, eligible: p.eligibility(), steps: steps{claims: s.Claims, explain: explain},
		talks: &talks{state: s, read: snap.Feedback, p: p, changed: map[tracker.ID]Conversation{}, ended: map[tracker.ID]bool{}, obeyed: map[tracker.ID]bool{}},
		room:  newRoom(s, snap.Hold, p, now, resumed), freed: map[tracker.ID]bool{}, taken: map[tracker.ID]bool{},
	}
}

func (pl *planner) run() {
	claims := slices.Grow(pl.talks.unclaimed(), len(pl.state.Claims))
	for _, c := range pl.state.Claims {
		claims = append(claims, c)
	}
	claims = Sorted(claims, pl.compareClaims)
	for _, c := range claims {
		if c.Phase.HasSession() {
			pl.reconcile(c)
		}
	}
	var last []Claim
	for _, c := range claims {
		switch {
		case c.Phase.HasSession():
		case pl.room.probing && c.Setup != Setup{}:
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

// compareClaims orders claims as their issues would be dispatched.
func (pl *planner) compareClaims(a, b *Claim) int {
	x, y := pl.snap.Claimed[a.ID], pl.snap.Claimed[b.ID]
	if x != nil && y != nil {
		return Compare(x, y)
	}
	return cmp.Or(compareBools(x == nil, y == nil), cmp.Compare(a.Identifier, b.Identifier), cmp.Compare(a.ID, b.ID))
}

func (pl *planner) dispatch(issue tracker.Issue, phase Phase) {
	host := pl.room.start(issue.State, pl.talks.lastHost(issue.ID))
	pl.taken[issue.ID] = true
	if phase == "" {
		pl.open.begin(issue)
	}
	d := Decision{Action: Dispatch, ID: issue.ID, Issue: issue, Answers: pl.eligible.answers(&issue), Host: host}
	if d.Feedback, _ = pl.talks.feedback(issue.ID); d.Feedback.Round != "" {
		d.Why = Why{Unanswered, cmp.Or(d.Feedback.Summary, "something was said")}
	}
	pl.decide(d, issue, phase)
}

// steps holds the decisions of a plan so far, and if it is explained the verdicts.
type steps struct {
	claims    map[tracker.ID]Claim
	decisions []Decision
	explain   bool
	verdicts  []Verdict
}

func (s *steps) decide(d Decision, issue tracker.Issue, phase Phase) {
	s.decisions = append(s.decisions, d)
	s.add(Verdict{Issue: issue, Phase: phase, Action: d.Action, Why: d.Why, Host: d.Host})
}

// note records a verdict on an issue for which nothing is done.
func (s *steps) note(issue tracker.Issue, phase Phase, why Why) {
	s.add(Verdict{Issue: issue, Phase: phase, Why: why})
}

func (s *steps) add(v Verdict) {
	if !s.explain || v.Action == Observe {
		return
	}
	if v.Phase.HasSession() {
		v.Host = s.claims[v.Issue.ID].Host
	}
	s.verdicts = append(s.verdicts, v)
}

// begun returns the issues in progress after the decisions: they have a claim that is not parked.
func (s *steps) begun() map[tracker.ID]bool {
	begun := make(map[tracker.ID]bool, len(s.claims))
	for id, c := range s.claims {
		if c.Phase != Parked {
			begun[id] = true
		}
	}
	for _, d := range s.decisions {
		switch d.Action {
		case Dispatch, Free:
			begun[d.ID] = true
		case Release, Park, Finish:
			delete(begun, d.ID)
		}
	}
	return begun
}
