package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the command line as users do; see testdata/script at the top.
// In a script $AGENT is the command of the scripted agent, for codex.command,
// and `await FILE TEXT` waits until a file holds a text.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			self, err := lookPath(env.Getenv("PATH"), "symphony")
			if err != nil {
				return err
			}
			env.Setenv("AGENT", "exec "+self+" scripted-agent --home "+filepath.Join(env.WorkDir, "agent"))
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await":  await,
			"expand": expand,
		},
	})
}

// await waits until a file holds a text: `await FILE TEXT`.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE TEXT")
	}
	path := ts.MkAbs(args[0])
	holds := func() bool {
		content, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(content), args[1])
	}
	if !poll(holds) {
		ts.Fatalf("waited in vain for %q in %s", args[1], args[0])
	}
}

// expand replaces ${NAME} in files by the environment: `expand FILE...`. Files of
// a script are written before there is an environment.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "${AGENT}", ts.Getenv("AGENT"))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}

func lookPath(path, name string) (string, error) {
	for _, folder := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found, nil
		}
	}
	return exec.LookPath(name)
}
