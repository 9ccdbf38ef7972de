package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/identity"
)

// modelTokenCommand prints a token for the model. It has none itself: it asks the program that
// has started Codex, which looks at who asks; see package identity.
type modelTokenCommand struct{ *app }

func (m *modelTokenCommand) command() *cobra.Command {
	return &cobra.Command{
		Use:     wiring.ModelTokenName + " socket",
		Short:   "The token for the model, for the Codex of a session alone",
		Example: "symphony model-token /tmp/symphony-identity-1/s",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			token, err := identity.Ask(args[0])
			if err == nil {
				_, err = fmt.Fprintln(m.Stdout, token)
			}
			return err
		},
	}
}
