package client

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/go-github/v62/github"
)

// IsObject reports whether s is the full name of a git object, SHA-1 or SHA-256.
func IsObject(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// Git makes requests about refs, commits and files.
type Git struct{ c *Client }

// object returns the name of a git object from an answer, or an error if the request
// failed or there is none.
func (g Git) object(sha string, err error) (string, error) {
	if err == nil && !IsObject(sha) {
		err = g.c.Incomplete()
	}
	if err != nil {
		return "", err
	}
	return sha, nil
}

// Ref returns the object that a ref points to, such as refs/heads/main.
func (g Git) Ref(ctx context.Context, name string) (string, error) {
	ref, err := get[github.Reference](ctx, g.c, ReadContents, "/git/ref/%s", escape(strings.TrimPrefix(name, "refs/")))
	if err == nil && ref.GetRef() != name {
		err = g.c.Incomplete()
	}
	return g.object(ref.GetObject().GetSHA(), err)
}

// CreateRef makes a ref. GitHub refuses if the name exists. The request is sent once.
func (g Git) CreateRef(ctx context.Context, name, sha string) error {
	_, err := call[github.Reference](ctx, g.c, Request{
		Method: http.MethodPost, Path: g.c.Path("/git/refs"), Permission: WriteContents, Body: map[string]string{"ref": name, "sha": sha},
	})
	return err
}

// UpdateRef moves a ref to a descendant of the commit that it points to, and to no
// other. It is sent once.
func (g Git) UpdateRef(ctx context.Context, name, sha string) error {
	_, err := call[github.Reference](ctx, g.c, Request{
		Method: http.MethodPatch, Path: g.c.Path("/git/refs/%s", escape(strings.TrimPrefix(name, "refs/"))), Permission: WriteContents,
		Body: map[string]any{"sha": sha, "force": false},
	})
	return err
}

// CreateTree makes a tree from the tree of a commit, or from an empty one, with these
// files. It returns the paths of all that the tree holds.
func (g Git) CreateTree(ctx context.Context, base string, files map[string]string) (sha string, paths []string, err error) {
	body := struct {
		Base    string              `json:"base_tree,omitempty"`
		Entries []*github.TreeEntry `json:"tree"`
	}{Base: base}
	for path, content := range files {
		body.Entries = append(body.Entries, &github.TreeEntry{
			Path: &path, Mode: github.String("100644"), Type: github.String("blob"), Content: &content,
		})
	}
	tree, err := call[github.Tree](ctx, g.c, Request{
		Method: http.MethodPost, Path: g.c.Path("/git/trees"), Permission: WriteContents, Body: body, Repeatable: true,
	})
	for _, entry := range tree.Entries {
		paths = append(paths, entry.GetPath())
	}
	sha, err = g.object(tree.GetSHA(), err)
	return sha, paths, err
}

// CreateCommit makes a commit that no ref points to.
func (g Git) CreateCommit(ctx context.Context, message, tree string, parents ...string) (string, error) {
	commit, err := g.makeCommit(ctx, message, tree, parents)
	return g.object(commit.GetSHA(), err)
}

// SignedCommit is a commit that GitHub was to sign.
type SignedCommit struct {
	SHA    string
	Signed bool   // GitHub has signed it
	Reason string // GitHub's word for it, such as "unsigned"
}

// SignCommit makes a commit that no ref points to, of a tree that the repository has.
// GitHub signs it for the tokens of jobs and of Apps.
func (g Git) SignCommit(ctx context.Context, message, tree string, parents ...string) (SignedCommit, error) {
	commit, err := g.makeCommit(ctx, message, tree, parents)
	if err == nil && commit.GetTree().GetSHA() != tree {
		err = g.c.Incomplete()
	}
	sha, err := g.object(commit.GetSHA(), err)
	v := commit.GetVerification()
	return SignedCommit{sha, v.GetVerified(), v.GetReason()}, err
}

// makeCommit names no author and no committer: GitHub signs only in its own name.
func (g Git) makeCommit(ctx context.Context, message, tree string, parents []string) (github.Commit, error) {
	return call[github.Commit](ctx, g.c, Request{
		Method: http.MethodPost, Path: g.c.Path("/git/commits"), Permission: WriteContents, Repeatable: true,
		Body: map[string]any{"message": message, "tree": tree, "parents": append([]string{}, parents...)},
	})
}

// History returns the newest 100 commits that are reachable from one.
func (g Git) History(ctx context.Context, from string) ([]string, error) {
	commits, err := get[[]github.RepositoryCommit](ctx, g.c, ReadContents, "/commits?sha=%s&per_page=100", from)
	names := make([]string, len(commits))
	for i, commit := range commits {
		names[i] = commit.GetSHA()
	}
	return names, err
}

// File returns the content of a file in a commit. As JSON GitHub leaves out files of
// more than 1 MiB.
func (g Git) File(ctx context.Context, path, commit string) ([]byte, error) {
	a, err := g.c.Do(ctx, Request{
		Path: g.c.Path("/contents/%s?ref=%s", escape(path), commit), Permission: ReadContents, Accept: "application/vnd.github.raw+json",
	})
	return a.Body, err
}

// Compare reads the files that differ between two commits; nil if the answer does
// not list them.
func (g Git) Compare(ctx context.Context, base, head string) ([]*github.CommitFile, error) {
	diff, err := get[github.CommitsComparison](ctx, g.c, ReadContents, "/compare/%s...%s", escape(base), escape(head))
	return diff.Files, err
}
