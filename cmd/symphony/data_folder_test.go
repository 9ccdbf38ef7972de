package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
)

func TestGitSeesNothingOfWhatTheProgramKeepsBesideTheWorkflow(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"a tick":                               {"--once"},
		"a tick with a cache":                  {"--once", "--state", "cache:away/state.json"},
		"an edit of the state before any tick": {"state", "resume"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Move this issue to `Review`")})
			runGit(t, p.dir, "init", "--quiet")
			p.ok(args...)
			if seen := runGit(t, p.dir, "status", "--porcelain", "--untracked-files=all", "--", ".symphony"); seen != "" {
				t.Errorf("git sees\n%s", seen)
			}
			if p.read(".symphony/.gitignore") != "*\n" {
				t.Errorf("the folder is not hidden as a whole: %q", p.read(".symphony/.gitignore"))
			}
		})
	}
}

func TestAFolderThatAFullDiskLeftVisibleIsHiddenFromGitAgain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	workflow := filepath.Join(folder, "WORKFLOW.md")
	ignore := filepath.Join(folder, ".symphony", ".gitignore")
	for before, want := range map[string]string{"": "*\n", "!*\n": "!*\n"} {
		if err := os.MkdirAll(filepath.Dir(ignore), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(ignore, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := wiring.MakeDataFolder(workflow); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(ignore); err != nil || string(got) != want {
			t.Errorf("%q became %q, %v, want %q", before, got, err, want)
		}
	}
}
