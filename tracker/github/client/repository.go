package client

import (
	"context"

	"github.com/google/go-github/v62/github"
)

// Repository reads the settings of the repository.
func (c *Client) Repository(ctx context.Context) (github.Repository, error) {
	return get[github.Repository](ctx, c, ReadMetadata, "")
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
