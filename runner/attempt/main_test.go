package attempt

import (
	"fmt"
	"os"
	"testing"

	"github.com/symphony-runner/symphony/codex/door"
	"github.com/symphony-runner/symphony/internal/scriptedagent"
	"github.com/symphony-runner/symphony/runner/identity"
)

// TestMain makes the test binary an agent when it is run as `agent HOME METHOD...`. It
// does not know the methods. When it is run as `ask SOCKET`, it asks for a token, and it is the part
// of this program in a sandbox when it is run as that.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == door.Name {
		os.Exit(door.Main(os.Args[2:], os.Environ(), os.Stderr))
	}
	if len(os.Args) == 3 && os.Args[1] == "ask" {
		token, err := identity.Ask(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(token)
		return
	}
	if len(os.Args) < 3 || os.Args[1] != "agent" {
		os.Exit(m.Run())
	}
	os.Exit(scriptedagent.Main(os.Stdin, os.Stdout, os.Stderr, scriptedagent.Options{Home: os.Args[2], Unknown: os.Args[3:]}))
}
