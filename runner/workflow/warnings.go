package workflow

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/tracker"
)

// describeUnknown lists unknown keys, each with the known key that was probably
// meant.
func describeUnknown(unknown []Problem) string {
	const limit = 20
	var named []string
	for _, p := range unknown[:min(len(unknown), limit)] {
		name := truncate(p.Key)
		if _, hint, ok := strings.Cut(p.Reason, "; "); ok {
			name += " (" + hint + ")"
		}
		named = append(named, name)
	}
	if more := len(unknown) - limit; more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(named, ", ")
}

// suggestion returns the known key or section nearest to an unknown name as a hint,
// or nothing if none is near. The right key in the wrong section is near, and so is
// a setting of the adapter outside tracker.provider.
func suggestion(name string, table []entry, trackers []tracker.Kind) string {
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
	if section == "tracker" && dotted && isSetting(key, trackers) {
		return fmt.Sprintf("; did you mean tracker.provider.%s?", key)
	}
	for _, e := range table {
		knownSection, knownKey, _ := strings.Cut(e.Name, ".")
		switch {
		case e.Name == name:
			return fmt.Sprintf("; write %s inside %s", knownKey, knownSection)
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
	return fmt.Sprintf("; did you mean %s?", best)
}

func isSetting(name string, trackers []tracker.Kind) bool {
	return slices.ContainsFunc(trackers, func(kind tracker.Kind) bool {
		return slices.ContainsFunc(kind.New().Settings(), func(s tracker.Setting) bool { return s.Name == name })
	})
}

// knownTokenShapes returns a redactor that finds tokens of well-known services.
var knownTokenShapes = sync.OnceValue(func() *redact.Redactor { return redact.New() })

// warnAboutCredentials warns about credentials in the file itself, where all who can
// read the repository have them (SPEC §15.3). No warning shows one.
func (d *decoder) warnAboutCredentials(content []byte) {
	const limit = 5
	var lines []int
	credentials := []value{d.written["repository.token"]}
	for _, name := range d.tracker.credentials {
		credentials = append(credentials, d.written["tracker."+name], d.tracker.provider[name])
	}
	for _, v := range credentials {
		text, _ := v.raw.(string)
		if _, isReference := variableName(text); text != "" && !isReference {
			lines = append(lines, v.line)
			d.warn(v, "%s on line %d is the credential itself: set an environment variable to it, write $NAME here, and replace the credential, which everybody who reads the file has", v.key, v.line)
		}
	}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		if text := string(line); slices.Contains(lines, number) || knownTokenShapes().String(text) == text {
			continue
		}
		lines = append(lines, number)
		if len(lines) > limit {
			return
		}
		d.warn(value{line: number}, "line %d looks as if it held a credential: pass it in an environment variable, and replace it if it is one", number)
	}
}
