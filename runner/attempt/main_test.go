package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/symphony-runner/symphony/codex/scriptedagent"
)

// TestMain makes the test binary an agent when it is run as `agent HOME METHOD...`. It
// does not know the methods.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != "agent" {
		os.Exit(m.Run())
	}
	err := scriptedagent.Serve(context.Background(), os.Stdin, os.Stdout, scriptedagent.Options{Home: os.Args[2], Unknown: os.Args[3:]})
	if exit, ok := errors.AsType[*scriptedagent.ExitError](err); ok {
		os.Exit(exit.Code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
