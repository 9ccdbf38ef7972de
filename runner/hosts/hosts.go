// Package hosts expands a list of WORKFLOW.md for the network of a sandbox: it
// turns names of sets, such as node, and names of hosts into exact names of hosts, and refuses
// words that would open more than they seem to.
//
// The list is an allowlist of names, which package proxy compares with the name that a client
// asks for. So there is no pattern in it, which would also be the names of strangers
// below it, and no address, which has too many spellings. [Advice] names the set that a program
// lacked. Names that stand for this machine
// would open every port of it; [Lookup.Check] finds those that an expansion cannot see.
package hosts

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// sets are the public registries of each ecosystem, from which its package managers fetch. A
// set has no host on which everybody may have pages, except where a registry itself sends its
// clients there.
var sets = map[string][]string{
	"node":   {"registry.npmjs.org", "registry.yarnpkg.com", "repo.yarnpkg.com", "npm.jsr.io", "nodejs.org"},
	"python": {"pypi.org", "files.pythonhosted.org"},
	"go":     {"proxy.golang.org", "sum.golang.org", "storage.googleapis.com"}, // the proxy redirects large modules to the last
	"java":   {"repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "plugins-artifacts.gradle.org", "services.gradle.org", "downloads.gradle.org"},
	"ruby":   {"rubygems.org", "index.rubygems.org"},
	"rust":   {"index.crates.io", "static.crates.io", "crates.io", "static.rust-lang.org"},
	"php":    {"repo.packagist.org", "packagist.org", "api.github.com", "codeload.github.com"}, // most packages are archives of GitHub
	"dotnet": {"api.nuget.org", "globalcdn.nuget.org"},
	"elixir": {"hex.pm", "repo.hex.pm", "builds.hex.pm"},
	"perl":   {"cpan.metacpan.org", "fastapi.metacpan.org", "www.cpan.org"},
	"debian": {"deb.debian.org", "security.debian.org"},
	"ubuntu": {"archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"},
	"github": {"github.com", "api.github.com", "codeload.github.com", "raw.githubusercontent.com", "objects.githubusercontent.com", "release-assets.githubusercontent.com"},
}

// Sets returns the names of the sets, sorted.
func Sets() []string { return slices.Sorted(maps.Keys(sets)) }

// Of returns the hosts of a set, sorted; none if there is no such set.
func Of(set string) []string { return slices.Sorted(slices.Values(sets[set])) }

// The limits of a list. Codex compares each request with all of its names.
const (
	maxHosts = 100
	maxName  = 253 // bound of the domain name system
	maxLabel = 63
)

// Expand returns the hosts that the words name, sorted and each once. A word is the name of a
// set or of a host. The error has one error with a remedy for each word that is refused.
func Expand(words []string) ([]string, error) {
	found := map[string]bool{}
	var refused []error
	for _, word := range words {
		for _, host := range hostsOf(word) {
			found[host] = true
		}
		if why := Reason(word); why != "" {
			refused = append(refused, fmt.Errorf("%q %s", word, why))
		}
	}
	if len(found) > maxHosts {
		refused = append(refused, fmt.Errorf("the list names %d hosts: name at most %d", len(found), maxHosts))
	}
	if len(refused) > 0 {
		return nil, errors.Join(refused...)
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// hostsOf returns the hosts of a word, which may not be valid.
func hostsOf(word string) []string {
	if set := sets[word]; set != nil {
		return set
	}
	return []string{strings.ToLower(word)}
}

// Reason returns the reason why a word is refused, with a remedy; "" for none.
func Reason(word string) string {
	host := strings.ToLower(word)
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	switch {
	case sets[word] != nil:
		return ""
	case word == "":
		return "is empty: name a host, or remove it"
	case strings.Contains(host, "://"), strings.ContainsAny(host, "/?#@"):
		return "is an address of a page: write the name of its host alone, such as registry.npmjs.org"
	case strings.ContainsAny(host, "*"):
		return "is a pattern, which also names hosts of strangers: write each host"
	case strings.ContainsAny(host, ":[]%"):
		return "has a port or is an address: write the name of a host without a port"
	case last == "localhost", strings.HasPrefix(host, "localhost."):
		return "is this machine, of which it would open every port: a command has a loopback of its own; remove it"
	case isNumber(last):
		return "is an address, which has many spellings: write the name of a host"
	case len(host) > maxName:
		return fmt.Sprintf("is longer than %d characters: write the name of a host", maxName)
	case !slices.ContainsFunc(labels, isNotLabel) && len(labels) == 1:
		return fmt.Sprintf("is neither a host, whose name has a dot, nor one of the sets %s", strings.Join(Sets(), ", "))
	case slices.ContainsFunc(labels, isNotLabel):
		return "is not the name of a host: write letters, digits, hyphens and dots, such as registry.npmjs.org"
	}
	return ""
}

// isNotLabel reports whether a text cannot stand between the dots of a name.
func isNotLabel(text string) bool {
	if text == "" || len(text) > maxLabel || text[0] == '-' || text[len(text)-1] == '-' {
		return true
	}
	return strings.ContainsFunc(text, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
}

// isNumber reports whether the last part of a name is a number, decimal or hexadecimal: such a
// name is an address to clients, also a short one such as 127.1.
func isNumber(last string) bool {
	digits, isHex := strings.CutPrefix(last, "0x")
	if isHex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
