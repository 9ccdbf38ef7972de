package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shurcooL/graphql"

	"github.com/symphony-runner/symphony/internal/transport"
)

// ErrBranchMoved reports a branch that is not deleted because it is not at the commit
// where it was to be.
var ErrBranchMoved = errors.New("the branch has moved")

// DeleteBranchAt deletes a branch if it is at a commit, which GitHub compares when it
// deletes; otherwise it fails with [ErrBranchMoved]. A branch that is gone is not an
// error.
func (g Git) DeleteBranchAt(ctx context.Context, branch, head string) error {
	repository, at, err := g.branchHead(ctx, branch)
	if err != nil || at == "" {
		return err
	}
	if at != head {
		return fmt.Errorf("%w: %s is at %.12s instead of %.12s", ErrBranchMoved, branch, at, head)
	}
	type (
		GitObjectID string
		RefUpdate   struct {
			Name      string      `json:"name"`
			BeforeOid GitObjectID `json:"beforeOid"`
			AfterOid  GitObjectID `json:"afterOid"`
		}
		UpdateRefsInput struct {
			Repository graphql.ID  `json:"repositoryId"`
			Updates    []RefUpdate `json:"refUpdates"`
		}
	)
	none := GitObjectID(strings.Repeat("0", len(head)))
	input := UpdateRefsInput{repository, []RefUpdate{{"refs/heads/" + branch, GitObjectID(head), none}}}
	var done struct {
		Update *struct {
			ClientMutationID *string
		} `graphql:"updateRefs(input: $input)"`
	}
	err = g.c.mutate(transport.Repeatable(ctx), WriteContents, &done, input)
	if err == nil && done.Update == nil {
		err = g.c.Incomplete()
	}
	if err == nil {
		return nil
	}
	switch _, now, failed := g.branchHead(ctx, branch); {
	case failed != nil:
		return err
	case now == "":
		return nil
	case now != head:
		return fmt.Errorf("%w: %s is at %.12s instead of %.12s", ErrBranchMoved, branch, now, head)
	}
	return err
}

// branchHead returns the id of the repository in GraphQL, and the commit of a branch;
// empty if there is no such branch.
func (g Git) branchHead(ctx context.Context, branch string) (repository, head string, err error) {
	var data struct {
		Repository *struct {
			ID  string
			Ref *struct {
				Target *struct{ Oid string }
			} `graphql:"ref(qualifiedName: $ref)"`
		} `graphql:"repository(owner: $owner, name: $name)"`
	}
	variables := g.c.repositoryVariables()
	variables["ref"] = graphql.String("refs/heads/" + branch)
	switch err := g.c.Query(ctx, ReadContents, &data, variables); {
	case err != nil:
		return "", "", err
	case data.Repository == nil:
		return "", "", g.c.unseen()
	case data.Repository.Ref == nil:
		return data.Repository.ID, "", nil
	case data.Repository.Ref.Target == nil:
		return "", "", g.c.Incomplete()
	}
	return data.Repository.ID, data.Repository.Ref.Target.Oid, nil
}
