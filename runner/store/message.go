package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// maxNamed is how many issues a commit message names for each verb.
const maxNamed = 5

// describe is the change from one state to another as a commit message:
// "Claim ABC-1, ABC-2; release ABC-3".
func describe(old, new *schedule.State) string {
	named := map[string][]string{}
	ids := maps.Clone(old.Claims)
	maps.Copy(ids, new.Claims)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if verb := changed(old, new, id); verb != "" {
			named[verb] = append(named[verb], name(ids[id]))
		}
	}
	var parts []string
	for _, verb := range []string{"claim", "stop", "retry", "park", "release", "renew", "update"} {
		if names := named[verb]; len(names) > maxNamed {
			parts = append(parts, fmt.Sprintf("%s %s and %d more", verb, strings.Join(names[:maxNamed], ", "), len(names)-maxNamed))
		} else if len(names) > 0 {
			parts = append(parts, verb+" "+strings.Join(names, ", "))
		}
	}
	switch {
	case new.Pause.Why == "" && old.Pause.Why != "":
		parts = append(parts, "resume")
	case new.Pause != old.Pause:
		parts = append(parts, "pause")
	}
	if len(parts) == 0 && !slices.Equal(old.History, new.History) {
		parts = []string{"note the end of a tick"}
	} else if len(parts) == 0 {
		parts = []string{"update the totals"}
	}
	text := []rune(strings.Join(parts, "; "))
	text[0] = unicode.ToUpper(text[0])
	return string(text)
}

// changed is what happened to a claim, empty for nothing worth a word.
func changed(old, new *schedule.State, id tracker.ID) string {
	was, had := old.Claims[id]
	is, has := new.Claims[id]
	switch {
	case !has:
		return "release"
	case is.Phase == schedule.Running && (!had || was.Phase != is.Phase || was.Owner != is.Owner || was.Sessions != is.Sessions):
		return "claim"
	case !had || was.Phase != is.Phase || !was.Due.Equal(is.Due):
		switch is.Phase {
		case schedule.Stopping:
			return "stop"
		case schedule.Parked:
			return "park"
		}
		return "retry"
	case !was.Lease.Equal(is.Lease):
		return "renew"
	case is != was:
		return "update"
	}
	return ""
}

// name is the claim's issue for people. GitHub must not find a reference in it:
// each commit would then show up in the issue, or call somebody.
func name(c schedule.Claim) string {
	plain := strings.NewReplacer("#", " ", "@", " ", "GH-", "GH ", "gh-", "gh ", "Gh-", "Gh ", "gH-", "gH ", "://", " ")
	return strings.TrimSpace(plain.Replace(line(cmp.Or(c.Identifier, string(c.ID)), 40)))
}
