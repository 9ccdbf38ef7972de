package client

import (
	"context"
	"fmt"
	"slices"

	"github.com/symphony-runner/symphony/internal/transport"
)

// Lack is a part of something that the token may not read, while it may read the rest.
type Lack struct {
	What       string // such as "the logs of jobs"
	Permission Permission
}

// Error returns the things that the token may not read, and advice.
func (l Lack) Error() string {
	return fmt.Sprintf("the token may not read %s: write `permissions: {%s}` in the workflow, or give a token that may", l.What, l.Permission)
}

type lackList []Lack

func (l *lackList) add(lack Lack) {
	if !slices.Contains(*l, lack) {
		*l = append(*l, lack)
	}
}

// The lacks.
var (
	lackChecks    = Lack{"checks", ReadChecks}
	lackStatuses  = Lack{"commit statuses", ReadStatuses}
	lackRollup    = Lack{"checks and commit statuses", ReadChecks + ", " + ReadStatuses}
	lackWorkflows = Lack{"which workflow a check belongs to", ReadActions}
	lackLogs      = Lack{"the logs of jobs", ReadActions}
)

// forbiddenKey is the key of a context whose query may have parts that the token may not
// see.
type forbiddenKey struct{}

// forbiddenPaths holds the places of an answer that are null because the token may not see
// them.
type forbiddenPaths [][]any

// queryVisible sends a query as [Client.Query] does, and returns the parts that the token may not
// see below the second level of the answer in place of an error.
func (c *Client) queryVisible(ctx context.Context, p Permission, into any, variables map[string]any) (forbiddenPaths, error) {
	var forbidden forbiddenPaths
	err := c.Query(context.WithValue(ctx, forbiddenKey{}, &forbidden), p, into, variables)
	return forbidden, err
}

// lacksOfPaths adds the lacks of an answer about checks. It fails if the token may not
// see something else, which needs a permission.
func (c *Client) lacksOfPaths(lacks *lackList, p Permission, forbidden forbiddenPaths) error {
	for _, path := range forbidden {
		switch {
		case slices.Contains(path, any("workflowRun")):
			lacks.add(lackWorkflows)
		case slices.Contains(path, any("statusCheckRollup")):
			lacks.add(lackRollup)
		default:
			return c.explain(&transport.Error{Kind: transport.Refused, Answer: forbiddenAnswer("")}, p)
		}
	}
	return nil
}

// unseen returns the error of a query whose answer says that the token sees no
// repository.
func (c *Client) unseen() error {
	return c.explain(&transport.Error{Kind: transport.Refused, Answer: transport.Answer{Status: 404}}, ReadPullRequests)
}
