package github

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/tracker/github/client"
)

type target struct {
	repo     string   // owner/name
	segments []string // segments below the repository
}

// parseTarget splits a path. It decodes, cleans and resolves nothing, and refuses
// every path that a server could decode, clean or resolve to another one.
func parseTarget(path, repo string) (target, error) {
	const form = "write /repos/{owner}/{repo}/…"
	switch {
	case len(path) > 1024:
		return target{}, errors.New("path is longer than 1024 bytes")
	case !utf8.ValidString(path) || strings.ContainsFunc(path, unprintable):
		return target{}, errors.New("path has control characters")
	case strings.ContainsAny(path, `\%?#`):
		return target{}, errors.New(`path has one of \ % ? #: write it as it reads, unencoded, and the query in params`)
	case strings.ContainsAny(path, twins):
		return target{}, errors.New(`path has a character that looks like one of / . \ % ? #: only the plain ones are taken`)
	case !strings.HasPrefix(path, "/"):
		return target{}, errors.New("path is not a path: " + form)
	}
	segments := strings.Split(path[1:], "/")
	for _, s := range segments {
		if strings.Trim(s, ".") == "" || strings.TrimSpace(s) != s {
			return target{}, fmt.Errorf("path has the part %q: %s", s, form)
		}
	}
	if len(segments) < 3 || segments[0] != "repos" {
		return target{}, errors.New("path is not one of a repository: " + form)
	}
	owner, name, _ := strings.Cut(repo, "/")
	if segments[1] == "{owner}" {
		segments[1] = owner
	}
	if segments[2] == "{repo}" {
		segments[2] = name
	}
	t := target{segments[1] + "/" + segments[2], segments[3:]}
	switch {
	case !client.IsRepo(t.repo):
		return target{}, fmt.Errorf("path names the repository %q: %s", t.repo, form)
	case t.repo != repo:
		return target{}, fmt.Errorf("the repository is %s, not %s: %s", repo, t.repo, form)
	}
	return t, nil
}

// twins are the characters that a server may turn into / . \ % ? or #, because Unicode calls
// them compatible.
const twins = "\u2044\u2215\uff0f\u2100\u2101\u2105\u2106" + "\u2024\u2025\u2026\u22ee\ufe19\ufe30\ufe52\uff0e\uff61\u3002" +
	"\u29f5\ufe68\uff3c" + "\ufe6a\uff05" + "\u2047\u2048\u2049\ufe16\ufe56\uff1f" + "\ufe5f\uff03"

// unprintable reports whether a character is invisible or a control character.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// resource returns the first segment below the repository, e.g. "issues", or "".
func (t target) resource() string {
	if len(t.segments) == 0 {
		return ""
	}
	return t.segments[0]
}

func (t target) requestPath() string {
	parts := []string{"repos/" + t.repo}
	for _, s := range t.segments {
		parts = append(parts, url.PathEscape(s))
	}
	return strings.Join(parts, "/")
}

// matches reports whether the segments fit a pattern, in which # stands for a number,
// * for one segment and ** for one or more segments at the end.
func (t target) matches(pattern string) bool {
	want := strings.Split(pattern, "/")
	if pattern == "" {
		want = nil
	}
	if n := len(want); n > 0 && want[n-1] == "**" {
		if len(t.segments) < n {
			return false
		}
		return slices.EqualFunc(want[:n-1], t.segments[:n-1], matchesSegment)
	}
	return slices.EqualFunc(want, t.segments, matchesSegment)
}

// matchesSegment reports whether one segment fits its part of a pattern.
func matchesSegment(want, got string) bool {
	switch want {
	case "*":
		return true
	case "#":
		return isNumber(got)
	}
	return got == want
}

// isNumber reports whether a segment is a number as GitHub writes it, without a leading
// zero.
func isNumber(s string) bool {
	return s != "" && len(s) < 19 && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}
