package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/shell"
)

// ownCommand returns the words of a shell that start this program again, for commands that
// people copy. Inside Actions they run it elsewhere.
func (a *app) ownCommand() string {
	if a.program == "" {
		self, err := os.Executable()
		if a.program = "symphony"; err == nil {
			a.program = commandOf(a.Process, self)
		}
	}
	return a.program
}

// commandOf returns the words of a shell that start a program of this path.
func commandOf(p wiring.Process, self string) string {
	if p.Actions.InActions() || isOnPath(p, self) {
		return "symphony"
	}
	if isTemporary(self) {
		if info, ok := debug.ReadBuildInfo(); ok && strings.HasSuffix(info.Path, "/cmd/symphony") {
			return goRun(info)
		}
	}
	return shell.Word(self)
}

// goRun returns the command of go run that has built this program.
func goRun(info *debug.BuildInfo) string {
	if info.Main.Sum == "" { // it was built from the checkout in whose folder we are
		return "go run " + info.Path
	}
	return "go run " + info.Path + "@" + info.Main.Version
}

func isOnPath(p wiring.Process, self string) bool {
	own, err := os.Stat(self)
	if err != nil {
		return false
	}
	for _, folder := range filepath.SplitList(p.Value("PATH")) {
		if info, err := os.Stat(filepath.Join(folder, "symphony")); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return os.SameFile(own, info)
		}
	}
	return false
}

// isTemporary reports whether `go run` has built the program of this path, and removes it
// when it ends.
func isTemporary(self string) bool { return strings.Contains(self, "/go-build") }

// lastingProgram returns the path of this program. `go run` removes its program when it
// ends: the demo's folder gets a copy of that.
func lastingProgram(folder string) (string, error) {
	self, err := os.Executable()
	if err != nil || !isTemporary(self) {
		return self, err
	}
	kept := filepath.Join(folder, "symphony")
	if os.Link(self, kept) == nil {
		return kept, nil
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return "", err
	}
	return kept, os.WriteFile(kept, program, 0o700)
}
