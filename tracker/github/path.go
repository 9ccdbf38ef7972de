package github

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// target is a path of github_api that has been taken apart.
type target struct {
	repo string   // owner/name
	rest []string // what follows it
}

// parseTarget takes a path apart without giving it any meaning that a server
// might not share: nothing is decoded, cleaned or resolved, whatever could be
// is refused.
func parseTarget(path, repo string) (target, error) {
	const form = "write /repos/{owner}/{repo}/…"
	switch {
	case len(path) > 1024:
		return target{}, errors.New("path is longer than 1024 bytes")
	case !utf8.ValidString(path) || strings.ContainsFunc(path, unprintable):
		return target{}, errors.New("path has control characters")
	case strings.ContainsAny(path, `\%?#`):
		return target{}, errors.New(`path has one of \ % ? #: write it as it reads, unencoded, and the query in params`)
	case !strings.HasPrefix(path, "/"):
		return target{}, errors.New("path is no path: " + form)
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
	if !repoName.MatchString(t.repo) {
		return target{}, fmt.Errorf("path names the repository %q: %s", t.repo, form)
	}
	return t, nil
}

// unprintable reports whether a character may look different from what is sent.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// first returns the kind of thing that the path is about.
func (t target) first() string {
	if len(t.rest) == 0 {
		return ""
	}
	return t.rest[0]
}

// escaped returns the path as it is sent, relative to the root of the API.
func (t target) escaped() string {
	parts := []string{"repos/" + t.repo}
	for _, s := range t.rest {
		parts = append(parts, url.PathEscape(s))
	}
	return strings.Join(parts, "/")
}

// matches reports whether the part below the repository has the form of a
// pattern: # is a number, * one part, ** one part or more at the end.
func (t target) matches(pattern string) bool {
	want := strings.Split(pattern, "/")
	if pattern == "" {
		want = nil
	}
	if n := len(want); n > 0 && want[n-1] == "**" {
		if len(t.rest) < n {
			return false
		}
		return slices.EqualFunc(want[:n-1], t.rest[:n-1], matchesPart)
	}
	return slices.EqualFunc(want, t.rest, matchesPart)
}

func matchesPart(want, got string) bool {
	switch want {
	case "*":
		return true
	case "#":
		return got != "" && strings.Trim(got, "0123456789") == ""
	}
	return got == want
}
