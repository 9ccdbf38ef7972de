package github

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// branchOf returns the branch of the issue with an identifier. What is proposed from it
// is the issue's own pull request.
func (c Config) branchOf(identifier string) string {
	return cmp.Or(c.BranchPrefix, "symphony/") + identifier
}

// allowance returns the sentence about what a session may write in the scope issue.
func (c *call) allowance(cfg Config) string {
	text := fmt.Sprintf("comments, state and hand-over labels of issue %s; comments, replies, reviews and the same labels on the pull request of the branch %s", c.issue.ID, cfg.branchOf(c.issue.Identifier))
	if !cfg.Delivered {
		text += ", which it may open and edit; the files of that branch"
	}
	return text
}

// notOwn returns the error for a call that the scope issue does not allow.
func notOwn(cfg Config, c *call, err error) error {
	return fmt.Errorf("%w. What this session may write: %s", err, c.allowance(cfg))
}

// number returns the number of the issue or pull request in the path.
func (c *call) number() string { return c.target.segments[1] }

// ownIssue accepts the issue of the session.
func ownIssue(_ Config, c *call) error {
	if c.number() != string(c.issue.ID) {
		return fmt.Errorf("#%s is not the issue of this session", c.number())
	}
	return nil
}

// ownThread accepts the issue of the session and its pull request.
func ownThread(cfg Config, c *call) error {
	if ownIssue(cfg, c) == nil {
		return nil
	}
	return ownPull(cfg, c)
}

// ownPull lets checkOwn ask whether the number is that of the own pull request.
func ownPull(_ Config, c *call) error {
	c.pull = c.number()
	return nil
}

// ownReply lets checkOwn ask whether the comment that is replied to belongs to the pull
// request of the path.
func ownReply(_ Config, c *call) error {
	c.repliesTo = c.target.segments[3]
	return nil
}

// ownBranch accepts a change of the own branch.
func ownBranch(cfg Config, c *call) error {
	if c.branch != cfg.branchOf(c.issue.Identifier) {
		return fmt.Errorf("%q is not the branch of this session", c.branch)
	}
	return nil
}

// ownHead accepts a pull request from the own branch.
func ownHead(cfg Config, c *call) error {
	owner, _, _ := strings.Cut(cfg.Repo, "/")
	branch := cfg.branchOf(c.issue.Identifier)
	if head, _ := c.Body["head"].(string); head != branch && head != owner+":"+branch {
		return fmt.Errorf("body.head must be %q", branch)
	}
	return nil
}

// unlessDelivered rejects a call that does what the host does itself.
func unlessDelivered(cfg Config, _ *call) error {
	if cfg.Delivered {
		return errors.New("the branch and the pull request are published for you from your workspace")
	}
	return nil
}

// onlyKeys returns a check that rejects every other key of the body: it may lead
// elsewhere, as issue does for a new pull request.
func onlyKeys(keys ...string) callCheck {
	return func(_ Config, c *call) error {
		for _, key := range slices.Sorted(maps.Keys(c.Body)) {
			if !slices.Contains(keys, key) {
				return fmt.Errorf("body.%s is not allowed", clip(key))
			}
		}
		return nil
	}
}

// handsOver reports whether a label says how far the work is: one with the prefix of
// states, or one of tracker.provider.tool_labels.
func (c Config) handsOver(label string) bool {
	label = tracker.NormalLabel(label)
	prefix := strings.ToLower(c.StateLabelPrefix)
	state, found := strings.CutPrefix(label, prefix)
	return slices.Contains(c.ToolLabels, label) || c.Project == nil && prefix != "" && found && strings.TrimSpace(state) != ""
}

// rejectAdding rejects a label that is not for the agent to put on. The label of trust
// never is.
func (c Config) rejectAdding(label string) error {
	if c.handsOver(label) && tracker.NormalLabel(label) != c.TrustLabel {
		return nil
	}
	return fmt.Errorf("the label %q is not the agent's to put on: it may put on %s", clip(label), c.labelWords())
}

// rejectRemoving rejects a label that is not for the agent to take off. It may take off
// a required one, which hands the issue over.
func (c Config) rejectRemoving(label string) error {
	if c.handsOver(label) || slices.Contains(c.RequiredLabels, tracker.NormalLabel(label)) {
		return nil
	}
	also := ""
	if len(c.RequiredLabels) > 0 {
		also = fmt.Sprintf("%q and ", c.RequiredLabels)
	}
	return fmt.Errorf("the label %q is not the agent's to take off: it may take off %s%s", clip(label), also, c.labelWords())
}

// labelWords names the labels for which handsOver is true.
func (c Config) labelWords() string {
	words := "those of tracker.provider.tool_labels"
	if len(c.ToolLabels) > 0 {
		words = fmt.Sprintf("%q", c.ToolLabels)
	}
	if c.Project == nil && c.StateLabelPrefix != "" {
		words += fmt.Sprintf(" and those that begin with %q", c.StateLabelPrefix)
	}
	return words
}

// labelsToAdd accepts labels that the agent may put on.
func labelsToAdd(cfg Config, c *call) error {
	labels, err := c.labels()
	for i := 0; i < len(labels) && err == nil; i++ {
		err = cfg.rejectAdding(labels[i])
	}
	return err
}

// labelsToHave lets checkOwn ask which labels the call adds and removes.
func labelsToHave(_ Config, c *call) (err error) {
	c.replacesLabels = true
	_, err = c.labels()
	return err
}

// labelToRemove accepts a label that the agent may take off.
func labelToRemove(cfg Config, c *call) error { return cfg.rejectRemoving(c.target.segments[3]) }

// labels returns the labels in the body.
func (c *call) labels() ([]string, error) {
	list, ok := c.Body["labels"].([]any)
	labels := make([]string, 0, len(list))
	for _, v := range list {
		label, isText := v.(string)
		ok = ok && isText
		labels = append(labels, label)
	}
	if !ok {
		return nil, errors.New("body.labels must be a list of names")
	}
	return labels, nil
}
