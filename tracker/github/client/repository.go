package client

import (
	"context"

	"github.com/google/go-github/v62/github"
)

// Issue is an issue or a pull request as the REST API gives it.
type Issue = github.Issue

// Repository holds the settings of a repository.
type Repository = github.Repository

// Repository reads the settings of the repository; never nil without an error.
func (c *Client) Repository(ctx context.Context) (*Repository, error) {
	r, err := get[Repository](ctx, c, ReadMetadata, "")
	return &r, err
}

// Labels reads the labels of the repository.
func (c *Client) Labels(ctx context.Context) ([]github.Label, error) {
	return list[github.Label](ctx, c, ReadIssues, "/labels?per_page=100")
}

// Compare reads the files that differ between two commits; nil if the answer does
// not list them.
func (c *Client) Compare(ctx context.Context, base, head string) ([]*github.CommitFile, error) {
	diff, err := get[github.CommitsComparison](ctx, c, ReadContents, "/compare/%s...%s", escape(base), escape(head))
	return diff.Files, err
}
