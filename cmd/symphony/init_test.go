package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/runner/scaffold"
)

// checkout returns an empty checkout of a repository.
func checkout(t testing.TB, origin string) *project {
	t.Helper()
	p := emptyProject(t)
	p.write(".git/config", "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = "+origin+"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n")
	return p
}

// firstCommands returns the commands of a newcomer, from init to the first dry run: those
// that init prints.
func firstCommands(t *testing.T) []string {
	t.Helper()
	p := emptyProject(t)
	p.write(".git/config", "[core]\n\tbare = false\n") // there is no remote to name
	commands := []string{"symphony init"}
	for line := range strings.Lines(p.ok("init", "--tracker", "github").stdout) {
		if command, ok := strings.CutPrefix(line, "       "); ok {
			commands = append(commands, strings.TrimSuffix(command, "\n"))
		}
	}
	return commands
}

// firstRun returns these commands for the README.
func firstRun(t *testing.T) string {
	t.Helper()
	return "```sh\n" + strings.Join(firstCommands(t), "\n") + "\n```\n"
}

// TestTheDryRunOfTheWorkflowIsAsInitPrintsIt performs the last of them with act, on what init
// has written. Those of gh, which change settings on GitHub, are done already there.
func TestTheDryRunOfTheWorkflowIsAsInitPrintsIt(t *testing.T) {
	t.Parallel()
	commands := firstCommands(t)
	last := len(commands) - 1
	if len(commands) != 6 || !strings.HasSuffix(commands[1], " symphony --once --dry-run") || !strings.HasPrefix(commands[last], "act ") {
		t.Fatalf("the commands are %q", commands)
	}
	d := newDeliveries(t, "github.md")
	for _, name := range []string{"WORKFLOW.md", ".github"} {
		if err := os.RemoveAll(filepath.Join(d.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	d.write(".git/config", "[remote \"origin\"]\n\turl = https://github.com/"+d.repository+"\n")
	d.ok("init", "--tracker", "github")
	if err := os.RemoveAll(filepath.Join(d.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	d.github.AddIssue(githubtest.Issue{Title: "Keep the cart", Body: "It forgets.", Labels: []string{"symphony"}})
	j := d.job()
	j.workflow = strings.Replace(d.read(workflowFile), "- "+ownUse, "- id: symphony\n        "+ownUse, 1)
	for _, word := range strings.Fields(strings.TrimPrefix(commands[last], "act ")) {
		if strings.HasPrefix(word, "GITHUB_TOKEN=") {
			break // the harness gives both secrets
		}
		j.start = append(j.start, word)
	}
	j.start = append(slices.Delete(j.start, len(j.start)-1, len(j.start)), "-s", "OPENAI_API_KEY=sk-0123456789abcdefghij")
	o := j.perform()
	o.want(t, "success", "work", "true", "dispatched", "0")
	if !strings.Contains(o.summary, "GH-1") || len(d.github.Pulls()) != 0 || o.stateBranch {
		t.Errorf("the dry run says, and did:\n%s\n%v", o.summary, d.github.Log())
	}
}

// TestAnInterruptEndsAQuestion cancels the context, as Ctrl-C does.
func TestAnInterruptEndsAQuestion(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	i := &initCommand{app: &app{Process: wiring.Process{Stderr: io.Discard}}}
	err := i.askOne(ctx, make(chan string), scaffold.Questions()[0], "github", new(scaffold.Setup))
	if exitStatus(err) != exitInterrupted || !strings.Contains(fmt.Sprint(err), "nothing was written") {
		t.Errorf("%v", err)
	}
}
