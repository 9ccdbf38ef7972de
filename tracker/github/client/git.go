package client

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/symphony-runner/symphony/internal/transport"
)

// IsObject reports whether s is the full name of a git object, SHA-1 or SHA-256.
func IsObject(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// object returns the name of a git object from an answer, or an error if the request
// failed or there is none.
func (c *Client) object(sha string, err error) (string, error) {
	if err == nil && !IsObject(sha) {
		err = c.Incomplete()
	}
	if err != nil {
		return "", err
	}
	return sha, nil
}

// Incomplete returns the error of an answer that lacks something that GitHub always
// sends.
func (c *Client) Incomplete() error {
	return c.explain(&transport.Error{Kind: transport.Unreadable, Reason: "a part of the answer is missing"}, "")
}

// Ref returns the object that a ref points to, such as refs/heads/main.
func (c *Client) Ref(ctx context.Context, name string) (string, error) {
	ref, err := get[github.Reference](ctx, c, ReadContents, "/git/ref/%s", escape(strings.TrimPrefix(name, "refs/")))
	if err == nil && ref.GetRef() != name {
		err = c.Incomplete()
	}
	return c.object(ref.GetObject().GetSHA(), err)
}

// CreateRef makes a ref. GitHub refuses if the name exists. The request is sent once.
func (c *Client) CreateRef(ctx context.Context, name, sha string) error {
	_, err := call[github.Reference](ctx, c, Request{
		Method: http.MethodPost, Path: c.Path("/git/refs"), Permission: WriteContents, Body: map[string]string{"ref": name, "sha": sha},
	})
	return err
}

// UpdateRef moves a ref to a descendant of the commit that it points to, and to no
// other. It is sent once.
func (c *Client) UpdateRef(ctx context.Context, name, sha string) error {
	_, err := call[github.Reference](ctx, c, Request{
		Method: http.MethodPatch, Path: c.Path("/git/refs/%s", escape(strings.TrimPrefix(name, "refs/"))), Permission: WriteContents,
		Body: map[string]any{"sha": sha, "force": false},
	})
	return err
}

// CreateTree makes a tree from the tree of a commit, or from an empty one, with these
// files. It returns the paths of all that the tree holds.
func (c *Client) CreateTree(ctx context.Context, base string, files map[string]string) (sha string, paths []string, err error) {
	body := struct {
		Base    string              `json:"base_tree,omitempty"`
		Entries []*github.TreeEntry `json:"tree"`
	}{Base: base}
	for path, content := range files {
		body.Entries = append(body.Entries, &github.TreeEntry{
			Path: &path, Mode: github.String("100644"), Type: github.String("blob"), Content: &content,
		})
	}
	tree, err := call[github.Tree](ctx, c, Request{
		Method: http.MethodPost, Path: c.Path("/git/trees"), Permission: WriteContents, Body: body, Repeatable: true,
	})
	for _, entry := range tree.Entries {
		paths = append(paths, entry.GetPath())
	}
	sha, err = c.object(tree.GetSHA(), err)
	return sha, paths, err
}

// CreateCommit makes a commit that no ref points to.
func (c *Client) CreateCommit(ctx context.Context, message, tree string, parents ...string) (string, error) {
	commit, err := c.makeCommit(ctx, message, tree, parents)
	return c.object(commit.GetSHA(), err)
}

// SignedCommit is a commit that GitHub was to sign.
type SignedCommit struct {
	SHA    string
	Signed bool   // GitHub has signed it
	Reason string // GitHub's word for it, such as "unsigned"
}

// SignCommit makes a commit that no ref points to, of a tree that the repository has.
// GitHub signs it for the tokens of jobs and of Apps.
func (c *Client) SignCommit(ctx context.Context, message, tree string, parents ...string) (SignedCommit, error) {
	commit, err := c.makeCommit(ctx, message, tree, parents)
	if err == nil && commit.GetTree().GetSHA() != tree {
		err = c.Incomplete()
	}
	sha, err := c.object(commit.GetSHA(), err)
	v := commit.GetVerification()
	return SignedCommit{sha, v.GetVerified(), v.GetReason()}, err
}

// makeCommit names no author and no committer: GitHub signs only in its own name.
func (c *Client) makeCommit(ctx context.Context, message, tree string, parents []string) (github.Commit, error) {
	return call[github.Commit](ctx, c, Request{
		Method: http.MethodPost, Path: c.Path("/git/commits"), Permission: WriteContents, Repeatable: true,
		Body: map[string]any{"message": message, "tree": tree, "parents": append([]string{}, parents...)},
	})
}

// History returns the newest 100 commits that are reachable from one.
func (c *Client) History(ctx context.Context, from string) ([]string, error) {
	commits, err := get[[]github.RepositoryCommit](ctx, c, ReadContents, "/commits?sha=%s&per_page=100", from)
	names := make([]string, len(commits))
	for i, commit := range commits {
		names[i] = commit.GetSHA()
	}
	return names, err
}

// File returns the content of a file in a commit. As JSON GitHub leaves out files of
// more than 1 MiB.
func (c *Client) File(ctx context.Context, path, commit string) ([]byte, error) {
	a, err := c.Do(ctx, Request{
		Path: c.Path("/contents/%s?ref=%s", escape(path), commit), Permission: ReadContents, Accept: "application/vnd.github.raw+json",
	})
	return a.Body, err
}
