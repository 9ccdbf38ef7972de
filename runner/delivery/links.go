package delivery

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Link is a symbolic link of the tree that the work is based on.
type Link struct{ Path, Target string }

// A link gives other files its own name: with .claude -> tools/claude on the base branch,
// tools/claude/settings.json is .claude/settings.json too. So a path is protected as each of
// its names is.

// lead is a link with folded names.
type lead struct{ from, to string }

// leads returns the links of a work that stay in the tree.
func (w Work) leads() (leads []lead) {
	add := func(from, target string) {
		if to := path.Join(path.Dir(from), target); !path.IsAbs(target) && to != ".." && !strings.HasPrefix(to, "../") {
			leads = append(leads, lead{fold(path.Clean(from)), fold(to)})
		}
	}
	for _, link := range w.Links {
		add(link.Path, link.Target)
	}
	for _, c := range w.Changes { // a new link can be a part of a chain
		if c.Target != "" {
			add(c.Path, c.Target)
		}
	}
	return leads
}

// Bounds of the names that links give one path: links that lead to a folder around
// themselves give it any number of them.
const (
	maxChain = 5
	maxNames = 2000
)

// otherNames returns the folded names that links give a path. It returns false if there are
// too many of them to look at.
func otherNames(of string, leads []lead) (names []string, all bool) {
	known := map[string]bool{fold(of): true}
	latest := []string{fold(of)}
	for range maxChain {
		var next []string
		for _, name := range latest {
			for _, l := range leads {
				alias, leadsTo := l.nameOf(name)
				if !leadsTo || known[alias] {
					continue
				}
				known[alias] = true
				next = append(next, alias)
			}
			if len(known) > maxNames {
				return names, false
			}
		}
		names, latest = append(names, next...), next
	}
	return names, true
}

// nameOf returns the name that the link gives a file, which can also be a folder above the
// place where the link leads.
func (l lead) nameOf(name string) (alias string, leadsTo bool) {
	if l.to == "" { // the top, as fold writes it
		return l.from + "/" + name, true
	}
	if rest, below := strings.CutPrefix(name, l.to); below && (rest == "" || rest[0] == '/') {
		return l.from + rest, true
	}
	return l.from, isAtOrAbove(name, l.to)
}

// protectionByAnyName returns the strongest protection of a path and of the names that links
// give it, and the rule behind it. A rule of WORKFLOW.md for the path itself comes first.
func (s Settings) protectionByAnyName(path string, leads []lead) (Protection, string) {
	strongest, by := s.protection(path)
	if len(leads) == 0 || slices.ContainsFunc(s.Protected, func(rule Rule) bool { return matches(rule.Pattern, fold(path)) }) {
		return strongest, by
	}
	names, all := otherNames(path, leads)
	for _, name := range names {
		if p, pattern := s.protection(name); p.compare(strongest) > 0 {
			strongest, by = p, pattern+", because a link makes it "+quotePath(name)+" too"
		}
	}
	if !all && strongest != Refuse {
		return Refuse, "more symbolic links lead to it than can be looked at"
	}
	return strongest, by
}

// compare returns a positive number if p is the stronger protection.
func (p Protection) compare(other Protection) int {
	order := []Protection{Allow, Review, Draft, Refuse}
	return cmp.Compare(slices.Index(order, p), slices.Index(order, other))
}
