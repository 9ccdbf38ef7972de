package main

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"
)

// fleetCost is what a fleet asks of GitHub, and how long its parts take.
type fleetCost struct {
	shards, slots       int
	plan, work, collect int // requests that the rate limit of REST counts; those of all shards together
	queries             int // of GraphQL by shards, which have a limit of their own
	unchanged           int // requests of all shards whose answer was 304, which no limit counts
	planned, collected  time.Duration
	processor           time.Duration // of a shard and its agents
}

// rest returns the requests of a run that the rate limit of REST counts.
func (c fleetCost) rest() int { return c.plan + c.work + c.collect }

// The seconds that the jobs of a fleet take beside sessions, as .github/BENCHMARKS.md says how
// they are measured, rounded up.
const planSeconds, shardSeconds, collectSeconds = 2, 12, 3

// costOf returns what a fleet that fills its shards asks of GitHub.
func costOf(shards, slots int) fleetCost {
	return fleetCost{shards: shards, slots: slots, plan: 6 + (shards*slots+99)/100, work: shards * (1 + 2*slots), collect: 8}
}

// withPullRequests returns the requests of a run whose issues all end in a pull request.
func (c fleetCost) withPullRequests() int { return c.rest() + 4*c.shards*c.slots }

// anHour returns how many such runs the given requests an hour are enough for.
func (c fleetCost) anHour(requests int) string {
	runs := float64(requests) / float64(c.withPullRequests())
	if runs < 10 {
		return fmt.Sprintf("%.1f", runs)
	}
	return fmt.Sprintf("%.0f", runs)
}

// minutes returns what GitHub bills beside the sessions. It rounds each job up to a minute,
// which is half a minute on average for a shard, whose sessions take any time.
func (c fleetCost) minutes() int {
	ends := math.Ceil(planSeconds/60.) + math.Ceil(collectSeconds/60.)
	return int(math.Round(ends + float64(c.shards)*(shardSeconds/60.+0.5)))
}

// fleetFigures returns the table of .github/BENCHMARKS.md.
func fleetFigures() string {
	table := "| shards × slots | issues | plan | shards | collect | requests | with pull requests | queries of GraphQL by shards | such fleets an hour, by 1,000 and 5,000 requests | billed minutes beside sessions |\n|---|---|---|---|---|---|---|---|---|---|\n"
	for _, size := range [][2]int{{1, 2}, {16, 1}, {16, 2}, {16, 4}, {64, 2}, {256, 2}} {
		c := costOf(size[0], size[1])
		table += fmt.Sprintf("| %d × %d | %d | %d | %s | %d | %s | %s | %d | %s, %s | %d |\n", c.shards, c.slots, c.shards*c.slots,
			c.plan, thousands(c.work), c.collect, thousands(c.rest()), thousands(c.withPullRequests()), 2*c.shards, c.anHour(1000), c.anHour(5000), c.minutes())
	}
	return table
}

// fleetCosts returns the table of .github/fleet/README.md.
func fleetCosts() string {
	table := "| shards × slots | issues | requests to GitHub | with pull requests | such fleets an hour: job's token, App's | billed minutes beside sessions |\n|---|---|---|---|---|---|\n"
	for _, shards := range []int{1, 16, 64, 256} {
		c := costOf(shards, 2)
		table += fmt.Sprintf("| %d × %d | %d | %s | %s | %s, %s | %d |\n", c.shards, c.slots, c.shards*c.slots,
			thousands(c.rest()), thousands(c.withPullRequests()), c.anHour(1000), c.anHour(5000), c.minutes())
	}
	return table
}

// measureFleet runs a fleet that fills its shards. Its sessions end after the given number
// of polls.
func measureFleet(t *testing.T, shards, slots, polls int) fleetCost {
	t.Helper()
	f := newFleets(t, shards*slots, "polling: {interval_ms: 1}\n")
	began := time.Now()
	r := f.planFleet(shards, slots, well)
	c := fleetCost{shards: shards, slots: slots, plan: r.plan.requests, planned: time.Since(began)}
	if len(r.shards) != shards {
		t.Fatalf("%d shards, want %d", len(r.shards), shards)
	}
	for _, s := range r.shards {
		s.hold = polls * slots
	}
	r.work()
	began = time.Now()
	c.collect = r.collect(0, false).requests
	c.collected = time.Since(began)
	for _, s := range r.shards {
		c.work += s.requests
		c.unchanged += s.unchanged
		c.queries += s.queries
		c.processor += (s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()) / time.Duration(shards)
	}
	for number := 1; number <= shards*slots; number++ {
		if !f.handed[number] {
			t.Errorf("issue %d is not done", number)
		}
	}
	if n := r.saves(); n != 2 {
		t.Errorf("the fleet saved the state %d times, want 2", n)
	}
	return c
}

// thousands returns a number below a million as the figures show it.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// TestAFleetNeedsFewRequests counts what fleets ask of GitHub beside what their agents do
// and beside delivery, as .github/BENCHMARKS.md shows it. For the whole table:
//
//	SYMPHONY_TEST_SHARDS=256 go test ./cmd/symphony -run FleetNeedsFewRequests -v
func TestAFleetNeedsFewRequests(t *testing.T) {
	t.Parallel()
	largest := manyShards(t, 16)
	if testing.Short() {
		largest = 1
	}
	for _, size := range [][2]int{{1, 2}, {16, 1}, {16, 2}, {16, 4}, {64, 2}, {256, 2}} {
		if size[0] > largest || largest == 16 && size[1] != 2 {
			continue
		}
		polls := 0
		if size[0] == 1 {
			polls = 2
		}
		c := measureFleet(t, size[0], size[1], polls)
		issues := c.shards * c.slots
		if most := 17 + 4*issues; c.rest() > most || issues == 32 && c.rest() > 145 {
			t.Errorf("%d shards of %d slots make %d requests, want at most %d: %+v", c.shards, c.slots, c.rest(), most, c)
		}
		// A poll that comes while an agent hands over reads an issue once more.
		if usual := costOf(c.shards, c.slots); c.plan != usual.plan || c.collect != usual.collect || c.work < usual.work || c.work > usual.work+issues {
			t.Errorf("%d × %d: plan %d, shards %d, collect %d requests, and .github/BENCHMARKS.md says %d, %d and %d",
				c.shards, c.slots, c.plan, c.work, c.collect, usual.plan, usual.work, usual.collect)
		}
		if polls == 0 && c.queries > (2+c.slots)*c.shards {
			t.Errorf("%d shards make %d queries of GraphQL, which no ETag makes free: want at most %d each", c.shards, c.queries, 2+c.slots)
		}
		if c.unchanged < polls*issues {
			t.Errorf("%d polls of %d issues made %d requests that cost nothing", polls, issues, c.unchanged)
		}
		t.Logf("%d × %d: plan %d, shards %d, collect %d: %d requests, and %d queries; %d answers were 304; plan %v, collect %v, a shard %v of processor",
			c.shards, c.slots, c.plan, c.work, c.collect, c.rest(), c.queries, c.unchanged,
			c.planned.Round(time.Millisecond), c.collected.Round(time.Millisecond), c.processor.Round(time.Millisecond))
	}
}
