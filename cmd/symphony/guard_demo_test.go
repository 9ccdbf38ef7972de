package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/codex/codextest"
)

// TestTheDemoWorksWithTheUsersOwnCodex runs the demo as somebody does who has
// installed Codex and logged in: it is found by the login shell, and its home is
// the user's.
func TestTheDemoWorksWithTheUsersOwnCodex(t *testing.T) {
	t.Parallel()
	run := func(command string) codextest.Reply { return call("exec_command", map[string]string{"cmd": command}) }
	p, m := realProject(t, "", nil,
		lane("DEMO-1", run("echo Hello from Symphony. > hello.txt"), handOver(), say("Done.")),
		lane("DEMO-2", run("echo one > count.txt"), say("Half of it."), run("echo two, three >> count.txt"), handOver(), say("Done.")),
		lane("DEMO-3", run("cat licence.key"), say("There is no licence.key, so I stop here."), say("Still none."), say("Still none.")))
	codex := os.Getenv("SYMPHONY_TEST_CODEX")
	if codex == "" {
		codex, _ = exec.LookPath("codex") // realProject has found it
	}
	p.write(".bash_profile", "PATH="+shellQuote(filepath.Dir(codex))+":$PATH\n")
	temp := t.TempDir()
	p.env = append(p.env, "TMPDIR="+temp)
	r := p.ok("demo", "--codex")

	folders, err := filepath.Glob(filepath.Join(temp, "*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("the demo left %v, %v", folders, err)
	}
	demo := project{t: t, dir: folders[0]}
	for name, want := range map[string]string{
		"workspaces/DEMO-1/hello.txt": "Hello from Symphony.\n",
		"workspaces/DEMO-2/count.txt": "one\ntwo, three\n",
	} {
		if got := demo.read(name); got != want {
			t.Errorf("%s holds %q", name, got)
		}
	}
	for name, state := range map[string]string{"DEMO-1": "Review", "DEMO-2": "Review", "DEMO-3": "Todo"} {
		if text := demo.read("issues/" + name + ".md"); !strings.Contains(text, "state: "+state) {
			t.Errorf("%s is not in %s:\n%s", name, state, text)
		}
	}
	if n := len(m.Requests()); n < 8 {
		t.Errorf("the model was asked %d times", n)
	}
	if !strings.Contains(r.stdout, "DEMO-1") || strings.Contains(r.stdout+r.stderr, "posture") {
		t.Errorf("%s\n%s", r.stdout, r.stderr)
	}
	p.noProcessLeft()
}
