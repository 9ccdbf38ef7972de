package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheDemoOfGoRunCanBeContinued removes the program after the demo, as `go run` does.
func TestTheDemoOfGoRunCanBeContinued(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := emptyProject(t)
	p.exe = filepath.Join(p.dir, "go-build1/b001/exe/symphony")
	if err := os.MkdirAll(filepath.Dir(p.exe), 0o755); err != nil {
		t.Fatal(err)
	}
	// Another process writes it: a file that is open for writing here would be so in the
	// processes that other tests start at this moment, and could not be run.
	if out, err := exec.Command("cp", self, p.exe).CombinedOutput(); err != nil {
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
	last := commands[len(commands)-1][1]
	out, err := exec.Command("sh", "-c", last).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "DEMO-3") {
		t.Errorf("%s: %v\n%s", last, err, out)
	}
}
