// Package lookup finds the issue that a person means by a name, such as "#7", "gh-7", an
// address or the number of a pull request, among issues that are known. It makes no request.
//
// [InState] and [InTick] return the known issues with their names, and [Match] the one
// that is meant. If there is none, [Unknown] returns an error with the most similar name.
// The similar issue is never used in its place, because the person may be about to stop
// or park an issue.
package lookup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// Issue is an issue with its names.
type Issue struct {
	ID         tracker.ID
	Identifier string
	Addresses  []string // addresses of the issue and of its pull request; empty ones match nothing
	Pull       int      // the number of its pull request; 0 for none
}

// InState returns the issues that a state knows, in the order of their identifiers: those
// with a claim, and those whose work was published.
func InState(state schedule.Issues) []Issue {
	known := make(map[tracker.ID]Issue, len(state.Claims)+len(state.Deliveries))
	for id, d := range state.Deliveries {
		known[id] = Issue{ID: id, Identifier: d.Identifier, Addresses: []string{d.URL}, Pull: d.Number}
	}
	for id, c := range state.Claims {
		n := known[id]
		n.ID, n.Identifier, n.Addresses = id, c.Identifier, append(n.Addresses, c.URL)
		known[id] = n
	}
	return slices.SortedStableFunc(maps.Values(known), func(a, b Issue) int { return strings.Compare(a.Identifier, b.Identifier) })
}

// InTick returns the issues that a tick knows: the issues of its state, and the candidates.
func InTick(tick report.Tick) []Issue {
	known := InState(schedule.Issues{Claims: tick.Claims, Deliveries: tick.Deliveries})
	for _, v := range tick.Verdicts {
		known = append(known, Issue{ID: v.Issue.ID, Identifier: v.Issue.Identifier, Addresses: []string{v.Issue.URL}})
	}
	return known
}

// Match returns the known issue that a person means by a name, without a request: by its id,
// its identifier or what [tracker.Config.Identifier] makes of the name, its address, or the
// address or number of its pull request. A name that is written exactly counts before one in
// another case. The configs belong to the trackers whose names are understood.
func Match(configs []tracker.Config, name string, known []Issue) (Issue, bool) {
	name = strings.TrimSpace(name)
	names := []string{name, strings.TrimPrefix(name, "#")}
	for _, cfg := range configs {
		if identifier := cfg.Identifier(name); identifier != "" {
			names = append(names, identifier)
		}
	}
	isOne := func(of string) bool { return of != "" && slices.Contains(names, of) }
	isOneInAnyCase := func(of string) bool {
		return of != "" && slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, of) })
	}
	for _, means := range []func(Issue) bool{
		func(n Issue) bool { return isOne(string(n.ID)) || isOne(n.Identifier) },
		func(n Issue) bool { return isOneInAnyCase(n.Identifier) },
		func(n Issue) bool {
			return slices.ContainsFunc(n.Addresses, func(address string) bool { return isBelow(address, name) })
		},
		func(n Issue) bool {
			return n.Pull != 0 && (isOne(fmt.Sprintf("#%d", n.Pull)) || isOne(fmt.Sprintf("GH-%d", n.Pull)))
		},
	} {
		if i := slices.IndexFunc(known, means); i >= 0 {
			return known[i], true
		}
	}
	return Issue{}, false
}

// isBelow reports whether name is an address or leads to a part of its page.
func isBelow(address, name string) bool {
	if address == "" || len(name) < len(address) || !strings.EqualFold(name[:len(address)], address) {
		return false
	}
	rest := name[len(address):]
	return rest == "" || strings.ContainsAny(rest[:1], "/?#")
}

// MaxSuggested bounds the issues that an error names.
const MaxSuggested = 20

// Unknown returns the error for a name that none of the known issues has, with the most similar
// name and the known ones. missing is the beginning of its text, such as "no claim of"; kind is
// the word for the known issues.
func Unknown(missing, name, kind string, known []Issue) error {
	name = text.OneLine(name, 100)
	var names []string
	for _, n := range known {
		if n.Identifier != "" {
			names = append(names, text.OneLine(n.Identifier, 100))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return fmt.Errorf("%s %q; there are no %s", missing, name, kind)
	}
	hint := ""
	if near := nearest(name, names); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return fmt.Errorf("%s %q%s; %s: %s", missing, name, hint, kind, text.Some(names, MaxSuggested))
}

// nearest returns the identifier that is most similar to a name, whatever its case. An
// identifier with other digits is another issue and no misspelling.
func nearest(name string, identifiers []string) string {
	digits := func(text string) string {
		return strings.Map(func(r rune) rune {
			if r < '0' || r > '9' {
				return -1
			}
			return r
		}, text)
	}
	spellings := map[string]string{}
	for _, identifier := range identifiers {
		if digits(identifier) == digits(name) {
			spellings[strings.ToLower(identifier)] = identifier
		}
	}
	return spellings[tracker.Nearest(strings.ToLower(strings.TrimSpace(name)), slices.Sorted(maps.Keys(spellings)))]
}
