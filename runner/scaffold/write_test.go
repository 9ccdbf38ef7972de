package scaffold

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const actionsWorkflow = ".github/workflows/symphony.yml"

// TestAllFilesAreWrittenOrNone puts something into the way of each file.
func TestAllFilesAreWrittenOrNone(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	file := func(name string) func(*testing.T, string) error {
		return func(_ *testing.T, folder string) error {
			return os.WriteFile(filepath.Join(folder, name), []byte("mine"), 0o644)
		}
	}
	for name, test := range map[string]struct {
		block func(t *testing.T, folder string) error
		want  string
	}{
		"the first file": {file("WORKFLOW.md"), "WORKFLOW.md is there already"},
		"the last file": {func(t *testing.T, folder string) error {
			return os.CopyFS(folder, os.DirFS(checkout(t, "", map[string]string{actionsWorkflow: "mine"})))
		}, actionsWorkflow + " is there already"},
		"a link to nothing": {func(_ *testing.T, folder string) error {
			return os.Symlink("nowhere", filepath.Join(folder, "WORKFLOW.md"))
		}, "WORKFLOW.md is there already"},
		"a folder of that name": {func(_ *testing.T, folder string) error { return os.Mkdir(filepath.Join(folder, "WORKFLOW.md"), 0o755) }, "WORKFLOW.md is there already"},
		"a link out":            {func(_ *testing.T, folder string) error { return os.Symlink(outside, filepath.Join(folder, ".github")) }, "nothing was written"},
		"a file as the folder":  {file(".github"), ".github is not a folder; nothing was written"},
		"a folder that cannot be written": {func(t *testing.T, folder string) error {
			if os.Geteuid() == 0 {
				t.Skip("the superuser may write everywhere")
			}
			return os.Mkdir(filepath.Join(folder, ".github"), 0o555)
		}, "permission denied; nothing was written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := test.block(t, folder); err != nil {
				t.Fatal(err)
			}
			before := tree(t, folder)
			written, err := Write(folder, []File{{Path: "WORKFLOW.md", Text: "a"}, {Path: actionsWorkflow, Text: "b"}})
			if err == nil || written != nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "nothing was written") {
				t.Errorf("it wrote %v: %v", written, err)
			}
			if after := tree(t, folder); !slices.Equal(before, after) || len(tree(t, outside)) > 1 {
				t.Errorf("it wrote: %q, then %q", before, after)
			}
		})
	}
}

func TestAFirstIssueIsLeftOutWhereThereAreIssues(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "issues"), 0o755); err != nil {
		t.Fatal(err)
	}
	written, err := Write(folder, []File{{Path: "WORKFLOW.md", Text: "a"}, {Path: "issues/FIRST-1.md", Text: "b"}})
	if err != nil || len(written) != 1 || !slices.Equal(tree(t, folder), []string{".", "WORKFLOW.md", "issues"}) {
		t.Errorf("it wrote %v: %v; there is %q", written, err, tree(t, folder))
	}
}

// tree returns the paths of all files and folders below a folder.
func tree(t *testing.T, folder string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if rel, relErr := filepath.Rel(folder, path); relErr == nil {
			paths = append(paths, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
