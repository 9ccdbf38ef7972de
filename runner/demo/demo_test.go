package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheSampleProjectIsWrittenForItsAgentWithOrWithoutADelivery(t *testing.T) {
	t.Parallel()
	for _, delivers := range []bool{true, false} {
		folder := filepath.Join(t.TempDir(), "new")
		if err := Write(folder, `exec "agent" here`, delivers); err != nil {
			t.Fatal(err)
		}
		read := func(name string) string {
			text, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		settings, issue := read("WORKFLOW.md"), read("issues/DEMO-1.md")
		if !strings.Contains(settings, `command: "exec \"agent\" here"`) || strings.Contains(settings, RealAgent) {
			t.Errorf("the agent:\n%s", settings)
		}
		if strings.Contains(settings, "\ndelivery:") != delivers || strings.Contains(settings, "\nrepository:") != delivers {
			t.Errorf("delivers %v:\n%s", delivers, settings)
		}
		if strings.Contains(issue, "`deliver`") != delivers || strings.Contains(issue, "Move this issue to") == delivers {
			t.Errorf("delivers %v:\n%s", delivers, issue)
		}
		if _, err := os.Stat(filepath.Join(folder, "shop")); err == nil {
			t.Error("the content of the sample repository is written beside it")
		}
	}
}
