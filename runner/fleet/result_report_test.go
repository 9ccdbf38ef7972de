package fleet

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/bounds"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// The bounds of some fields, which stand in their tags.
const (
	maxNotes, maxNote, maxTitle = 100, 2000, 1000
	maxCount                    = bounds.MaxInt
)

// stays lists the fields of a tick and of a row that do not travel, and why.
var stays = map[string]string{
	"Tick.Started": "the collector has its own", "Tick.Ended": "the collector has its own", "Tick.Workflow": "the collector has its own",
	"Tick.Program": "the collector has its own", "Tick.Tracker": "the collector has its own", "Tick.DryRun": "no shard makes a dry run", "Tick.Service": "no shard is a service",
	"Tick.Earlier": "no shard is a service", "Row.Ended": "no shard is a service",
	"Tick.Comments": "the collector has its own", "Tick.Scheduled": "the collector has its own", "Tick.State": "a shard has none",
	"Tick.Ordered": "the plan takes commands", "Tick.Noted": "the collector saves what it settles, and that is work", "Tick.StartedBy": "the collector has its own", "Tick.Verdicts": "the collector explains the whole state",
	"Tick.Listed": "a shard lists no candidates", "Tick.Unread": "the warnings and errors say it", "Tick.Pause": "it is in the state",
	"Tick.Today": "the collector counts the days of all", "Tick.Budget": "the collector has its own", "Tick.Reserved": "the collector knows all shards", "Tick.NextDue": "the collector knows all claims",
	"Tick.Assigned": "no shard is a plan", "Tick.Collects": "no shard collects", "Tick.Recollected": "no shard collects", "Tick.Late": "no shard collects", "Tick.Acted": "the collector counts what it settles", "Tick.Claims": "they are in the state", "Tick.Delivers": "the collector has its own",
	"Tick.Deliveries": "they are in the state", "Tick.Checks": "they are in the state", "Tick.Asked": "it is in the state", "Tick.Ignored": "Warnings has each as well",
	"Tick.Hosts": "a fleet has no worker hosts", "Row.Host": "a fleet has no worker hosts",
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
			t.Errorf("%s does not travel: give it a name in JSON (a field of Tick: in tickFile), or say in stays why not", name)
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
				if strings.HasPrefix(name, "Row") && !f.Anonymous && f.Tag.Get("json") == "" {
					t.Errorf("%s.%s has no name in JSON: give it a tag that names it, or \"-\" and the reason in stays", name, f.Name)
				}
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
