package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
	var repo struct {
		DefaultBranch string `json:"default_branch"`
	}
	if err := r.look(ctx, "/repos/"+c.target.repo, &repo); err != nil {
		return err
	}
	if repo.DefaultBranch == "" || strings.EqualFold(c.changes, repo.DefaultBranch) {
		return fmt.Errorf("%q is the default branch: change another one and open a pull request", c.changes)
	}
	if c.commit == "" {
		return nil
	}
	const most = 300 // files that a comparison lists
	var diff struct {
		Files []struct {
			Name string `json:"filename"`
			Old  string `json:"previous_filename"`
		}
	}
	base := target{c.target.repo, []string{"compare", repo.DefaultBranch + "..." + c.commit}}
	if err := r.look(ctx, base.escaped(), &diff); err != nil {
		return err
	}
	if len(diff.Files) >= most {
		return fmt.Errorf("the commit changes %d files or more, too many to see that no workflow is among them: push it with git", most)
	}
	for _, f := range diff.Files {
		if slices.ContainsFunc([]string{f.Name, f.Old}, workflowFile) {
			return errWorkflow
		}
	}
	return nil
}

// look reads what a check needs.
func (r *repository) look(ctx context.Context, path string, v any) error {
	op := "check the call"
	a, err := r.client.do(ctx, request{op: op, method: http.MethodGet, url: r.client.api + path})
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return errors.New("it cannot be checked, so it is refused: " + result(a))
	}
	return a.decode(op, v)
}
