package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/untrusted"
)

// namedIssue is an issue with its names.
type namedIssue struct {
	ID         tracker.ID
	Identifier string
	Addresses  []string // of the issue and of its pull request; empty ones match nothing
	Pull       int      // the number of its pull request; 0 for none
}

// namesIn returns the issues that a state knows, in the order of their identifiers: those
// with a claim, and those whose work was published.
func namesIn(state *schedule.State) []namedIssue {
	known := make(map[tracker.ID]namedIssue, len(state.Claims)+len(state.Deliveries))
	for id, d := range state.Deliveries {
		known[id] = namedIssue{ID: id, Identifier: d.Identifier, Addresses: []string{d.URL}, Pull: d.Number}
	}
	for id, c := range state.Claims {
		n := known[id]
		n.ID, n.Identifier, n.Addresses = id, c.Identifier, append(n.Addresses, c.URL)
		known[id] = n
	}
	return slices.SortedStableFunc(maps.Values(known), func(a, b namedIssue) int { return strings.Compare(a.Identifier, b.Identifier) })
}

// namesInTick returns the issues that a tick knows: those of its state, and the candidates.
func namesInTick(tick report.Tick) []namedIssue {
	known := namesIn(&schedule.State{Claims: tick.Claims, Deliveries: tick.Deliveries})
	for _, v := range tick.Verdicts {
		known = append(known, namedIssue{ID: v.Issue.ID, Identifier: v.Issue.Identifier, Addresses: []string{v.Issue.URL}})
	}
	return known
}

// matchIssue returns the one of the known issues that a person means by a name, without
// a request: by its id, its identifier or what [tracker.Config.Identifier] makes of
// the name, its address, or the address or number of its pull request. A name that is
// written exactly counts before one in another case. The workflow may be invalid: then the
// name may be of any kind of tracker.
func matchIssue(wf workflow.Workflow, name string, known []namedIssue) (namedIssue, bool) {
	name = strings.TrimSpace(name)
	names := []string{name, strings.TrimPrefix(name, "#")}
	for _, cfg := range trackerConfigs(wf) {
		if identifier := cfg.Identifier(name); identifier != "" {
			names = append(names, identifier)
		}
	}
	isOne := func(of string) bool { return of != "" && slices.Contains(names, of) }
	isOneInAnyCase := func(of string) bool {
		return of != "" && slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, of) })
	}
	for _, means := range []func(namedIssue) bool{
		func(n namedIssue) bool { return isOne(string(n.ID)) || isOne(n.Identifier) },
		func(n namedIssue) bool { return isOneInAnyCase(n.Identifier) },
		func(n namedIssue) bool {
			return slices.ContainsFunc(n.Addresses, func(address string) bool { return isBelow(address, name) })
		},
		func(n namedIssue) bool {
			return n.Pull != 0 && (isOne(fmt.Sprintf("#%d", n.Pull)) || isOne(fmt.Sprintf("GH-%d", n.Pull)))
		},
	} {
		if i := slices.IndexFunc(known, means); i >= 0 {
			return known[i], true
		}
	}
	return namedIssue{}, false
}

// isBelow reports whether name is an address or leads to a part of its page.
func isBelow(address, name string) bool {
	if address == "" || len(name) < len(address) || !strings.EqualFold(name[:len(address)], address) {
		return false
	}
	rest := name[len(address):]
	return rest == "" || strings.ContainsAny(rest[:1], "/?#")
}

// trackerConfigs returns the settings of the workflow's tracker, or empty settings of
// every kind if the workflow is invalid.
func trackerConfigs(wf workflow.Workflow) []tracker.Config {
	if cfg := wf.Settings.Tracker.Config; cfg != nil {
		return []tracker.Config{cfg}
	}
	var all []tracker.Config
	for _, kind := range trackers() {
		all = append(all, kind.New())
	}
	return all
}

// findIssue returns the issue that a person means by a name: one that the state knows, or
// else one that the tracker finds, in whatever state it is. Its error for a name of no
// issue suggests those with a claim and the candidates.
func findIssue(ctx context.Context, wf workflow.Workflow, adapter tracker.Adapter, state *schedule.State, name string) (tracker.Issue, error) {
	known := namesIn(state)
	n, ok := matchIssue(wf, name, known)
	if !ok {
		id, err := adapter.Find(ctx, name)
		if err != nil {
			return tracker.Issue{}, err
		}
		n.ID = id
	}
	issues, err := adapter.IssuesByID(ctx, slices.DeleteFunc([]tracker.ID{n.ID}, func(id tracker.ID) bool { return id == "" }))
	if err != nil {
		return tracker.Issue{}, err
	}
	if len(issues) == 1 {
		return issues[0], nil
	}
	if candidates, err := adapter.IssuesByState(ctx, wf.Settings.Policy.ActiveStates); err == nil { // only for suggestions
		for _, issue := range candidates {
			known = append(known, namedIssue{ID: issue.ID, Identifier: issue.Identifier})
		}
	}
	return tracker.Issue{}, unknownIssueError("the "+wf.Settings.Tracker.Kind+" tracker shows no issue", name, "candidates and claims", known)
}

// maxSuggested bounds the issues that an error names.
const maxSuggested = 20

// unknownIssueError returns the error for a name that none of the known issues has, with
// the most similar name and what there is. missing begins it, as in "no claim of"; kind
// says what the known issues are.
func unknownIssueError(missing, name, kind string, known []namedIssue) error {
	name = untrusted.OneLine(name, 100)
	var names []string
	for _, n := range known {
		if n.Identifier != "" {
			names = append(names, untrusted.OneLine(n.Identifier, 100))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return fmt.Errorf("%w: %s %q; there are no %s", errUsage, missing, name, kind)
	}
	hint := ""
	if near := nearestIssue(name, names); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	listed := strings.Join(names[:min(len(names), maxSuggested)], ", ")
	if more := len(names) - maxSuggested; more > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%w: %s %q%s; %s: %s", errUsage, missing, name, hint, kind, listed)
}

// nearestIssue returns the identifier that is most similar to a name, whatever its case. One
// with other digits is another issue and no misspelling.
func nearestIssue(name string, identifiers []string) string {
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
