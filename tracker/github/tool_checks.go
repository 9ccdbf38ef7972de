package github

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// callCheck rejects a call by its arguments, before anything is sent. It may set the
// call's branch and commit, which checkRemotely then checks with GitHub.
type callCheck func(cfg Config, c *call) error

// stateBranchKeys are the parameters that name a branch or a commit.
var stateBranchKeys = []string{"base", "branch", "head", "ref", "sha", "base_tree", "head_sha", "target_commitish"}

// rejectStateBranch rejects a call that reads or writes the branch with the program's
// own state. It also rejects every name that contains the branch's name, because a
// revision of the branch can be spelled in too many ways.
func rejectStateBranch(cfg Config, c *call) error {
	names := func(s string) bool {
		return strings.Contains(strings.ToLower(s), strings.ToLower(cfg.StateBranch))
	}
	refused := fmt.Errorf("the branch %q belongs to Symphony: use another", cfg.StateBranch)
	if cfg.StateBranch == "" {
		return nil
	}
	if first := c.target.resource(); slices.Contains([]string{"git", "branches", "commits", "compare", "statuses"}, first) {
		if slices.ContainsFunc(c.target.segments, names) {
			return refused
		}
	}
	for _, key := range stateBranchKeys {
		value, _ := c.Body[key].(string)
		if names(value) || names(c.query.Get(key)) {
			return refused
		}
	}
	return nil
}

// rejectTrustLabel rejects a call that adds the trust label: with it the agent could
// approve text by outsiders.
func rejectTrustLabel(cfg Config, c *call) error {
	if cfg.TrustLabel != "" && slices.ContainsFunc(labelTexts(c.Body), func(s string) bool { return tracker.NormalLabel(s) == cfg.TrustLabel }) {
		return fmt.Errorf("the label %q is for people to put on", cfg.TrustLabel)
	}
	return nil
}

// labelTexts returns every text in a value that GitHub could read as a label.
func labelTexts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, labelTexts(e)...)
		}
		return all
	case map[string]any:
		return slices.Concat(labelTexts(v["labels"]), labelTexts(v["name"]), labelTexts(v["new_name"]))
	}
	return nil
}

// rejectApproval rejects a review that approves, because the rules of a repository
// rely on approvals by people.
func rejectApproval(cfg Config, c *call) error {
	if cfg.ToolScope == ScopeToken {
		return nil
	}
	switch c.Body["event"] {
	case nil, "COMMENT", "REQUEST_CHANGES":
		return nil
	}
	return errors.New("event must be COMMENT or REQUEST_CHANGES: approving is for people")
}

// rejectOrder rejects the start of a workflow with the input by which people give this
// program commands, as they do in comments.
func rejectOrder(_ Config, c *call) error {
	inputs, _ := c.Body["inputs"].(map[string]any)
	if _, orders := inputs["command"]; orders {
		return errors.New("body.inputs.command is refused: it gives Symphony a command, which is for people")
	}
	return nil
}

