package store

import (
	"fmt"
	"regexp"
	"strings"
)

// maxBranch is the length of a branch's name, in bytes; GitHub allows no more.
const maxBranch = 244

var objectName = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// checkBranch says why a branch cannot have this name: git's rules
// (git-check-ref-format), and GitHub's, which wants no name that looks like
// something else.
func checkBranch(name string) error {
	problem := ""
	switch {
	case name == "" || len(name) > maxBranch:
		problem = fmt.Sprintf("it has %d bytes; 1 to %d are allowed", len(name), maxBranch)
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }):
		problem = `it has a space, a control character or one of ~^:?*[\`
	case line(name, maxBranch) != name:
		problem = "it is not plain text"
	case strings.Contains(name, "..") || strings.Contains(name, "@{"):
		problem = `it has ".." or "@{"`
	case name == "@" || name == "HEAD" || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "refs/"):
		problem = "it reads as something other than a branch"
	case objectName.MatchString(name):
		problem = "it reads as the name of a commit"
	case strings.HasSuffix(name, "."):
		problem = "it ends in a dot"
	}
	for part := range strings.SplitSeq(name, "/") {
		if problem == "" && (part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock")) {
			problem = "a part of it is empty, begins with a dot or ends in .lock"
		}
	}
	if problem != "" {
		return fmt.Errorf("%w: no branch can be named %.100q: %s: give another name, such as symphony-state", ErrRefused, name, problem)
	}
	return nil
}
