package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
)

// TestTheDemoOfGoRunCanBeContinued removes the program after the demo, as `go run` does.
func TestTheDemoOfGoRunCanBeContinued(t *testing.T) {
	t.Parallel()
	p := emptyProject(t)
	p.exe = filepath.Join(p.dir, "go-build1/b001/exe/symphony")
	if err := os.MkdirAll(filepath.Dir(p.exe), 0o755); err != nil {
		t.Fatal(err)
	}
	// Another process writes it: a file that is open for writing here would be so in the
	// processes that other tests start at this moment, and could not be run.
	if out, err := exec.Command("cp", program(t), p.exe).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.env = append(p.env, "TMPDIR="+p.dir)
	r := p.ok("demo")
	if err := os.RemoveAll(filepath.Join(p.dir, "go-build1")); err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^    (.*)$`).FindAllStringSubmatch(r.stderr, -1)
	if len(commands) == 0 {
		t.Fatalf("no command is printed:\n%s", r.stderr)
	}
	inReport := regexp.MustCompile(`(?m)^    The session's log:\n((?:.*\\\n)*.*)$`).FindStringSubmatch(r.stdout)
	if inReport == nil {
		t.Fatalf("the report has no command:\n%s", r.stdout)
	}
	for _, command := range []string{commands[len(commands)-1][1], inReport[1]} {
		out, err := exec.Command("sh", "-c", command).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "DEMO-3") {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}

// TestTheDemoTakesNoNoticeOfAKey runs the demo, and its next tick, with the keys of a real
// account in the environment.
func TestTheDemoTakesNoNoticeOfAKey(t *testing.T) {
	t.Parallel()
	p := emptyProject(t)
	p.exe = program(t) // it is also the agent, which has five seconds to start
	mine := filepath.Join(p.dir, "mine")
	p.env = append(p.env, "TMPDIR="+p.dir, "OPENAI_API_KEY=sk-0123456789abcdefghij", "CODEX_API_KEY=sk-0123456789abcdefghij", "CODEX_HOME="+mine)
	if r := p.ok("demo"); !strings.Contains(r.stdout, "3 issues worked on") || !strings.Contains(r.stdout, "2 completed, 1 failed") {
		t.Error(r.stdout)
	}
	folders, err := filepath.Glob(filepath.Join(p.dir, "symphony-demo-*"))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	p.dir = folders[0]
	p.ok("state", "retry", "DEMO-3")
	if r := p.ok("--once", "--fail-on", "never"); !strings.Contains(r.stdout, "license.key") {
		t.Errorf("the next tick:\n%s", r.stdout)
	}
	if _, err := os.Lstat(mine); err == nil {
		t.Error("it wrote to the user's own Codex home")
	}
}

func TestADemoWhoseTickCannotRunClaimsNoWork(t *testing.T) {
	t.Parallel()
	p := emptyProject(t)
	p.env = append(p.env, "PATH="+t.TempDir(), "TMPDIR="+p.dir) // neither git nor bash
	r := p.run("demo")
	if r.code == 0 || !strings.Contains(r.stderr, "install bash") || !strings.Contains(r.stderr, "Run the next tick with") {
		t.Errorf("exit status %d:\n%s", r.code, r.stderr)
	}
	for _, untrue := range []string{"Symphony changed", "Look at the files", "is missing", "session that failed"} {
		if strings.Contains(r.stderr, untrue) {
			t.Errorf("it says %q:\n%s", untrue, r.stderr)
		}
	}
}

// A demo whose commands could not be copied writes nothing.
func TestTheFolderOfTheDemoCanBeShown(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"plain": true, "a b": true, "it's": true, "$HOME": true, `back\slash`: true, `"quoted"`: true, "[a-z]*": true, "ümlaut": true, "修正": true,
		"line\nbreak": false, "a\ttab": false, "\x01": false, "\xff": false, "zero\u200bwidth": false, "missing/folder": false,
	} {
		temp := filepath.Join(t.TempDir(), name)
		if !strings.HasPrefix(name, "missing") {
			if err := os.Mkdir(temp, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		demo := demoCommand{app: &app{Process: wiring.Process{Environ: []string{"TMPDIR=" + temp}}}}
		folder, err := demo.makeFolder()
		if !good {
			entries, _ := os.ReadDir(temp)
			if exitStatus(err) != exitUsage || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "let TMPDIR name another folder") || len(entries) > 0 {
				t.Errorf("%q: %v, and there is %v", name, err, entries)
			}
		} else if err != nil || filepath.Dir(folder) != temp {
			t.Errorf("%q: %q, %v", name, folder, err)
		}
	}
}
