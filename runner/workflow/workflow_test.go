package workflow_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/file"
)

const (
	good    = "---\ntracker: {kind: file}\nagent: {max_turns: 7}\n---\nGo."
	better  = "---\ntracker: {kind: file}\nagent: {max_turns: 8}\n---\nGo."
	broken  = "---\ntracker: {kind: file}\nagent: {max_turns: none}\n---\nGo."
	garbled = "---\ntracker: {\n---\nGo."
)

func TestAFileIsReadByARelativePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("WORKFLOW.md", []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	wf, err := workflow.NewSource("WORKFLOW.md", with(nil)).Current()
	if err != nil || wf.Settings.MaxTurns != 7 || !filepath.IsAbs(wf.Path) || filepath.Base(wf.Path) != "WORKFLOW.md" {
		t.Fatalf("%+v, %v", wf, err)
	}
	if want := filepath.Join(filepath.Dir(wf.Path), "issues"); wf.Settings.Tracker.Config.(*file.Config).Path != want {
		t.Errorf("%v, want %s", wf.Settings.Tracker.Config, want)
	}
}

func TestAFileThatCannotBeReadIsMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.md")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "none.md"), dir, pipe} {
		wf, err := workflow.NewSource(path, with(nil)).Current()
		if !errors.Is(err, workflow.ErrMissingFile) || !cmp.Equal(workflow.Workflow{}, wf) {
			t.Errorf("%s: %+v, %v", path, wf, err)
		}
	}
	if _, err := workflow.NewSource(filepath.Join(dir, "none.md"), with(nil)).Current(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
}

// TestASourceKeepsTheLastGoodWorkflow edits one file again and again.
func TestASourceKeepsTheLastGoodWorkflow(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "WORKFLOW.md")
	source := workflow.NewSource(file, with(nil))
	for i, edit := range []struct {
		content  string // empty removes the file
		turns    int
		category error
	}{
		{"", 0, workflow.ErrMissingFile},
		{broken, 0, workflow.ErrInvalid},
		{broken, 0, workflow.ErrInvalid},
		{good, 7, nil},
		{good, 7, nil},
		{broken, 7, workflow.ErrInvalid},
		{broken, 7, workflow.ErrInvalid},
		{garbled, 7, workflow.ErrParse},
		{"", 7, workflow.ErrMissingFile},
		{garbled, 7, workflow.ErrParse},
		{better, 8, nil},
		{"", 8, workflow.ErrMissingFile},
		{better, 8, nil},
		{good, 7, nil},
	} {
		if edit.content == "" {
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(file, []byte(edit.content), 0o600); err != nil {
			t.Fatal(err)
		}
		wf, err := source.Current()
		if wf.Settings.MaxTurns != edit.turns || !errors.Is(err, edit.category) {
			t.Errorf("edit %d: %d turns, %v; want %d, %v", i, wf.Settings.MaxTurns, err, edit.turns, edit.category)
		}
	}
}

func TestASourceNoticesAnEditOfTheSameSizeAndTime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "WORKFLOW.md")
	source := workflow.NewSource(file, with(nil))
	var info fs.FileInfo
	for content, turns := range map[string]int{good: 7, better: 8} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if info != nil {
			if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}
		wf, err := source.Current()
		if err != nil || wf.Settings.MaxTurns != turns {
			t.Errorf("%d turns, %v; want %d", wf.Settings.MaxTurns, err, turns)
		}
		if info, err = os.Stat(file); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASourceDoesNotParseTheSameContentTwice(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "WORKFLOW.md")
	lookups := 0
	env := with(nil)
	env.Lookup = func(string) (string, bool) { lookups++; return "", false }
	if err := os.WriteFile(file, []byte("---\ntracker: {kind: file}\nworkspace: {root: $ROOT}\n---\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	source := workflow.NewSource(file, env)
	for range 3 {
		if _, err := source.Current(); err != nil {
			t.Fatal(err)
		}
	}
	if lookups != 1 {
		t.Errorf("%d lookups, want 1", lookups)
	}
}
