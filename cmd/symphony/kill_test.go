package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const onBranch = "--state=branch:symphony-state"

func task(steps ...string) string {
	return "---\ntitle: A task\nstate: Todo\n---\n- [ ] " + strings.Join(steps, "\n- [ ] ") + "\n"
}

// TestAKillAtAnyInstantLosesNoIssueAndRunsNoneTwiceAtOnce kills the program again
// and again. Each session holds a lock of the operating system for its issue, and
// complains when somebody else has it.
func TestAKillAtAnyInstantLosesNoIssueAndRunsNoneTwiceAtOnce(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("no flock command: install util-linux to run this test")
	}
	issues := map[string]string{}
	for n := range 4 {
		name := fmt.Sprintf("A-%d", n)
		issues[name] = strings.ReplaceAll(`---
title: Work alone
state: Todo
---
- [ ] Run §exec 9>../../ID.lock; flock -n 9 || echo ID >> ../../twice; sleep 0.03§
- [ ] Leave §exec 9>../../ID.left; flock -n 9 || echo ID left >> ../../twice; trap "" TERM; sleep 100§ running
- [ ] Run §exec 9>../../ID.lock; flock -n 9 || echo ID >> ../../twice; echo once >> ../../ID.done§
- [ ] Move this issue to §Review§
`, "ID", name)
		issues[name] = strings.ReplaceAll(issues[name], "§", "`")
	}
	p := newProject(t, strings.Split(scripted(t, ""), " --home")[0], issues)
	p.replace("codex:", "budget:\n  max_attempts_per_issue: 0\ncodex:")

	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for range 25 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(250))*time.Millisecond)
		out, err := p.command(ctx, "--once").CombinedOutput() // SIGKILL when ctx ends
		cancel()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
			t.Fatalf("exit status %d:\n%s", exit.ExitCode(), out)
		}
	}
	for range 5 {
		p.ok("--once")
	}
	if _, err := os.Stat(filepath.Join(p.dir, "twice")); err == nil {
		t.Errorf("issues were worked on twice at once:\n%s", p.read("twice"))
	}
	for name := range issues {
		if !strings.Contains(p.read("issues/"+name+".md"), "state: Review") {
			t.Errorf("%s was lost", name)
		}
	}
	if claims := p.claims(); len(claims) != 0 {
		t.Errorf("claims left: %v", claims)
	}
	p.noProcessLeft()
}
