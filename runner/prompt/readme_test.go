package prompt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/tracker"
)

// TestTheReadmeOfWorkflowsNamesEveryVariable compares the variables of a template
// with the document for authors of WORKFLOW.md.
func TestTheReadmeOfWorkflowsNamesEveryVariable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "workflow", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, value := range bindings(tracker.Issue{}, Run{}) {
		fields, object := value.(map[string]any)
		if !object {
			names = append(names, name)
		}
		for field := range fields {
			names = append(names, name+"."+field)
		}
	}
	if len(names) < 20 {
		t.Errorf("only %d variables: %q", len(names), names)
	}
	for _, name := range names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("runner/workflow/README.md does not name %s", name)
		}
	}
}
