package report_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// described matches, for a document or the entries of a list in one, the part of README.md that
// names their fields. The first group is the part.
var described = map[string]string{
	"report":     "(?s)(## report.json.*)Each of `issues`",
	"issues":     "(?s)(Each of `issues`.*)Each of `deliveries`",
	"deliveries": "(?s)(Each of `issues`.*)Each of `verdicts`", // they have what delivery has
	"verdicts":   "(?s)(Each of `verdicts`.*)`symphony state show",
	"state":      "(?s)(.*)## Event logs", // it has parts of the report
	"claims":     "(?s)(`symphony state show.*)## Event logs",
}

// TestTheReadmeNamesEveryFieldOfTheJSON compares the JSON of a full report, a full
// state and a verdict, and the values that their fields may have, with the document
// for authors of scripts.
func TestTheReadmeNamesEveryFieldOfTheJSON(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for name, form := range described {
		if match := regexp.MustCompile(form).FindStringSubmatch(string(text)); match != nil {
			parts[name] = match[1]
		}
	}
	names := map[string]bool{} // after the name of its part
	var collect func(part string, value any)
	collect = func(part string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, inner := range value {
				names[part+" "+name] = true
				if _, isPart := parts[name]; isPart {
					collect(name, inner)
				} else if name != "rate_limits" { // whose fields are Codex's
					collect(part, inner)
				}
			}
		case []any:
			for _, inner := range value {
				collect(part, inner)
			}
		}
	}
	explained := report.Verdict(verdicts()[3], schedule.AnyComments, "", "")
	explained.Ignored, explained.Run = []string{"1 comment by mallory"}, "https://github.com/acme/shop/actions/runs/1"
	for part, document := range map[string]document{
		"report": report.Of(onHosts(everything())), "state": report.State(stateOnHosts(states()["full"]), end),
		"verdicts": explained,
	} {
		content, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(content, &fields); err != nil {
			t.Fatal(err)
		}
		collect(part, fields)
	}
	if len(names) < 55 {
		t.Errorf("only %d fields: %v", len(names), names)
	}
	for _, class := range []schedule.Class{
		schedule.Done, schedule.Stopped, schedule.IssueFailed, schedule.Transient, schedule.ThreadLost, schedule.Systemic, schedule.NeedsInput, schedule.HostLost,
	} {
		names["issues "+string(class)] = true
	}
	for key := range names {
		if part, name, _ := strings.Cut(key, " "); !strings.Contains(parts[part], "`"+name+"`") {
			t.Errorf("README.md does not name %s among the fields of %s", name, part)
		}
	}
}
