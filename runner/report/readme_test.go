package report_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// TestTheReadmeNamesEveryFieldOfTheReport compares the JSON of a full report, and
// the values that its fields may have, with the document for authors of scripts.
func TestTheReadmeNamesEveryFieldOfTheReport(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(report.Of(everything()))
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(content, &document); err != nil {
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
	collect(document)
	if len(names) < 40 {
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
