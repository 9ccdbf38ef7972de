package workflow_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/workflow"
)

func TestAChangeCountsOnceItIsThereForTwoLooks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "WORKFLOW.md")
	now := time.Now()
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second) // the clock of a file system may be coarse
		if err := os.Chtimes(path, now, now); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	s := workflow.NewSource(path, workflow.Env{})
	_, _ = s.Current()
	wants := func(step string, looks ...bool) {
		t.Helper()
		for n, want := range looks {
			if got := s.Changed(); got != want {
				t.Errorf("%s, look %d: changed %v", step, n+1, got)
			}
		}
	}
	wants("as it was read", false, false)
	write("second")
	wants("being written", false)
	write("secondandmore")
	wants("written", false, true, true)
	_, _ = s.Current()
	wants("read again", false, false)
	write("thirdcontents") // of the same length
	wants("of the same length", false, true)
	_, _ = s.Current()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wants("removed", false, true)
	if _, err := s.Current(); err == nil {
		t.Error("a missing file is read")
	}
	wants("missing as before", false, false)
	write("fourth")
	wants("there again", false, true)
}
