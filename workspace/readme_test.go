package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheReadmeOfWorkflowsNamesWhatHooksSee compares the variables that every
// child sees with the document for authors of WORKFLOW.md.
func TestTheReadmeOfWorkflowsNamesWhatHooksSee(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "runner", "workflow", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"SYMPHONY_ISSUE_ID", "SYMPHONY_ISSUE_IDENTIFIER", "SYMPHONY_ATTEMPT"}, alwaysPassed...) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("runner/workflow/README.md does not name %s", name)
		}
	}
}
