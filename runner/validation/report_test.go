package validation

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// printed returns a report, and the lines that it prints.
func printed() (*Report, *[]string) {
	var lines []string
	return New("WORKFLOW.md", redact.New("swordfish-swordfish").String, func(word, check, text string) {
		lines = append(lines, word+" "+check+" "+text)
	}), &lines
}

func TestAReportSaysWhatWasCheckedAndWhatWasFound(t *testing.T) {
	t.Parallel()
	r, lines := printed()
	r.Issues = "issues"
	r.Run("workflow", func() (string, error) {
		r.Setting(Warning, workflow.Problem{Key: "agent", Line: 3, Reason: "is old; remove it"})
		return "6 keys", nil
	})
	r.Run("prompt", func() (string, error) {
		return "unseen", prompt.Check("{{ issue.nothing }}", 7)
	})
	r.Run("tracker", func() (string, error) {
		r.Malformed("tracker", tracker.Malformed{ID: "B-1", Reason: "it has no state"})
		r.Log("tracker").Info("not worth a warning")
		r.Log("tracker").Warn(transport.Repeated)
		r.Log("tracker").Warn("slow", "after", "2s")
		return "unseen", errors.Join(errors.New("one\n"), errors.New("two swordfish-swordfish\x1b[31m"))
	})
	r.Skip("codex", "fix the problems of codex first")
	want := []string{
		"warning workflow WORKFLOW.md:3: agent: is old; remove it",
		"ok workflow 6 keys",
		"problem prompt WORKFLOW.md:7: template_render_error: ",
		"problem tracker issues/B-1.md: it has no state",
		"warning tracker slow · after: 2s",
		"problem tracker one",
		"problem tracker two ***",
		"skipped codex fix the problems of codex first",
	}
	if len(*lines) != len(want) {
		t.Fatalf("%d lines: %q", len(*lines), *lines)
	}
	for i, line := range *lines {
		if !strings.HasPrefix(line, want[i]) || strings.ContainsAny(line, "\n\x1b") || strings.Contains(line, "swordfish") {
			t.Errorf("%q, want %q", line, want[i])
		}
	}
	if failed := r.End(); !slices.Equal(failed, []string{"prompt", "tracker"}) || r.OK {
		t.Errorf("it failed with %q, and is OK: %v", failed, r.OK)
	}
}

func TestTheJSONOfAReportHasEmptyListsAndNoNull(t *testing.T) {
	t.Parallel()
	r, _ := printed()
	if failed := r.End(); len(failed) > 0 {
		t.Errorf("it failed with %q", failed)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"workflow":"WORKFLOW.md","ok":true,"checks":[],"problems":[]}`, string(text)); diff != "" {
		t.Error(diff)
	}
}
