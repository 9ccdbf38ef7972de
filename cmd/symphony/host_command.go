package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/runner/worker"
	"github.com/symphony-runner/symphony/workspace"
)

// hostName is the name of the hidden command by which this program works on a worker host.
const hostName = "host"

// hostCommand serves the connection of a run on another machine.
type hostCommand struct{ *app }

func (c *hostCommand) command() *cobra.Command {
	return &cobra.Command{
		Use:     hostName,
		Short:   "Work for a run of this program on another machine, over the standard streams",
		Example: "symphony host",
		Hidden:  true,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.Run(cmd.Context()) },
	}
}

// Run serves until the other machine is done, or its connection is lost.
func (c *hostCommand) Run(ctx context.Context) error {
	if err := workspace.HideFromChildren(); err != nil {
		return err
	}
	machine := worker.Machine{Environ: c.environ, Lookup: c.getenv, Temp: c.tempDir()}
	return machine.Serve(ctx, streams{c.stdin, c.stdout}, c.stderr)
}

// streams are the standard streams as one connection. The end of the program closes it.
type streams struct {
	io.Reader
	io.Writer
}

func (streams) Close() error { return nil }
