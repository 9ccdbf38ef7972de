package scriptedagent

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestATurnThatWasKilledIsInterruptedAndItsPartIsDoneAgain(t *testing.T) {
	t.Parallel()
	home, cwd := t.TempDir(), t.TempDir()
	p := startAgent(t, home)
	p.hello()
	thread := p.thread(cwd, nil)
	p.begin(thread, "- [ ] Say `One.`\n- [ ] Hang\n\n## Next turn\n\n- [ ] Say `Two.`")
	p.until("item/agentMessage/delta")
	syscall.Kill(p.pid, syscall.SIGKILL)
	p.end()

	p = serve(t, Options{Home: home})
	p.hello()
	resumed := p.ok("thread/resume", object{"threadId": thread})["thread"].(map[string]any)
	equal(t, "turns", "interrupted", resumed["turns"].([]any)[0].(map[string]any)["status"].(string))
	p.begin(thread, "Go on.")
	p.until("item/agentMessage/delta")
	equal(t, "delta", "One.", p.of("item/agentMessage/delta")[0]["delta"].(string))
}

func TestAThreadIsResumedFromItsRolloutAlone(t *testing.T) {
	t.Parallel()
	home, cwd := t.TempDir(), t.TempDir()
	p := serve(t, Options{Home: home})
	p.hello()
	opened := p.ok("thread/start", object{"cwd": cwd})["thread"].(map[string]any)
	thread := opened["id"].(string)
	p.turn(thread, "- [ ] Say `One.`\n\n## Next turn\n\n- [ ] Create `two.txt` containing `two`")
	p.in.Close()
	p.end()

	rollout, err := os.ReadFile(opened["path"].(string))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, other := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(elsewhere, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(elsewhere, "sessions", filepath.Base(opened["path"].(string)))
	if err := os.WriteFile(copied, rollout, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p = serve(t, Options{Home: elsewhere})
		p.hello()
		p.ok("thread/resume", object{"threadId": thread, "cwd": other})
		p.turn(thread, "Go on.")
		p.in.Close()
		p.end()
	}
	equal(t, "file", "two\n", contents(t, other, "two.txt"))
	equal(t, "messages", []string{"There is nothing left to do."}, p.said())
	equal(t, "tokens", [4]float64{300, 0, 0, 60}, p.spent())
}

func TestWithoutAHomeNothingIsRemembered(t *testing.T) {
	t.Parallel()
	p := serve(t, Options{})
	p.hello()
	thread := p.thread(t.TempDir(), nil)
	equal(t, "status", "completed", p.turn(thread, "- [ ] Say `One.`").Status)
	p.ok("thread/resume", object{"threadId": thread})

	p = serve(t, Options{})
	p.hello()
	refused(t, p.call("thread/resume", object{"threadId": thread}), "no rollout found for thread id "+thread)
}
