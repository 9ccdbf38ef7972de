package schedule_test

import (
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// TestFleetsLoseNothingAndDoNothingTwice runs fleets and ordinary runs at the same time,
// which share a state. Jobs are killed at each step, canceled and run again, results are
// lost, late and read twice, and on self-hosted runners a process may outlive its job.
// At no time has an issue two sessions, is a result settled twice or for another session,
// is a claim lost, is spending counted twice or forgotten, or is more promised than the
// budget allows. If nothing fails from then on, every issue gets done, and no run takes a
// claim of another one.
//
// For a thorough run:
//
//	go test ./runner/schedule -run Fleets -rapid.checks=100000
func TestFleetsLoseNothingAndDoNothingTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newFleetWorld(t)
		for range 40 + 4*w.pick(32, "steps") {
			w.act()
			w.progress()
			w.check()
		}
		w.finish()
	})
}

// act does one thing.
func (w *fleetWorld) act() {
	ps := w.processes()
	switch what := w.pick(20, "action"); {
	case what < 12 && len(ps) > 0:
		ps[w.pick(min(len(ps), 32), "process")].step(w)
	case what < 12, what == 12:
		if len(w.runs) < 5 {
			w.newRun()
		}
	case what == 13:
		if len(w.ticks) < 3 {
			w.newTick()
		}
	case what < 16 && len(ps) > 0:
		ps[w.pick(min(len(ps), 32), "killed")].kill(w)
	case what == 16 && len(w.runs) > 0:
		w.cancel(w.runs[w.pick(len(w.runs), "canceled")])
	case what == 17 && len(w.runs) > 0:
		w.rerun(w.runs[w.pick(len(w.runs), "run again")])
	case what == 18:
		issue := w.board[w.pick(len(w.board), "moved by somebody")]
		if issue.State, issue.left = "Todo", 1; w.pick(2, "done") == 1 {
			issue.State, issue.everDone = "Done", true
		}
	default:
		if d := []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 2 * time.Hour}[w.pick(4, "time")]; w.now.Add(d).Day() == w.now.Day() {
			w.advance(d)
		}
	}
}

func (w *fleetWorld) cancel(r *workflowRun) {
	a := r.attempts[len(r.attempts)-1]
	if a.over {
		return
	}
	a.cancel(w)
	if w.pick(2, "force") == 1 { // the run has no collect
		if a.collect != nil && a.collect.status == active {
			a.collect.kill(w)
		}
		a.over = true
	}
}

func (w *fleetWorld) rerun(r *workflowRun) {
	last := r.attempts[len(r.attempts)-1]
	if !last.over || len(r.attempts) == 3 {
		return
	}
	good := last.plan.status == succeeded
	switch w.pick(3, "which jobs") {
	case 0: // all
		r.rerun(false, nil, false)
	case 1: // those that failed
		r.rerun(good, func(j *workJob) bool { return j.status == succeeded }, last.collect != nil && last.collect.status == succeeded)
	case 2: // one, and what needs it
		if good && len(last.work) > 0 {
			again := last.work[w.pick(len(last.work), "job")]
			r.rerun(true, func(j *workJob) bool { return j != again }, false)
		}
	}
}

// finish runs everything to its end without failures, and fails the test if an issue is
// not done then, or if something that was reported is not counted.
func (w *fleetWorld) finish() {
	w.quiet = true
	w.policy.Budget = schedule.Budget{}
	w.runAll(-1)
	for range 30 {
		if _, left := w.unfinished(); !left {
			break
		}
		w.advance(30 * time.Minute)
		w.newRun()
		w.runAll(w.pick(16, "another run"))
	}
	if id, left := w.unfinished(); left {
		w.t.Fatalf("%s is not done, its claim is %+v", id, w.saved.Claims[id])
	}
	w.advance(time.Hour)
	for _, r := range w.runs { // collect reads what came late
		for j := (&collectJob{attempt: r.attempts[len(r.attempts)-1]}); j.active(); {
			j.step(w)
		}
	}
	w.check()
	for s, tokens := range w.delivered() {
		if w.counted[s] != tokens {
			w.t.Fatalf("%d tokens of %s are not counted", tokens, s.owner.Name())
		}
	}
	w.advance(26 * time.Hour)
	s, _ := w.load(schedule.Owner{Run: "last"})
	s.Adopt(nil, w.policy, w.now)
	if len(s.Reserves) > 0 {
		w.t.Fatalf("%v stays reserved", maps.Collect(maps.All(s.Reserves)))
	}
}

// runAll lets every process go on until none is left. After some steps it begins another
// run.
func (w *fleetWorld) runAll(another int) {
	for step := 0; ; step++ {
		if step == another {
			w.newRun()
		}
		w.progress()
		ps := w.processes()
		if len(ps) == 0 {
			return
		}
		for _, p := range ps {
			p.step(w)
		}
		w.check()
	}
}