// plainBranchName matches names that can only mean a branch, not a revision or
// another ref.
var plainBranchName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`) })

// setBranch sets the branch that the call changes, or rejects its name.
// checkRemotely rejects the default branch later.
func (c *call) setBranch(name string) error {
	first, _, _ := strings.Cut(name, "/")
	if !plainBranchName().MatchString(name) || strings.Contains(name, "..") || strings.EqualFold(name, "head") || first == "refs" || first == "heads" {
		return fmt.Errorf("%q is not the plain name of a branch: letters, digits and . _ - / alone", name)
	}
	c.branch = name
	return nil
}

// requireBranch rejects a change of files that names no branch, since GitHub would
// change the default branch.
func requireBranch(_ Config, c *call) error {
	name, ok := c.Body["branch"].(string)
	if !ok {
		return errors.New("body.branch is missing: name the branch to change, which must not be the default one")
	}
	return c.setBranch(name)
}

// requireNewBranch rejects a new ref that is not a branch: a tag may start a release.
func requireNewBranch(_ Config, c *call) error {
	ref, _ := c.Body["ref"].(string)
	name, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return errors.New("body.ref must be refs/heads/<branch>")
	}
	return c.setBranch(name)
}

// rejectForcePush rejects a call that rewrites the history of a branch.
func rejectForcePush(cfg Config, c *call) error {
	if force, ok := c.Body["force"]; ok && force != false {
		return errors.New("body.force must be false: history is not rewritten")
	}
	return requireRef(cfg, c)
}

// requireRef sets the branch of a call whose path names its ref.
func requireRef(_ Config, c *call) error {
	return c.setBranch(strings.Join(c.target.segments[3:], "/"))
}

// requireCommit sets the commit that becomes the head of a branch. checkRemotely asks
// GitHub whether it changes a workflow.
func requireCommit(_ Config, c *call) error {
	sha, _ := c.Body["sha"].(string)
	if !client.IsObject(sha) {
		return errors.New("body.sha must be the full name of a commit")
	}
	c.commit = sha
	return nil
}

// errWorkflowFile rejects a change of a workflow.
var errWorkflowFile = errors.New("files in .github/workflows run with the repository's secrets: people change them")

// isWorkflowFile reports whether a path of the repository is a workflow or a folder
// that contains the workflows.
func isWorkflowFile(path string) bool {
	path = strings.ToLower(path)
	return path == ".github" || path == ".github/workflows" || strings.HasPrefix(path, ".github/workflows/")
}

// rejectWorkflowFile rejects a call that changes a workflow by its path.
func rejectWorkflowFile(_ Config, c *call) error {
	if isWorkflowFile(strings.Join(c.target.segments[1:], "/")) {
		return errWorkflowFile
	}
	return nil
}

// rejectWorkflowTree rejects a tree with a workflow, or with an entry that has no
// path.
func rejectWorkflowTree(_ Config, c *call) error {
	entries, _ := c.Body["tree"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if path, ok := entry["path"].(string); !ok || isWorkflowFile(path) {
			return errWorkflowFile
		}
	}
	return nil
}

// checkRemotely rejects a call that changes the default branch, which only pull
// requests merged by people may change, and a commit that changes workflows. It asks
// GitHub which branch is the default one and which files the commit changes.
func (r *repository) checkRemotely(ctx context.Context, c *call) error {
	if c.branch == "" {
		return nil
	}
	repo, err := r.client.Repository(ctx)
	if err != nil {
		return uncheckable(err)
	}
	if repo.GetDefaultBranch() == "" || strings.EqualFold(c.branch, repo.GetDefaultBranch()) {
		return fmt.Errorf("%q is the default branch: change another one and open a pull request", c.branch)
	}
	if c.commit == "" {
		return nil
	}
	const most = 300 // GitHub lists no more files in a comparison
	files, err := r.client.Compare(ctx, repo.GetDefaultBranch(), c.commit)
	switch {
	case err != nil:
		return uncheckable(err)
	case files == nil:
		return uncheckable(fmt.Errorf("%w: the comparison tells of no files", tracker.ErrResponse))
	case len(files) >= most:
		return fmt.Errorf("the commit changes %d files or more, too many to see that no workflow is among them: push it with git", most)
	}
	for _, f := range files {
		if slices.ContainsFunc([]string{f.GetFilename(), f.GetPreviousFilename()}, isWorkflowFile) {
			return errWorkflowFile
		}
	}
	return nil
}

// uncheckable returns the error for a call that GitHub's answer does not let us check.
func uncheckable(err error) error {
	if e, ok := errors.AsType[*transport.Error](err); ok && e.Kind == transport.Refused {
		return errors.New("it cannot be checked, so it is refused: " + resultText(e.Answer))
	}
	return failed("check the call", err)
}
