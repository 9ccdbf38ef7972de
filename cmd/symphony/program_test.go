package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
)

// program returns the path of the program for tests that start it many times and look at
// what it leaves outside: files, requests and processes. It is also the agent of most
// tests. It is this test binary, or the same built without the race detector, since a
// process with it takes ten times as long to start.
// The scripts, and all projects that do not ask for it, run with the detector.
func program(t testing.TB) string {
	t.Helper()
	path, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// programFolder is the folder with the program that was built, if one was. TestMain
// removes it.
var programFolder string

var buildProgram = sync.OnceValues(func() (string, error) {
	info, _ := debug.ReadBuildInfo()
	if !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return os.Executable()
	}
	var err error
	if programFolder, err = os.MkdirTemp("", "symphony-program-"); err != nil {
		return "", err
	}
	path := filepath.Join(programFolder, "symphony")
	build := exec.Command("go", "test", "-c", "-race=false", "-ldflags=-s -w", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as releases are
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the program: %w\n%s", err, out)
	}
	return path, nil
})
