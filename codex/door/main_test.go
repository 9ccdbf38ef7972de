package door

import (
	"os"
	"strings"
	"testing"
)

// TestMain makes the test binary the part of this program in a sandbox when it is run as such.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Name {
		os.Exit(Main(os.Args[2:], os.Environ(), os.Stderr))
	}
	os.Exit(m.Run())
}

func TestWithoutNsenterThereAreNoDoors(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := Check(); err == nil || !strings.HasSuffix(err.Error(), "install util-linux") {
		t.Error(err)
	}
}
