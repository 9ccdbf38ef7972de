package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/worker"
	"github.com/symphony-runner/symphony/workspace"
)

// hostCommand serves the connection of a run on another machine.
type hostCommand struct{ *app }

func (c *hostCommand) command() *cobra.Command {
	return &cobra.Command{
		Use:     wiring.HostName,
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
	machine := worker.Machine{Environ: c.Environ, Lookup: c.Getenv, Temp: c.TempDir(), Program: wiring.Program()}
	return machine.Serve(ctx, streams{c.Stdin, c.Stdout}, c.Stderr)
}

// streams are the standard streams as one connection. The end of the program closes it.
type streams struct {
	io.Reader
	io.Writer
}

func (streams) Close() error { return nil }
