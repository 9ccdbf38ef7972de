package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestGitSeesNothingOfWhatTheProgramKeepsBesideTheWorkflow(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"a tick":                               {"--once"},
		"a tick with its state elsewhere":      {"--once", "--state", "file:away/state.json"},
		"a tick with its state named":          {"--once", "--state", "file:.symphony/mine.json"},
		"a tick with a cache":                  {"--once", "--state", "cache:away/state.json"},
		"an edit of the state before any tick": {"state", "resume"},
		"an edit of a cache before any tick":   {"state", "resume", "--state", "cache:away/state.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Move this issue to `Review`")})
			git := func(args ...string) string {
				t.Helper()
				cmd := exec.Command("git", append([]string{"-C", p.dir}, args...)...)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
				return string(out)
			}
			git("init", "--quiet")
			p.ok(args...)
			if seen := git("status", "--porcelain", "--untracked-files=all", "--", ".symphony"); seen != "" {
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
		if err := makeDataFolder(workflow); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(ignore); err != nil || string(got) != want {
			t.Errorf("%q became %q, %v, want %q", before, got, err, want)
		}
	}
}
