package workflow

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// describe names unknown keys, each with what was probably meant.
func describe(unknown []string, table []entry) string {
	const limit = 20 // a file with more is not a workflow
	var named []string
	for _, name := range unknown[:min(len(unknown), limit)] {
		named = append(named, brief(name)+hint(name, table))
	}
	if more := len(unknown) - limit; more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(named, ", ")
}

// hint is the known key or section nearest to an unknown name, if one is near. The
// right key in the wrong section is near; so is a setting of the adapter outside
// tracker.provider.
func hint(name string, table []entry) string {
	if len(name) > 64 {
		return ""
	}
	best, least := "", max(1, len(name)/4)+1
	consider := func(known string, d int) {
		if d < least {
			best, least = known, d
		}
	}
	section, key, dotted := strings.Cut(name, ".")
	if !dotted {
		key = section
	}
	for _, e := range table {
		knownSection, knownKey, _ := strings.Cut(e.Name, ".")
		switch {
		case e.Name == name:
			return fmt.Sprintf(" (write %s inside %s)", knownKey, knownSection)
		case dotted:
			consider(e.Name, tracker.EditDistance(name, e.Name))
		default:
			consider(knownSection, tracker.EditDistance(name, knownSection))
		}
		consider(e.Name, tracker.EditDistance(key, knownKey)+1)
	}
	if best == "" && dotted && section == "tracker" {
		best = "tracker.provider." + key
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}
