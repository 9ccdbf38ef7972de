package codextest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Bubblewrap returns the path of the bubblewrap that the real Codex comes with. It skips the test if
// there is none.
func Bubblewrap(t testing.TB) string {
	t.Helper()
	codex, err := filepath.EvalSymlinks(Path(t))
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob(filepath.Join(filepath.Dir(codex), "../../codex-linux-*/vendor/*/codex-resources/bwrap"))
	if err != nil || len(own) == 0 {
		t.Skip("this Codex comes with no bubblewrap")
	}
	return filepath.Clean(own[0])
}

// OldBubblewrap returns a folder with a bubblewrap like Debian 12's, which lacks the option
// --argv0: the machine's own if it is so old, else one that stands before the bubblewrap of the
// real Codex. It skips the test if there is none.
func OldBubblewrap(t testing.TB) (folder string) {
	t.Helper()
	if path, err := exec.LookPath("bwrap"); err == nil {
		if help, err := exec.Command(path, "--help").CombinedOutput(); err == nil && !strings.Contains(string(help), "--argv0") {
			return filepath.Dir(path)
		}
	}
	own := Bubblewrap(t)
	folder = t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" != --help ] || exec sh -c '%[1]s --help | grep -v argv0'\nexec '%[1]s' \"$@\"\n", own)
	if err := os.WriteFile(filepath.Join(folder, "bwrap"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}
