package delivery

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Protection is the policy for a delivery that changes a protected path.
type Protection string

// The protections, from the weakest to the strongest. Any other word refuses.
const (
	Allow  Protection = "allow"  // the path is like any other
	Review Protection = "review" // the pull request names the path
	Draft  Protection = "draft"  // the pull request is a draft and names the path
	Refuse Protection = "refuse" // nothing is delivered
)

// Rule protects the paths that a pattern matches.
type Rule struct {
	// Pattern is a glob over the whole path, with "**" for any number of folders. A pattern
	// without a slash matches in every folder. Case does not count.
	Pattern    string
	Protection Protection
}

// Settings holds the rules of WORKFLOW.md for deliveries. The zero value allows nothing: use
// [Defaults].
type Settings struct {
	MaxFiles   int   // changed paths
	MaxBytes   int64 // bytes of all new content
	MaxCommits int   // commits by the agent
	MaxBinary  int64 // bytes of one binary file
	MaxLFS     int64 // bytes of all new objects of Git LFS
	// LFS says that objects of Git LFS are delivered with their pointers. Without it a new
	// pointer is text that the pull request names.
	LFS bool
	// Allowed holds the patterns of the paths that a delivery may change; empty allows
	// every path.
	Allowed []string
	// Protected holds the rules of WORKFLOW.md. The first that matches counts, and
	// the built-in ones come after them.
	Protected []Rule
	// Workflow holds the paths of the run's own settings file in the repository. Its name
	// need not be WORKFLOW.md. Changes to these paths are refused unless a rule of Protected
	// matches them.
	Workflow []string
	// Issues holds the paths of the tracker's own folder of issues in the repository: a merged
	// file there is an issue or a comment. They are refused as the paths of Workflow are.
	Issues []string
	// Tokens is the policy for a text that looks like a credential. A secret of the run itself
	// always refuses.
	Tokens Protection
}

// Defaults returns the settings of a WORKFLOW.md that says nothing.
func Defaults() Settings {
	return Settings{MaxFiles: 100, MaxBytes: 4 << 20, MaxCommits: 50, MaxBinary: 1 << 20, MaxLFS: 32 << 20, Tokens: Refuse}
}

// Protections returns the four words, the strongest first.
func Protections() []Protection { return []Protection{Refuse, Review, Draft, Allow} }

// Validate returns an error unless p is a known protection.
func (p Protection) Validate() error {
	if !slices.Contains(Protections(), p) {
		return fmt.Errorf("%.60q is not a policy; write refuse, review, draft or allow", string(p))
	}
	return nil
}

// ValidatePattern returns an error unless a pattern is a glob that can match a path.
func ValidatePattern(pattern string) error {
	switch {
	case strings.TrimSpace(pattern) == "":
		return errors.New("the pattern is empty; write for example docs/**")
	case strings.HasPrefix(pattern, "/"), strings.HasPrefix(pattern, "./"):
		return errors.New("the pattern begins with a slash or a dot; write it from the top of the repository, for example docs/**")
	case strings.HasSuffix(pattern, "/"):
		return errors.New("the pattern ends with a slash, and only files are compared with it; write for example docs/**")
	case !doublestar.ValidatePattern(pattern):
		return errors.New("the pattern is not a valid glob; write for example docs/**")
	}
	return nil
}

// Match reports whether any of the patterns matches a path, without regard to case.
func Match(patterns []string, path string) bool {
	folded := fold(path)
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, folded) })
}

// matches reports whether a pattern matches a folded path. A pattern that is not a glob
// matches nothing; ValidatePattern refuses it.
func matches(pattern, folded string) bool {
	if top, isTop := strings.CutPrefix(pattern, "/"); isTop { // only built-in rules begin so
		pattern = top
	} else if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	return doublestar.MatchUnvalidated(fold(pattern), folded)
}

// protection returns the protection of a path, and the pattern of the rule that it comes
// from.
func (s Settings) protection(path string) (Protection, string) {
	folded := fold(path)
	isMatch := func(rule Rule) bool { return matches(rule.Pattern, folded) }
	if i := slices.IndexFunc(s.Protected, isMatch); i >= 0 {
		if rule := s.Protected[i]; rule.Protection.Validate() == nil {
			return rule.Protection, rule.Pattern
		}
		return Refuse, s.Protected[i].Pattern
	}
	if i := slices.IndexFunc(s.Workflow, func(own string) bool { return isAtOrAbove(folded, fold(own)) }); i >= 0 {
		return Refuse, s.Workflow[i] + ", the settings of this program"
	}
	if i := slices.IndexFunc(s.Issues, func(own string) bool { return isAtOrAbove(folded, fold(own)) || isAtOrAbove(fold(own), folded) }); i >= 0 {
		return Refuse, s.Issues[i] + ", the folder of the issues"
	}
	rules := builtIn()
	if i := slices.IndexFunc(rules, isMatch); i >= 0 {
		return rules[i].Protection, rules[i].Pattern
	}
	return Allow, ""
}

// isAtOrAbove reports whether a folded path equals the other one, or is a folder around it. A
// change to such a folder, such as replacing it with a file, also changes its contents.
func isAtOrAbove(folded, other string) bool {
	return folded == other || strings.HasPrefix(other, folded+"/")
}

func (s Settings) allowed(path string) bool {
	return len(s.Allowed) == 0 || Match(s.Allowed, path)
}
