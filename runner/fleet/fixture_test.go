package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

var now = time.Date(2026, 11, 22, 16, 0, 0, 0, time.UTC)

// samplePlan returns a plan for n shards with two issues each.
func samplePlan(n int) Plan {
	p := Plan{Owner: schedule.Owner{Run: "1700", Attempt: 1, Job: "plan", Started: now.UnixMilli(), Limit: 18000}}
	for number := range n {
		number++
		s := schedule.New(p.ShardOwner(number))
		for _, suffix := range []string{"a", "b"} {
			id := tracker.ID(fmt.Sprintf("%d%s", number, suffix))
			s.Claims[id] = schedule.Claim{
				ID: id, Identifier: "ABC-" + string(id), Title: "Fix <it> & more", URL: "https://tracker.example/" + string(id), State: "Todo",
				Phase: schedule.Waiting, Since: now, Due: now, Thread: threadOf(id), Sessions: 2, Tokens: 1234,
			}
		}
		s.Pause, s.Salt = schedule.Pause{Why: "usageLimitExceeded", Since: now, Until: now.Add(time.Hour)}, "SALT"
		slice := Slice{Number: number, State: s}
		if number%2 == 0 {
			slice.RunsOn = []string{"self-hosted", "gpu"}
		}
		p.Shards = append(p.Shards, slice)
	}
	return p
}

// threadOf returns the thread of an issue of a sample plan.
func threadOf(id tracker.ID) string { return fmt.Sprintf("0199a213-81c0-7800-8aa1-%012s", id) }

// sampleTick returns what a shard reports of its first issue.
func sampleTick(s *schedule.State, id tracker.ID) report.Tick {
	c := s.Claims[id]
	return report.Tick{
		Rows: []report.Row{{
			ID: id, Identifier: c.Identifier, Title: c.Title, URL: c.URL, State: "Done", Attempt: 1, Sessions: 1, Class: schedule.Done, Status: schedule.StatusSucceeded,
			Turns: 3, Usage: schedule.Usage{Input: 100, Output: 20}, Took: 1500 * time.Millisecond, Next: schedule.Next{Phase: schedule.Waiting, Why: schedule.Why{Reason: schedule.NotDue, Detail: "continuation"}, Due: now},
		}},
		Warnings: []string{"after_run failed"},
	}
}

func mustWritePlan(t testing.TB, exchange string, p Plan) {
	t.Helper()
	if err := WritePlan(exchange, p); err != nil {
		t.Fatal(err)
	}
}

func mustOpenSlice(t testing.TB, exchange string, p Plan, shard int) *SliceStore {
	t.Helper()
	s, err := OpenSlice(exchange, p, shard, "90"+fmt.Sprint(shard))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// work makes a shard end its first issue.
func work(t testing.TB, exchange string, p Plan, shard int) {
	t.Helper()
	s := mustOpenSlice(t, exchange, p, shard)
	state, rev, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := tracker.ID(fmt.Sprintf("%da", shard))
	c := state.Claims[id]
	c.Phase, c.Owner, c.Due, c.Lease = schedule.Running, state.Self, time.Time{}, now.Add(time.Hour)
	state.Claims[id] = c
	if rev, err = s.Save(t.Context(), state, rev); err != nil {
		t.Fatal(err)
	}
	state.Exit(id, schedule.Outcome{Class: schedule.Done, Thread: threadOf(id), Turns: 3, Usage: schedule.Usage{Input: 100, Output: 20}}, schedule.Policy{}, now)
	if _, err = s.Save(t.Context(), state, rev); err != nil {
		t.Fatal(err)
	}
	if err := s.Report(sampleTick(state, id)); err != nil {
		t.Fatal(err)
	}
}

func writeText(t testing.TB, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readText(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// reasons returns the errors of refused results, one a line.
func reasons(refused []Refused) string {
	var b strings.Builder
	for _, r := range refused {
		fmt.Fprintln(&b, r.Err)
	}
	return b.String()
}
