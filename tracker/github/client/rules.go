package client

import "context"

// BranchRule is a rule that GitHub applies to a branch, less those that are only evaluated.
type BranchRule struct {
	Type       string `json:"type"`
	Ruleset    int64  `json:"ruleset_id"`
	Source     string `json:"ruleset_source"` // the repository or the organization that has the ruleset
	Parameters struct {
		Operator string `json:"operator"` // kind of pattern: starts_with, ends_with, contains or regex
		Pattern  string `json:"pattern"`
		Negate   bool   `json:"negate"`

		Checks   []any `json:"required_status_checks"`
		TakesNew bool  `json:"do_not_enforce_on_create"` // the checks need not have passed for a new branch
	} `json:"parameters"`
}

// Rules makes requests about the rules of the repository.
type Rules struct{ c *Client }

// ForBranch reads the rules for a branch, which need not exist, at most 100.
func (r Rules) ForBranch(ctx context.Context, branch string) ([]BranchRule, error) {
	return get[[]BranchRule](ctx, r.c, ReadMetadata, "/rules/branches/%s?per_page=100", escape(branch))
}

// CanBypass reports whether the rules of a ruleset do not hold for the token.
func (r Rules) CanBypass(ctx context.Context, ruleset int64) (bool, error) {
	set, err := get[struct {
		CanBypass string `json:"current_user_can_bypass"`
	}](ctx, r.c, ReadMetadata, "/rulesets/%d", ruleset)
	return set.CanBypass == "always" || set.CanBypass == "exempt", err
}
