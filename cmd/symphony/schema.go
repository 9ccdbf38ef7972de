package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// schemaCommand prints the JSON schema of the front matter of WORKFLOW.md.
type schemaCommand struct{ *app }

func (s *schemaCommand) command() *cobra.Command {
	return &cobra.Command{
		Use:               "schema",
		Short:             "Print the JSON schema of WORKFLOW.md's front matter, for editors",
		Example:           "symphony schema >workflow.schema.json",
		Args:              argumentsUpTo(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return s.Run() },
	}
}

// Run prints the schema.
func (s *schemaCommand) Run() error {
	schema, err := workflow.Schema(wiring.Trackers())
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Stdout, "%s\n", schema)
	return nil
}
