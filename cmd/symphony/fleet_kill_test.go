package main

import (
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"sync"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// manyShards returns how many shards a test of a whole fleet has: SYMPHONY_TEST_SHARDS, or
// as many as a test of every day can run.
func manyShards(t testing.TB, usual int) int {
	t.Helper()
	text := os.Getenv("SYMPHONY_TEST_SHARDS")
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > schedule.MaxShards {
		t.Fatalf("SYMPHONY_TEST_SHARDS is %q: want a number from 1 to %d", text, schedule.MaxShards)
	}
	return n
}

// TestAFleetWhoseProcessesAreKilledLosesNothingAndDoesNothingTwice runs a fleet of real
// processes. Some shards never begin, some are killed before, in and after a session, some
// results are lost or late, and collect is killed once. Then two more fleets and an
// ordinary run overlap, and in a quiet time everything gets done. No issue is worked on
// twice at a time or again after its hand-over, no end counts twice, and what the state
// says was spent is what the results say that have arrived.
//
// For all shards that a fleet can have:
//
//	SYMPHONY_TEST_SHARDS=256 go test ./cmd/symphony -run FleetWhoseProcesses -v
func TestAFleetWhoseProcessesAreKilledLosesNothingAndDoesNothingTwice(t *testing.T) {
	t.Parallel()
	const slots = 2
	shards := manyShards(t, 16)
	if testing.Short() {
		shards = 8
	}
	random := rand.New(rand.NewPCG(uint64(shards), 1))
	f := newFleets(t, shards*slots, "")
	for number := 5; number <= shards*slots; number += 7 {
		f.failing[number] = 1
	}
	first := f.planFleet(shards, slots, atRandom(random))
	if len(first.shards) != shards {
		t.Fatalf("%d shards, want %d", len(first.shards), shards)
	}
	first.work()
	first.collect(1+random.IntN(7), random.IntN(2) == 0)
	first.collect(0, false)
	if n := first.saves(); n != 2 {
		t.Errorf("the fleet saved the state %d times, want 2", n)
	}
	f.checkClaims(first)
	f.checkSpending(schedule.Usage{}, 0, first)

	for _, s := range first.shards {
		if s.end == delaysResult {
			first.arrive(s)
		}
	}
	before := f.state().Claims
	first.collect(0, false)
	f.checkSpending(schedule.Usage{}, 0, first)
	for id, c := range f.state().Claims {
		if was := before[id]; c.Failures != was.Failures || c.Sessions != was.Sessions || c.Phase != was.Phase {
			t.Errorf("a result that came late changed %+v to %+v", was, c)
		}
	}
	first.finish()

	// Two fleets and an ordinary run overlap.
	f.addIssues(4)
	second := f.planFleet(shards, slots, atRandom(random))
	var wg sync.WaitGroup
	wg.Go(second.perform)
	f.addIssues(4)
	third := f.planFleet(shards, slots, well)
	if len(third.shards) == 0 {
		t.Error("the second fleet leaves no work for the third")
	}
	f.runs++
	tick := f.process(100+f.runs, "tick")
	f.execute(tick, "--once", "--max-issues", "2", onBranch)
	for _, p := range []*jobProcess{third.plan, tick} {
		if p.liveness == 0 || p.liveness > 6 {
			t.Errorf("%s made %d requests about other owners, want at most 6", p.name, p.liveness)
		}
	}
	claims := f.state().Claims
	for _, s := range second.shards {
		for _, id := range s.ids {
			if c := claims[id]; c.Phase != schedule.Running || c.Owner != second.made.ShardOwner(s.number) {
				t.Errorf("the claim of %s was taken from it: %+v", s.name, c)
			}
		}
	}
	third.perform()
	wg.Wait()
	spent, begun := f.spentInState()
	second.upload()
	third.upload()
	third.collect(0, false)
	second.collect(0, false)
	second.finish()
	third.finish()
	all := []*runOfFleet{first, second, third}

	// A quiet time.
	for range 5 {
		calm := f.planFleet(shards, slots, well)
		if len(calm.shards) == 0 {
			break
		}
		calm.work()
		calm.collect(0, false)
		calm.finish()
		all = append(all, calm)
	}
	f.checkSpending(spent, begun, all[1:]...)
	for _, run := range all[1:] {
		if n := run.saves(); n > 2 {
			t.Errorf("run %d saved the state %d times, want 2 at most", run.run, n)
		}
	}
	for number := 1; number <= shards*slots+8; number++ {
		if labels := f.hub.Issue(number).Labels; len(labels) > 0 || !f.handed[number] {
			t.Errorf("issue %d is not done: %v", number, labels)
		}
	}
	if claims := f.state().Claims; len(claims) > 0 {
		t.Errorf("claims that are left: %+v", claims)
	}
	f.noProcessLeft()
}

// checkClaims fails the test if a claim does not say how its shard ended.
func (f *fleets) checkClaims(r *runOfFleet) {
	f.t.Helper()
	claims := f.state().Claims
	for _, s := range r.shards {
		for _, id := range s.ids {
			number, _ := strconv.Atoi(string(id))
			c, claimed := claims[id]
			if claimed && (c.Phase == schedule.Running || c.Phase == schedule.Stopping) {
				f.t.Errorf("%s has ended, and still works on issue %s", s.name, id)
			}
			unsettled := s.end == losesResult || s.end == delaysResult
			switch {
			case s.end == neverBegins:
				if !claimed || c.Failures != 0 || c.Sessions != 0 {
					f.t.Errorf("%s never began: claim %+v", s.name, c)
				}
			case c.Failures > 1, c.Sessions > 1:
				f.t.Errorf("%s worked on issue %s once: claim %+v", s.name, id, c)
			case unsettled && c.Failures != 1:
				f.t.Errorf("%s left no result: claim %+v", s.name, c)
			case !claimed && !f.handed[number]:
				f.t.Errorf("issue %s is lost", id)
			case !s.killed && !unsettled && claimed == f.handed[number]:
				f.t.Errorf("%s was not killed: claim %+v", s.name, c)
			}
		}
	}
}

// checkSpending fails the test unless the state has counted what the results of runs say,
// beside the spending before them.
func (f *fleets) checkSpending(want schedule.Usage, sessions int, runs ...*runOfFleet) {
	f.t.Helper()
	for _, r := range runs {
		u, n := r.spending()
		want, sessions = want.Plus(u), sessions+n
	}
	if got, n := f.spentInState(); !reflect.DeepEqual(got, want) || n != sessions || want.Total() == 0 {
		f.t.Errorf("the state has %+v in %d sessions, and there were %+v in %d", got, n, want, sessions)
	}
}
