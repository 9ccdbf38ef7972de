package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTidyRemovesWhatASandboxLeavesAndNothingElse(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	ws := prepare(t, r)
	outside := t.TempDir()
	for _, folder := range []string{".git/hooks", ".agents", ".codex/kept", "empty"} {
		if err := os.MkdirAll(filepath.Join(ws.Path, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(ws.Path, ".aws")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{".git/commondir", ".git/HEAD", "commondir"} {
		write(t, filepath.Join(ws.Path, file), "../evil\n")
	}
	if err := r.Tidy(ws); err != nil {
		t.Error(err)
	}
	var left []string
	for _, pattern := range []string{".[a-z]*", "*", ".git/*"} {
		paths, err := filepath.Glob(filepath.Join(ws.Path, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			name, _ := filepath.Rel(ws.Path, path)
			left = append(left, name)
		}
	}
	want := []string{".aws", ".codex", ".git", ".aws", ".codex", ".git", "commondir", "empty", ".git/HEAD", ".git/hooks"}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
}

func TestAPlantedCommondirIsGoneBeforeAHookRuns(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{BeforeRun: "test ! -e .git/commondir"})
	ws := prepare(t, r)
	if err := os.Mkdir(filepath.Join(ws.Path, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(ws.Path, ".git", "commondir"), "../evil\n")
	if err := r.BeforeRun(t.Context(), ws); err != nil {
		t.Error(err)
	}
}

func TestASealedRepositoryWorksAndIsTidiedToWhatItWas(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	const look = "git status --short && git log --oneline --format=%s && cd .git && find . -name commondir -o -name config.worktree"
	r := open(t, Hooks{AfterCreate: "git init -q . && rm -rf .git/hooks && " + commit, BeforeRun: "true"})
	ws := prepare(t, r)
	repository, err := r.Seal(ws)
	if err != nil || !repository {
		t.Fatalf("a repository: %v, %v", repository, err)
	}
	cmd := exec.Command("bash", "-c", commit+" && git worktree list && "+look)
	cmd.Dir = ws.Path
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "./commondir") {
		t.Errorf("git in a sealed repository: %v\n%s", err, out)
	}
	if again, err := r.Seal(ws); err != nil || !again { // as after a crash
		t.Errorf("sealed again: %v, %v", again, err)
	}
	if err := r.Tidy(ws); err != nil {
		t.Error(err)
	}
	for _, name := range []string{commonDir, worktreeConfig} {
		if exists(filepath.Join(ws.Path, ".git", name)) {
			t.Errorf("%s is left", name)
		}
	}
}

const commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one"

func TestAWorktreeAndAPlainFolderAreNoRepositoriesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]string{"plain": "true", "worktree": "echo gitdir: ../x > .git", "empty": "mkdir .git"} {
		r := open(t, Hooks{AfterCreate: make})
		ws := prepare(t, r)
		if repository, err := r.Seal(ws); repository || err != nil {
			t.Errorf("%s: %v, %v", name, repository, err)
		}
	}
}
