package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/shell"
)

func TestPrintedCommandsStartThisProgram(t *testing.T) {
	t.Parallel()
	ours, others, empty := t.TempDir(), t.TempDir(), t.TempDir()
	self := filepath.Join(t.TempDir(), "it's ours")
	if err := os.WriteFile(self, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(ours, "symphony")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(others, "symphony"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(empty, "symphony"), nil, 0o644); err != nil { // not executable
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		environ []string
		want    string
	}{
		"it is on PATH":                      {[]string{"PATH=" + empty + ":" + ours + ":" + others}, "symphony"},
		"another one comes before it":        {[]string{"PATH=" + others + ":" + ours}, shell.Word(self)},
		"it is not on PATH":                  {[]string{"PATH=" + empty}, shell.Word(self)},
		"there is no PATH":                   {nil, shell.Word(self)},
		"people run it elsewhere than a job": {[]string{"GITHUB_ACTIONS=true"}, "symphony"},
	} {
		a := &app{Process: wiring.Process{Environ: test.environ}}
		a.DetectActions()
		if got := commandOf(a.Process, self); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestACommandOfGoRunNamesItsVersionUnlessItIsACheckout(t *testing.T) {
	t.Parallel()
	const path = "example.com/symphony/cmd/symphony"
	for want, info := range map[string]debug.BuildInfo{
		"go run " + path:             {Path: path, Main: debug.Module{Version: "(devel)"}},
		"go run " + path + "@v1.2.3": {Path: path, Main: debug.Module{Version: "v1.2.3", Sum: "h1:x"}},
	} {
		if got := goRun(&info); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPrintedCommandsReachTheStateFromTheFolderWhereTheyArePrinted(t *testing.T) {
	t.Parallel()
	p := newProject(t, scripted(t, filepath.Join(t.TempDir(), "agent")), map[string]string{
		"A-1": "---\ntitle: Asks\nstate: Todo\n---\n- [ ] Call `ask` with `{\"question\": \"Which bank?\"}`\n",
	})
	elsewhere := &project{t: t, dir: t.TempDir(), env: p.env}
	workflow := filepath.Join(p.dir, "WORKFLOW.md")
	printed := map[string]result{ // none of the latter two changes anything
		"a tick elsewhere":         elsewhere.ok("--once", workflow),
		"an explanation elsewhere": elsewhere.ok("explain", "A-1", workflow),
		"an explanation here":      p.ok("explain", "A-1"),
	}
	retry := regexp.MustCompile(` (state retry A-1(\s+--state\s+\S+)?)`)
	for name, r := range printed {
		command, in := retry.FindStringSubmatch(strings.ReplaceAll(r.stdout+r.stderr, "\\\n", "")), elsewhere // a long one is broken
		if strings.HasSuffix(name, " here") {
			in = p
		}
		if command == nil || (command[2] == "") != (in == p) {
			t.Errorf("%s: the command is %q:\n%s%s", name, command, r.stdout, r.stderr)
			continue
		}
		if done := in.run(strings.Fields(command[1])...); done.code != 0 || !strings.Contains(done.stdout, "A-1: due now") {
			t.Errorf("%s: %s: exit status %d\n%s%s", name, command[1], done.code, done.stdout, done.stderr)
		}
	}
}
