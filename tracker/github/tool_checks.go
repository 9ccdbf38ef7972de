package github

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// callCheck refuses a call by what it says, before anything is sent. It may leave
// questions in the call that GitHub must answer first; see permitted.
type callCheck func(cfg Config, c *call) error

// stateBranchKeys are the parameters that name a branch or a commit.
var stateBranchKeys = []string{"base", "branch", "head", "ref", "sha", "base_tree", "target_commitish"}

// rejectStateBranch refuses to read or write the branch that holds the program's own
// state. A name that only contains its name is refused as well: revisions have
// too many spellings to be told apart here.
func rejectStateBranch(cfg Config, c *call) error {
	names := func(s string) bool {
		return strings.Contains(strings.ToLower(s), strings.ToLower(cfg.StateBranch))
	}
	refused := fmt.Errorf("the branch %q belongs to Symphony: use another", cfg.StateBranch)
	if cfg.StateBranch == "" {
		return nil
	}
	if first := c.target.resource(); first == "git" || first == "branches" || first == "commits" || first == "compare" {
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

// rejectTrustLabel keeps the agent from vouching for text by strangers.
func rejectTrustLabel(cfg Config, c *call) error {
	if cfg.TrustLabel != "" && slices.ContainsFunc(labelTexts(c.Body), func(s string) bool { return tracker.NormalLabel(s) == cfg.TrustLabel }) {
		return fmt.Errorf("the label %q is for people to put on", cfg.TrustLabel)
	}
	return nil
}

// labelTexts returns the texts in a value that are labels or could be taken for them.
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
		return slices.Concat(labelTexts(v["labels"]), labelTexts(v["name"]))
	}
	return nil
}

// rejectApproval leaves approving to people: rules of the repository count on it.
func rejectApproval(_ Config, c *call) error {
	switch c.Body["event"] {
	case nil, "COMMENT", "REQUEST_CHANGES":
		return nil
	}
	return errors.New("event must be COMMENT or REQUEST_CHANGES: approving is for people")
}

// plainBranchName is a name that has one meaning: no revision, no ref elsewhere.
var plainBranchName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// setBranch takes the name of a setBranch that is to be changed. The default setBranch is
// refused once it is known.
func (c *call) setBranch(name string) error {
	first, _, _ := strings.Cut(name, "/")
	if !plainBranchName.MatchString(name) || strings.Contains(name, "..") || strings.EqualFold(name, "head") || first == "refs" || first == "heads" {
		return fmt.Errorf("%q is not the plain name of a branch: letters, digits and . _ - / alone", name)
	}
	c.branch = name
	return nil
}

// requireBranch checks a change of files: it has to name a branch, since without one
// GitHub changes the default branch.
func requireBranch(_ Config, c *call) error {
	name, ok := c.Body["branch"].(string)
	if !ok {
		return errors.New("body.branch is missing: name the branch to change, which must not be the default one")
	}
	return c.setBranch(name)
}

// requireNewBranch allows branches alone: a tag may start a release.
func requireNewBranch(_ Config, c *call) error {
	ref, _ := c.Body["ref"].(string)
	name, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return errors.New("body.ref must be refs/heads/<branch>")
	}
	return c.setBranch(name)
}

// rejectForcePush refuses to rewrite history.
func rejectForcePush(_ Config, c *call) error {
	if force, ok := c.Body["force"]; ok && force != false {
		return errors.New("body.force must be false: history is not rewritten")
	}
	return c.setBranch(strings.Join(c.target.segments[3:], "/"))
}

var commitID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// requireCommit checks a commit that becomes a branch: GitHub must say first that
// it changes no workflow.
func requireCommit(_ Config, c *call) error {
	sha, _ := c.Body["sha"].(string)
	if !commitID.MatchString(sha) {
		return errors.New("body.sha must be the full name of a commit")
	}
	c.commit = sha
	return nil
}

var errWorkflowFile = errors.New("files in .github/workflows run with the repository's secrets: people change them")

// isWorkflowFile reports whether a path of the repository is a workflow or the
// folder of workflows.
func isWorkflowFile(path string) bool {
	path = strings.ToLower(path)
	return path == ".github" || path == ".github/workflows" || strings.HasPrefix(path, ".github/workflows/")
}

func rejectWorkflowFile(_ Config, c *call) error {
	if isWorkflowFile(strings.Join(c.target.segments[1:], "/")) {
		return errWorkflowFile
	}
	return nil
}

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

// checkRemotely asks GitHub what the guards could not know: which branch is the
// default one, which is changed by pull requests that people merge, and whether
// a commit that is to be a branch changes workflows.
func (r *repository) checkRemotely(ctx context.Context, c *call) error {
	if c.branch == "" {
		return nil
	}
	owner, name, _ := strings.Cut(c.target.repo, "/")
	repo, _, err := r.rest.getRepository(ctx, owner, name)
	if err != nil {
		return r.uncheckable(ctx, err)
	}
	if repo.GetDefaultBranch() == "" || strings.EqualFold(c.branch, repo.GetDefaultBranch()) {
		return fmt.Errorf("%q is the default branch: change another one and open a pull request", c.branch)
	}
	if c.commit == "" {
		return nil
	}
	const most = 300 // files that a comparison lists
	diff, _, err := r.rest.compareCommits(ctx, owner, name, repo.GetDefaultBranch(), c.commit, nil)
	switch {
	case err != nil:
		return r.uncheckable(ctx, err)
	case diff.Files == nil: // go-github takes an empty answer for one without files
		return r.uncheckable(ctx, errors.New("the comparison tells of no files"))
	case len(diff.Files) >= most:
		return fmt.Errorf("the commit changes %d files or more, too many to see that no workflow is among them: push it with git", most)
	}
	for _, f := range diff.Files {
		if slices.ContainsFunc([]string{f.GetFilename(), f.GetPreviousFilename()}, isWorkflowFile) {
			return errWorkflowFile
		}
	}
	return nil
}

// uncheckable returns the refusal of a call about which GitHub cannot be asked.
func (r *repository) uncheckable(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*statusError](err); ok {
		return errors.New("it cannot be checked, so it is refused: " + resultText(e.answer))
	}
	return r.failed(ctx, "check the call", needIssues, err)
}
