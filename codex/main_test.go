package codex_test

import (
	"os"
	"testing"

	"github.com/symphony-runner/symphony/codex/door"
)

// TestMain makes the test binary the part of this program in a sandbox when it is run as such.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == door.Name {
		os.Exit(door.Main(os.Args[2:], os.Environ(), os.Stderr))
	}
	os.Exit(m.Run())
}

// self returns the path of the test binary.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
