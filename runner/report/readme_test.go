package report_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// TestTheReadmeNamesEveryFieldOfTheJSON compares the JSON of a full report, a full
// state and a verdict, and the values that their fields may have, with the document
// for authors of scripts.
func TestTheReadmeNamesEveryFieldOfTheJSON(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	var collect func(any)
	collect = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, inner := range value {
				names[name] = true
				collect(inner)
			}
		case []any:
			for _, inner := range value {
				collect(inner)
			}
		}
	}
	for _, document := range []document{report.Of(everything()), report.State(states()["full"], end), report.Verdict(verdicts()[3], schedule.AnyComments, "", "").Besides([]string{"1 comment by mallory"}).WorkedOnIn("https://github.com/acme/shop/actions/runs/1")} {
		content, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(content, &fields); err != nil {
			t.Fatal(err)
		}
		delete(fields, "rate_limits") // whose fields are Codex's
		collect(fields)
	}
	if len(names) < 55 {
		t.Errorf("only %d fields: %v", len(names), names)
	}
	for _, class := range []schedule.Class{
		schedule.Done, schedule.Stopped, schedule.IssueFailed, schedule.Transient, schedule.ThreadLost, schedule.Systemic, schedule.NeedsInput,
	} {
		names[string(class)] = true
	}
	for name := range names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("README.md does not name %s", name)
		}
	}
}
