package fleet

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

var update = flag.Bool("update", false, "write the golden files of the current schema")

// fullResult returns a result with everything that a result can hold.
func fullResult(slice Slice) Result {
	r := Result{Owner: slice.State.Self, Job: "9001", State: clone(slice.State), saved: 3}
	tick := sampleTick(r.State, "1a")
	tick.Parked, tick.Stopped = []tracker.ID{"1b"}, string(schedule.DeadlineReached)
	tick.Notices, tick.Errors = []string{"a notice"}, []string{"an error"}
	row := &tick.Rows[0]
	row.Why, row.Warnings, row.Delivered, row.PullRequest = "one line", []string{"after_run failed"}, true, "opened"
	row.Log = report.Log{File: "logs/1a.jsonl", Artifact: "symphony-logs"}
	row.Delivery = schedule.Delivery{
		Identifier: "ABC-1a", Title: "Fix it", IssueURL: "https://tracker.example/1a", Branch: "symphony/ABC-1a", Base: "main", Head: strings.Repeat("b2", 20),
		Number: 17, URL: "https://github.com/o/r/pull/17", At: now,
	}
	tick.Rows = append(tick.Rows, report.Row{
		ID: "1b", Class: schedule.IssueFailed, Status: schedule.StatusTimedOut, Refused: "- .github/x\n- .github/y",
		Kept: report.Kept{Folder: "kept/1b", Artifact: "symphony-kept", Commands: []string{"git fetch work.bundle refs/heads/out:refs/heads/symphony/ABC-1b"}},
	}, report.Row{ID: "1c", Kept: report.Kept{Secret: true}})
	r.Tick = tick
	r.State.Claims["1c"] = schedule.Claim{ID: "1c", Phase: schedule.Parked, Since: now, Why: "which colour?"}
	r.State.Tick = schedule.Spent{Sessions: 2, Usage: schedule.Usage{Input: 100, Output: 20}, Time: 90 * time.Second, Paused: true, HadTurn: true}
	r.State.Faults = []schedule.Fault{{Kind: "hook before_run", Why: "exit 1", Before: r.State.Claims["1b"], Excused: true}}
	r.State.Deliveries = map[tracker.ID]schedule.Delivery{"1a": row.Delivery}
	r.Tick.Spent = r.State.Tick
	return r
}

// A later run, which may be a newer version, settles the results of a fleet that never
// collected. So the files of this schema are read as long as there is one.
func TestFilesOfTheSchemaAreReadAndWrittenAsTheyWere(t *testing.T) {
	t.Parallel()
	p := samplePlan(2)
	claim := p.Shards[0].State.Claims["1b"]
	claim.ID, claim.Identifier = "1c", "ABC-1c"
	p.Shards[0].State.Claims["1c"] = claim
	plan, err := encodePlan(p)
	if err != nil {
		t.Fatal(err)
	}
	want := fullResult(p.Shards[0])
	result, err := encodeResult(want)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"plan1.json": plan, "result1.json": result} {
		golden := filepath.Join("testdata", name)
		if *update {
			writeText(t, golden, string(got))
		}
		if diff := cmp.Diff(strings.Split(readText(t, golden), "\n"), strings.Split(string(got), "\n")); diff != "" {
			t.Errorf("%s (-want +got; a new field needs omitempty or omitzero; anything else needs a new schema):\n%s", name, diff)
		}
	}
	read, err := decodePlan([]byte(readText(t, filepath.Join("testdata", "plan1.json"))))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, read); diff != "" {
		t.Error(diff)
	}
	data, err := os.ReadFile(filepath.Join("testdata", "result1.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeResult(data, read.Shards[0])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, withoutFile); diff != "" {
		t.Error(diff)
	}
}
