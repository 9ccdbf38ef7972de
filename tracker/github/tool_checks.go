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

// guard refuses a call by what it says, before anything is sent. It may leave
// questions in the call that GitHub must answer first; see permitted.
type guard func(cfg Config, c *call) error

// stateBranchKeys are the parameters that name a branch or a commit.
var stateBranchKeys = []string{"base", "branch", "head", "ref", "sha", "base_tree", "target_commitish"}

// noStateBranch refuses to read or write the branch that holds the program's own
// state. A name that only contains its name is refused as well: revisions have
// too many spellings to be told apart here.
func noStateBranch(cfg Config, c *call) error {
	names := func(s string) bool {
		return strings.Contains(strings.ToLower(s), strings.ToLower(cfg.StateBranch))
	}
	refused := fmt.Errorf("the branch %q belongs to Symphony: use another", cfg.StateBranch)
	if cfg.StateBranch == "" {
		return nil
	}
	if first := c.target.first(); first == "git" || first == "branches" || first == "commits" || first == "compare" {
		if slices.ContainsFunc(c.target.rest, names) {
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

// noTrustLabel keeps the agent from vouching for text by strangers.
func noTrustLabel(cfg Config, c *call) error {
	if cfg.TrustLabel != "" && slices.ContainsFunc(strs(c.Body), func(s string) bool { return tracker.NormalLabel(s) == cfg.TrustLabel }) {
		return fmt.Errorf("the label %q is for people to put on", cfg.TrustLabel)
	}
	return nil
}

// strs returns the texts in a value that are labels or could be taken for them.
func strs(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, strs(e)...)
		}
		return all
	case map[string]any:
		return slices.Concat(strs(v["labels"]), strs(v["name"]))
	}
	return nil
}

// noApproval leaves approving to people: rules of the repository count on it.
func noApproval(_ Config, c *call) error {
	switch c.Body["event"] {
	case nil, "COMMENT", "REQUEST_CHANGES":
		return nil
	}
	return errors.New("event must be COMMENT or REQUEST_CHANGES: approving is for people")
}

// branchName is a name that has one meaning: no revision, no ref elsewhere.
var branchName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// branch takes the name of a branch that is to be changed. The default branch is
// refused once it is known.
func (c *call) branch(name string) error {
	first, _, _ := strings.Cut(name, "/")
	if !branchName.MatchString(name) || strings.Contains(name, "..") || strings.EqualFold(name, "head") || first == "refs" || first == "heads" {
		return fmt.Errorf("%q is not the plain name of a branch: letters, digits and . _ - / alone", name)
	}
	c.changes = name
	return nil
}

// ownBranch checks a change of files: it has to name a branch, since without one
// GitHub changes the default branch.
func ownBranch(_ Config, c *call) error {
	name, ok := c.Body["branch"].(string)
	if !ok {
		return errors.New("body.branch is missing: name the branch to change, which must not be the default one")
	}
	return c.branch(name)
}

// newBranch allows branches alone: a tag may start a release.
func newBranch(_ Config, c *call) error {
	ref, _ := c.Body["ref"].(string)
	name, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return errors.New("body.ref must be refs/heads/<branch>")
	}
	return c.branch(name)
}

// movedBranch refuses to rewrite history.
func movedBranch(_ Config, c *call) error {
	if force, ok := c.Body["force"]; ok && force != false {
		return errors.New("body.force must be false: history is not rewritten")
	}
	return c.branch(strings.Join(c.target.rest[3:], "/"))
}

var objectID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// harmlessCommit checks a commit that becomes a branch: GitHub must say first that
// it changes no workflow.
func harmlessCommit(_ Config, c *call) error {
	sha, _ := c.Body["sha"].(string)
	if !objectID.MatchString(sha) {
		return errors.New("body.sha must be the full name of a commit")
	}
	c.commit = sha
	return nil
}

var errWorkflow = errors.New("files in .github/workflows run with the repository's secrets: people change them")

// workflowFile reports whether a path of the repository is a workflow or the
// folder of workflows.
func workflowFile(path string) bool {
	path = strings.ToLower(path)
	return path == ".github" || path == ".github/workflows" || strings.HasPrefix(path, ".github/workflows/")
}

func noWorkflowFile(_ Config, c *call) error {
	if workflowFile(strings.Join(c.target.rest[1:], "/")) {
		return errWorkflow
	}
	return nil
}

func noWorkflowTree(_ Config, c *call) error {
	entries, _ := c.Body["tree"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if path, ok := entry["path"].(string); !ok || workflowFile(path) {
			return errWorkflow
		}
	}
	return nil
}

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
