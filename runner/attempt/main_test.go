package attempt

import (
	"os"
	"testing"

	"github.com/symphony-runner/symphony/internal/scriptedagent"
)

// TestMain makes the test binary an agent when it is run as `agent HOME METHOD...`. It
// does not know the methods.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != "agent" {
		os.Exit(m.Run())
	}
	os.Exit(scriptedagent.Main(os.Stdin, os.Stdout, os.Stderr, scriptedagent.Options{Home: os.Args[2], Unknown: os.Args[3:]}))
}
