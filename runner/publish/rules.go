package publish

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// ErrRules: the rules of the repository refuse every push.
var ErrRules = errors.New("rules_refuse_delivery")

// CheckRules asks GitHub for the rules of an issue's branch, and returns [ErrRules] if any of
// them refuses every push to it, with any work. exists reports whether the remote has the
// branch. A rule that GitHub does not show refuses nothing: then the push does. The warnings
// are about rules that take the first push to a branch and no later one.
func (p *Publisher) CheckRules(ctx context.Context, branch git.Branch, exists bool) (warnings []string, err error) {
	if p.GitHub == nil {
		return nil, nil
	}
	rules, err := p.GitHub.Rules.ForBranch(ctx, branch.String())
	if err != nil {
		return nil, nil
	}
	for _, rule := range rules {
		why, first := p.refusedBy(rule, branch, exists), ""
		if why == "" {
			first = takesFirst(rule, branch)
		}
		if why == "" && first == "" {
			continue
		}
		if free, err := p.GitHub.Rules.CanBypass(ctx, rule.Ruleset); err != nil || free {
			continue
		}
		text := fmt.Sprintf("the ruleset %d of %s %s; or let the account of the token bypass the ruleset", rule.Ruleset, rule.Source, why+first)
		if why != "" {
			return warnings, fmt.Errorf("%w: %s", ErrRules, text)
		}
		warnings = append(warnings, text)
	}
	return warnings, nil
}

// takesFirst returns the demand of a rule that only the push which makes the branch meets,
// with advice; empty if others can.
func takesFirst(rule client.BranchRule, branch git.Branch) string {
	what := ""
	switch {
	case rule.Type == "update":
		what = "lets nobody push to a branch that exists"
	case rule.Type == "pull_request":
		what = "takes changes of a branch that exists by pull requests alone"
	case rule.Type == "required_status_checks" && len(rule.Parameters.Checks) > 0:
		what = "takes new commits of a branch that exists only after their checks have passed"
	default:
		return ""
	}
	return fmt.Sprintf("%s, so nobody's review can be answered: let it leave out branches such as %s", what, branch)
}

// refusedBy returns the demand of a rule that no push to the branch meets, with advice; empty
// if a push can obey the rule.
func (p *Publisher) refusedBy(rule client.BranchRule, branch git.Branch, exists bool) string {
	switch {
	case rule.Type == "required_signatures" && !p.Verified:
		return "takes signed commits alone: set delivery.commits to verified, and delivery.history to squash"
	case rule.Type == "required_status_checks" && len(rule.Parameters.Checks) > 0 && !rule.Parameters.TakesNew:
		return fmt.Sprintf("takes a commit only after its checks have passed on another branch: let it leave out branches such as %s", branch)
	case rule.Type == "creation" && !exists:
		return fmt.Sprintf("lets nobody make the branch %s: change repository.branch_prefix", branch)
	case rule.Type == "branch_name_pattern" && !exists && !obeys(rule, branch.String()):
		return fmt.Sprintf("does not take the name of the branch %s (%s): change repository.branch_prefix", branch, wanted(rule))
	case rule.Type == "commit_author_email_pattern" && !p.KeepHistory && !p.Verified && !obeys(rule, p.Author.Email),
		rule.Type == "committer_email_pattern" && !p.KeepHistory && !p.Verified && !obeys(rule, p.Author.Email):
		return fmt.Sprintf("does not take commits by %s (%s): set delivery.commits to verified", p.Author.Email, wanted(rule))
	}
	return ""
}

// obeys reports whether a text obeys the pattern of a rule. Every text obeys a pattern that is
// not understood.
func obeys(rule client.BranchRule, text string) bool {
	r := rule.Parameters
	var matches bool
	switch r.Operator {
	case "starts_with":
		matches = strings.HasPrefix(text, r.Pattern)
	case "ends_with":
		matches = strings.HasSuffix(text, r.Pattern)
	case "contains":
		matches = strings.Contains(text, r.Pattern)
	case "regex":
		re, err := regexp.Compile(r.Pattern)
		if err != nil {
			return true
		}
		matches = re.MatchString(text)
	default:
		return true
	}
	return matches != r.Negate
}

// wanted returns the pattern of a rule in words.
func wanted(rule client.BranchRule) string {
	not := ""
	if rule.Parameters.Negate {
		not = "not "
	}
	return fmt.Sprintf("%s%s %.100q", not, strings.ReplaceAll(rule.Parameters.Operator, "_", " "), rule.Parameters.Pattern)
}
