package attempt

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestWhatASessionSaysHoldsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	for name, test := range map[string]struct {
		step  string
		class schedule.Class
	}{
		"its failure":  {"Run `echo s3cret >&2; exit 3`", schedule.IssueFailed},
		"its question": {"Ask `Is it s3cret?`", schedule.NeedsInput},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, "- [ ] Say `it is s3cret`\n- [ ] "+test.step+"\n")
			w.job.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "[hidden]") }
			got := w.run(t.Context())
			if got.Class != test.class || !strings.Contains(got.Why, "[hidden]") || strings.Contains(got.Why, secret) {
				t.Errorf("%s: %s", got.Class, got.Why)
			}
			said := fmt.Sprintf("%+v", w.updates)
			for what, text := range map[string]string{"updates": said, "event log": w.readText(w.job.EventLog), "log": w.log.bytes.String()} {
				if strings.Contains(text, secret) {
					t.Errorf("the %s: %s", what, text)
				}
			}
			if !strings.Contains(said, "it is [hidden]") || !strings.Contains(w.readText(w.job.EventLog), "it is [hidden]") {
				t.Errorf("nothing was said, so this shows nothing: %s", said)
			}
		})
	}
}

func TestAToolTellsTheModelNoSecret(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	w.job.Redact = func(text string) string { return strings.ReplaceAll(text, "s3cret", "[hidden]") }
	w.job.Tracker.Tools = []tracker.Tool{{Name: "echo", Call: func(_ context.Context, issue tracker.Issue, arguments json.RawMessage) tracker.ToolResult {
		return tracker.ToolResult{OK: true, Text: issue.Identifier + string(arguments)}
	}}}
	tools := (&attempt{Job: w.job}).tools()
	if text, ok := tools[0].Call(t.Context(), json.RawMessage(`"s3cret"`)); !ok || text != issueName+`"[hidden]"` {
		t.Errorf("%q, %v", text, ok)
	}
}
