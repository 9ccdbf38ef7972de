package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recordedGit is a git that writes a line about who starts it, where, with which
// variables and for what.
const recordedGit = `#!/bin/sh
flat() { tr '\000\n\t' '   ' | cut -c1-1000; }
parent=$(flat < /proc/$PPID/cmdline)
names=$(env | sed 's/=.*//' | flat)
arguments=$(printf '%s ' "$HOME $GIT_CONFIG_GLOBAL $GIT_CONFIG_NOSYSTEM" "$@" | flat)
printf '%s\t%s\t%s\t%s\t%s\n' "$parent" "$PWD" "$GIT_DIR" "$names" "$arguments" >> TO
exec PROGRAM "$@"
`

// TestTheProgramRunsGitInItsOwnFoldersAndWithItsOwnEnvironment has the whole program
// deliver twice from one workspace, and looks at every git that it starts itself. Those
// that run in the sandbox have another parent.
func TestTheProgramRunsGitInItsOwnFoldersAndWithItsOwnEnvironment(t *testing.T) {
	t.Parallel()
	s := newShop(t, sameWork)
	folder := t.TempDir()
	log := filepath.Join(folder, "log")
	git, err := exec.LookPath("git")
	if err == nil {
		script := strings.NewReplacer("TO", shellQuote(log), "PROGRAM", shellQuote(git)).Replace(recordedGit)
		err = os.WriteFile(filepath.Join(folder, "git"), []byte(script), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	hidden := []string{"GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "OPENAI_API_KEY", "CODEX_HOME"}
	s.env = append(s.env, "PATH="+folder+":"+os.Getenv("PATH"), "GIT_SSH_COMMAND=false", "GIT_EXTERNAL_DIFF=false", "CODEX_HOME=/nowhere")
	s.tick()
	s.assertDelivered()
	s.asksFor(moreWork)
	s.tick()
	s.assertDelivered()

	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	root, data := filepath.Join(s.dir, "workspaces"), filepath.Join(s.dir, ".symphony", "repositories")
	mine, others := 0, 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if !strings.HasPrefix(f[0], "symphony --once ") {
			others++
			continue
		}
		if len(f) != 5 {
			t.Fatalf("the line %q", line)
		}
		mine++
		for _, part := range append(strings.Fields(f[4]), f[1], f[2]) {
			if strings.Contains(part, root) {
				t.Errorf("git has to do with a workspace: %q", f)
			}
		}
		if !strings.HasPrefix(f[1], data) || !strings.HasPrefix(f[4], filepath.Join(data, "home")+" /dev/null 1 ") {
			t.Errorf("git runs in %s with %q", f[1], f[4])
		}
		for _, name := range strings.Fields(f[3]) {
			if slices.Contains(hidden, name) || strings.HasPrefix(name, "GITHUB_") {
				t.Errorf("git sees %s: %q", name, f[4])
			}
		}
	}
	if mine < 10 || others < 4 {
		t.Errorf("%d gits of the program and %d of the sandbox:\n%s", mine, others, text)
	}
}
