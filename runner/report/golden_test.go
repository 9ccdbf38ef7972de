package report_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

var update = flag.Bool("update", false, "write the golden files")

// widths are those at which each golden document is shown.
var widths = []int{40, 60, 80, 160}

// document is what the command line prints.
type document interface {
	Text(width int) string
	MarshalJSON() ([]byte, error)
}

func TestDocumentsReadAsInTheGoldenFiles(t *testing.T) {
	t.Parallel()
	documents := map[string]document{}
	for name, tick := range ticks() {
		documents["tick-"+name] = report.Of(tick)
	}
	for name, state := range states() {
		documents["state-"+name] = report.State(state, end)
	}
	for name, document := range documents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			for _, width := range widths {
				fmt.Fprintf(&b, "== %d columns %s\n%s", width, strings.Repeat("=", width-len("== 120 columns ")), document.Text(width))
			}
			compare(t, filepath.Join("testdata", name+".txt"), b.String())
		})
	}
}

// links are those of a run in Actions that keeps its state in a branch.
var links = report.Links{
	Server: "https://github.com", Repository: "acme/shop", Branch: "symphony-state", Workflow: "symphony.yml", Run: "4711", Artifact: "symphony-4711-1",
}

// inActions returns a tick as a scheduled run performs it, which keeps its state in a branch.
func inActions(t report.Tick) report.Tick {
	t.Scheduled, t.State = true, "branch:symphony-state"
	return t
}

func TestPagesReadAsInTheGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, tick := range ticks() {
		compare(t, filepath.Join("testdata", "tick-"+name+".md"), report.Of(inActions(tick)).Markdown(links))
	}
	for name, state := range states() {
		compare(t, filepath.Join("testdata", "state-"+name+".md"), report.State(state, end).Markdown(links))
	}
}

func TestNotesReadAsInTheGoldenFile(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(ticks())) {
		if name == "many" || name == "hostile" {
			continue
		}
		fmt.Fprintf(&b, "== %s\n", name)
		errors, warnings, notices := report.Of(inActions(ticks()[name])).Notes()
		for i, notes := range [][]report.Note{errors, warnings, notices} {
			for _, note := range notes {
				fmt.Fprintf(&b, "%-7s [%s] %s\n", []string{"error", "warning", "notice"}[i], note.Title, note.Text)
			}
		}
	}
	compare(t, filepath.Join("testdata", "notes.txt"), b.String())
}

func TestJSONReadsAsInTheGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, document := range map[string]document{
		"tick-everything": report.Of(everything()),
		"tick-no-issues":  report.Of(ticks()["no-issues"]),
		"tick-money":      report.Of(ticks()["money"]),
		"tick-delivered":  report.Of(delivered()),
		"tick-fleet":      report.Of(fleet()),
		"state-full":      report.State(states()["full"], end),
		"state-empty":     report.State(states()["empty"], end),
		"verdict":         report.Verdict(verdicts()[3], schedule.AnyComments, "", ""),
	} {
		text, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		compare(t, filepath.Join("testdata", name+".json"), string(text)+"\n")
	}
}

func TestVerdictsReadAsInTheGoldenFile(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, v := range verdicts() {
		fmt.Fprintf(&b, "-- %s %s %s\n%s", v.Phase, v.Action, v.Why.Reason, report.Verdict(v, schedule.AnyComments, "", "").Text(80))
	}
	compare(t, filepath.Join("testdata", "verdicts.txt"), b.String())
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes the file):\n%s", path, diff)
	}
}

func BenchmarkText(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := report.Of(many(n))
			for b.Loop() {
				r.Text(120)
			}
		})
	}
}
