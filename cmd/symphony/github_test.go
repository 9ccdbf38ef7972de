package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOriginIsThatOfTheWorkflowNotOfWhereItIsRun runs the program in a workspace, whose
// configuration of git an agent may have written.
func TestOriginIsThatOfTheWorkflowNotOfWhereItIsRun(t *testing.T) {
	t.Parallel()
	p := checkout(t, "https://127.0.0.1/acme/shop")
	workspace := filepath.Join(p.dir, ".symphony", "workspaces", "GH-7")
	if err := os.MkdirAll(filepath.Join(workspace, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(workspace, ".git", "config"), []byte("[remote \"origin\"]\n\turl = https://127.0.0.1/evil/shop\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	workflow := filepath.Join(p.dir, "WORKFLOW.md")
	p.write("WORKFLOW.md", "---\ntracker: {kind: github}\n---\nGo.\n")
	p.dir = workspace
	p.env = append(p.env, "GITHUB_TOKEN=ghs_api0123456789", "GITHUB_API_URL=http://127.0.0.1:1", "GITHUB_REPOSITORY=")
	r := p.run("validate", workflow)
	if !strings.Contains(r.stdout, "in the repository acme/shop (origin of this checkout)") || strings.Contains(r.stdout, "evil") {
		t.Error(r.stdout)
	}
}
