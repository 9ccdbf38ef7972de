package github

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// permitted asks GitHub what the guards could not know: which branch is the
// default one, which is changed by pull requests that people merge, and whether
// a commit that is to be a branch changes workflows.
func (r *repository) permitted(ctx context.Context, c *call) error {
	if c.changes == "" {
		return nil
	}
	owner, name, _ := strings.Cut(c.target.repo, "/")
	repo, _, err := r.rest.getRepository(ctx, owner, name)
	if err != nil {
		return r.unchecked(ctx, err)
	}
	if repo.GetDefaultBranch() == "" || strings.EqualFold(c.changes, repo.GetDefaultBranch()) {
		return fmt.Errorf("%q is the default branch: change another one and open a pull request", c.changes)
	}
	if c.commit == "" {
		return nil
	}
	const most = 300 // files that a comparison lists
	diff, _, err := r.rest.compareCommits(ctx, owner, name, repo.GetDefaultBranch(), c.commit, nil)
	switch {
	case err != nil:
		return r.unchecked(ctx, err)
	case diff.Files == nil: // go-github takes an empty answer for one without files
		return r.unchecked(ctx, errors.New("the comparison tells of no files"))
	case len(diff.Files) >= most:
		return fmt.Errorf("the commit changes %d files or more, too many to see that no workflow is among them: push it with git", most)
	}
	for _, f := range diff.Files {
		if slices.ContainsFunc([]string{f.GetFilename(), f.GetPreviousFilename()}, workflowFile) {
			return errWorkflow
		}
	}
	return nil
}

// unchecked returns the refusal of a call about which GitHub cannot be asked.
func (r *repository) unchecked(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*statusError](err); ok {
		return errors.New("it cannot be checked, so it is refused: " + result(e.answer))
	}
	return r.failed(ctx, "check the call", needIssues, err)
}
