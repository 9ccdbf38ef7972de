package worker

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/symphony-runner/symphony/internal/scriptedagent"
)

// TestMain makes the test binary an agent when it is run as `agent HOME`, and this program on a worker
// host when it is run as `host`.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "agent":
		os.Exit(scriptedagent.Main(os.Stdin, os.Stdout, os.Stderr, scriptedagent.Options{Home: os.Args[2]}))
	case len(os.Args) == 2 && os.Args[1] == "host":
		machine := Machine{Environ: os.Environ(), Lookup: os.LookupEnv, Temp: os.TempDir()}
		if err := machine.Serve(context.Background(), streams{os.Stdin, os.Stdout}, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

// streams are the standard streams as one connection.
type streams struct {
	io.Reader
	io.Writer
}

func (streams) Close() error { return nil }
