// Package gittest runs git for tests, as a person does who has no settings: the settings of the machine and of its
// user change no result, and each commit has the same author. Commits have the time at which they are made.
package gittest

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Run returns the output of git in a folder, and ends the test if git fails. It may be called in a cleanup.
func Run(t testing.TB, folder string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "git", args...)
	cmd.Dir = folder
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v in %s: %v\n%s", args, folder, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}
