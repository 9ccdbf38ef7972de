package main

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWorkBesideThatOfAPersonSurvivesKills kills a session, whose branch a person then
// makes, and the sessions after it at any instant before one merges the work.
func TestWorkBesideThatOfAPersonSurvivesKills(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	const works = "echo mine > mine.txt && git add -A && git commit -qm mine && echo more > more.txt"
	p := newProject(t, agentCommand(t), map[string]string{"A-1": ""})
	p.env = append(p.env, "OPENAI_API_KEY="+agentKey)
	p.replace("codex:", "repository: {url: ./shop}\ndelivery:\n  hand_over: {state: Review}\nbudget:\n  max_attempts_per_issue: 0\ncodex:")
	git := p.makeRepository("shop")
	ready := filepath.Join(p.dir, "ready")
	hang := func(script string) {
		p.write("issues/A-1.md", task("Run `"+script+"; touch "+ready+"; exec sleep 3600`"))
	}
	killWhenReady := func() {
		t.Helper()
		if err := os.RemoveAll(ready); err != nil {
			t.Fatal(err)
		}
		cmd := p.command(t.Context(), "--once")
		out := &strings.Builder{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the agent", func() bool { _, err := os.Stat(ready); return err == nil })
		cmd.Process.Kill()
		cmd.Wait()
	}

	hang(works)
	killWhenReady()
	git("checkout", "-q", "-b", "symphony/A-1")
	p.write("shop/person.txt", "by a person\n")
	git("add", "-A")
	git("commit", "-q", "-m", "by a person")
	git("checkout", "-q", "main")

	hang("test -e person.txt && test ! -e mine.txt && git rev-parse -q --verify unpublished")
	killWhenReady()
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(400))*time.Millisecond)
		p.command(ctx, "--once").CombinedOutput() // SIGKILL when ctx ends
		cancel()
	}
	killWhenReady()

	p.write("issues/A-1.md", task("Run `test ! -e mine.txt && git merge -q --no-edit unpublished && test -e person.txt`"))
	for range 2 {
		p.ok("--once")
	}
	if files := git("ls-tree", "--name-only", "symphony/A-1"); files != "README.md\nmine.txt\nmore.txt\nperson.txt" {
		t.Errorf("the branch has %q", files)
	}
	if !strings.Contains(p.read("issues/A-1.md"), "state: Review") {
		t.Error("the issue was not handed over")
	}
	p.noProcessLeft()
}
