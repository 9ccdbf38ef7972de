package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/storetest"
)

const onBranch = "--state=branch:symphony-state"

// branchProject returns a project whose state is on a branch of hub.
func branchProject(t *testing.T, hub *storetest.Hub, issues map[string]string) *project {
	t.Helper()
	p := newProject(t, scripted(t, filepath.Join(t.TempDir(), "agent")), issues)
	p.env = append(p.env, hub.Env()...)
	return p
}

func task(steps ...string) string {
	return "---\ntitle: A task\nstate: Todo\n---\n- [ ] " + strings.Join(steps, "\n- [ ] ") + "\n"
}

func TestATickOverAStateBranchSavesItsClaimAndItsEnd(t *testing.T) {
	t.Parallel()
	hub := storetest.New(t, storetest.Config{})
	p := branchProject(t, hub, map[string]string{
		"A-1": task("Move this issue to `Review`"),
		"A-2": task("Run `exit 3`"),
	})
	p.env = append(p.env, "GITHUB_RUN_ID=4711", "GITHUB_RUN_ATTEMPT=2")
	p.ok("--once", onBranch)
	if diff := cmp.Diff([]string{"README.md", "state.json"}, hub.Files("symphony-state")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	page, _ := hub.File("symphony-state", "README.md")
	for _, want := range []string{"A-2", "/octo/state-keeper/actions/runs/4711/attempts/2"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
	messages := hub.Git("log", "--format=%s", "symphony-state")
	if n := strings.Count(messages, "\n"); n > 3 {
		t.Errorf("%d commits for one tick:\n%s", n, messages)
	}

	hub.Asked()
	quiet := p.ok("--once", onBranch)
	if !strings.Contains(quiet.stdout, "Nothing to do") {
		t.Errorf("the second tick says:\n%s", quiet.stdout)
	}
	if diff := cmp.Diff(map[storetest.Op]int{storetest.Ref: 1, storetest.Contents: 1}, hub.Asked()); diff != "" {
		t.Errorf("requests of a tick with nothing to do (-want +got):\n%s", diff)
	}
	if shown := p.ok("state", "show", onBranch); !strings.Contains(shown.stdout, "A-2") {
		t.Errorf("state show says:\n%s", shown.stdout)
	}
}

// TestRunsAtOnceNeverWorkOnTheSameIssue starts several ticks over one branch and
// one board. Every issue notes who works on it.
func TestRunsAtOnceNeverWorkOnTheSameIssue(t *testing.T) {
	t.Parallel()
	hub := storetest.New(t, storetest.Config{})
	notes := t.TempDir()
	issues := map[string]string{}
	for i := range 6 {
		name := fmt.Sprintf("A-%d", i)
		issues[name] = task(fmt.Sprintf("Run `echo worked >> '%s'`", filepath.Join(notes, name)), "Move this issue to `Review`")
	}
	p := branchProject(t, hub, issues)
	p.replace("codex:", "agent: {max_concurrent_agents: 6, max_issues_per_tick: 2}\ncodex:")
	const runs = 4
	done := make(chan string, runs) // one answer of each
	for i := range runs {
		hub.SetRun(storetest.Run{ID: int64(100 + i), Status: "in_progress"})
		cmd := p.command(t.Context(), "--once", onBranch)
		cmd.Env = append(cmd.Env, fmt.Sprintf("GITHUB_RUN_ID=%d", 100+i), "GITHUB_RUN_ATTEMPT=1")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			cmd.Wait()
			done <- fmt.Sprintf("exit status %d\n%s", cmd.ProcessState.ExitCode(), out.String())
		}()
	}
	var said []string
	for range runs {
		said = append(said, <-done)
	}
	p.ok("--once", onBranch) // whatever their batches left
	for _, name := range slices.Sorted(maps.Keys(issues)) {
		if note, err := os.ReadFile(filepath.Join(notes, name)); err != nil || string(note) != "worked\n" {
			t.Errorf("%s: %q, %v", name, note, err)
		}
	}
	for _, text := range said {
		if !strings.HasPrefix(text, "exit status 0\n") {
			t.Errorf("a run ended so:\n%s", text)
		}
	}
}

func TestAClaimOnTheBranchIsTakenOverOnlyWhenItsRunIsOver(t *testing.T) {
	t.Parallel()
	hub := storetest.New(t, storetest.Config{})
	p := branchProject(t, hub, map[string]string{"A-1": task("Hang")})
	hub.SetRun(storetest.Run{ID: 7, Status: "in_progress"})
	cmd := p.command(t.Context(), "--once", onBranch)
	cmd.Env = append(cmd.Env, "GITHUB_RUN_ID=7", "GITHUB_RUN_ATTEMPT=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the first run to hold its claim", func() bool {
		state, ok := hub.File("symphony-state", "state.json")
		return ok && strings.Contains(state, `"running"`)
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()

	p.write("issues/A-1.md", task("Move this issue to `Review`"))
	p.env = append(p.env, "GITHUB_RUN_ID=8", "GITHUB_RUN_ATTEMPT=1")
	if r := p.ok("--once", onBranch); strings.Contains(r.stdout, "completed") {
		t.Errorf("GitHub says that the first run is alive, and the second took its claim:\n%s", r.stdout)
	}
	hub.SetRun(storetest.Run{ID: 7, Status: "completed", Conclusion: "cancelled"})
	p.ok("--once", onBranch)
	if text := p.read("issues/A-1.md"); !strings.Contains(text, "state: Review") {
		t.Errorf("the issue was not worked on:\n%s", text)
	}
}

func TestABranchThatIsNoneOfOursIsRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"main", "code"} {
		hub := storetest.New(t, storetest.Config{})
		hub.Commit("code", map[string]string{"main.go": "package main"})
		p := branchProject(t, hub, map[string]string{"A-1": task("Move this issue to `Review`")})
		before := hub.Head(name)
		for _, args := range [][]string{{"--once"}, {"--once", "--dry-run"}} {
			r := p.run(append(args, "--state=branch:"+name)...)
			if r.code != exitUsage || !strings.Contains(r.stderr, "branch "+name) || r.stdout != "" {
				t.Errorf("%s: exit status %d\n%s\n%s", name, r.code, r.stdout, r.stderr)
			}
		}
		if hub.Head(name) != before || strings.Contains(p.read("issues/A-1.md"), "state: Review") {
			t.Errorf("%s was written, or the issue worked on", name)
		}
	}
}

func TestAnOperatorsEditOfABranchCountsInARunningService(t *testing.T) {
	t.Parallel()
	hub := storetest.New(t, storetest.Config{})
	p := branchProject(t, hub, map[string]string{"A-1": task("Ask `Which colour?`")})
	p.replace("codex:", "polling: {interval_ms: 100}\ncodex:")
	ctx, cancel := context.WithCancel(t.Context())
	service := p.command(ctx, onBranch)
	service.Cancel = func() error { return service.Process.Signal(os.Interrupt) }
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	holds := func(text string) func() bool {
		return func() bool {
			state, ok := hub.File("symphony-state", "state.json")
			return ok && strings.Contains(state, text)
		}
	}
	waitFor(t, "the question", holds(`"phase": "parked"`))
	if said := p.ok("state", "retry", "A-1", onBranch).stdout; said != "A-1: due now\n" {
		t.Errorf("retry says %q", said)
	}
	waitFor(t, "a second session", holds(`"sessions": 2`))
	cancel()
	service.Wait()
	if code := service.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit status %d", code)
	}
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
