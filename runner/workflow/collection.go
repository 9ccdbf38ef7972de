package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// list calls take with each item of a list of strings, trimmed.
func (d *draft) list(v value, take func(item value, text string)) {
	items, ok := v.raw.([]any)
	if !ok {
		d.reject(v, "must be a list, such as [one, two]")
		return
	}
	for i, raw := range items {
		item := value{key: fmt.Sprintf("%s[%d]", v.key, i), line: v.line, raw: raw}
		if text, ok := raw.(string); ok {
			take(item, strings.TrimSpace(text))
		} else {
			d.reject(item, notText)
		}
	}
}

// states takes at least so many state names, each once. What is taken is never
// nil, so that a list without a good one differs from an absent list.
func (d *draft) states(to *[]string, least int) func(value) {
	return func(v value) {
		*to = []string{}
		if items, ok := v.raw.([]any); ok && len(items) < least {
			d.reject(v, "must name at least one state; remove the key for the default")
		}
		seen := make(map[string]bool)
		d.list(v, func(item value, name string) {
			switch normal := tracker.NormalState(name); {
			case normal == "":
				d.reject(item, "must not be empty; name a state, or remove it")
			case !seen[normal]:
				seen[normal] = true
				*to = append(*to, name)
			}
		})
	}
}

// labels takes labels in normal form. A blank one is kept and matches no issue:
// dropping it would dispatch what somebody meant to hold back.
func (d *draft) labels(to *[]string) func(value) {
	return func(v value) {
		d.list(v, func(item value, label string) {
			if label == "" {
				d.warn("%s is blank, so no issue will be dispatched", item.key)
			}
			*to = append(*to, tracker.NormalLabel(label))
		})
	}
}

// names takes names of environment variables.
func (d *draft) names(to *[]string) func(value) {
	return func(v value) {
		d.list(v, func(item value, name string) {
			if ref, ok := reference("$" + name); !ok || ref != name {
				d.reject(item, "must be the name of an environment variable: letters, digits and _, not beginning with a digit")
				return
			}
			*to = append(*to, name)
		})
	}
}

// denied takes paths that the agent may not read.
func (d *draft) denied(to *[]string) func(value) {
	return func(v value) {
		d.list(v, func(item value, text string) {
			path, err := d.path(text)
			switch {
			case err != nil:
				d.reject(item, "%s", err)
			case path == "":
				d.reject(item, "is empty; name a file or a folder, or remove it")
			case path == "/":
				d.reject(item, "is the whole disk, without which no program runs; name the folders")
			case strings.ContainsAny(path, "*?["):
				d.reject(item, "looks like a pattern; name the files and folders themselves")
			default:
				*to = append(*to, path)
			}
		})
	}
}

// byState takes limits for states by their normal form. Invalid entries are
// ignored (SPEC §5.3.5).
func (d *draft) byState(to *map[string]int) func(value) {
	return func(v value) {
		var entries map[string]any
		if err := v.node.Decode(&entries); err != nil {
			d.reject(v, "must be a map from state to limit, such as {todo: 2}")
			return
		}
		limits := make(map[string]int)
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			state := tracker.NormalState(name)
			n, ok := whole(entries[name])
			switch {
			case state == "":
				d.warn("%s has an entry without a state, which is ignored", v.key)
			case !ok || n < 1 || n > math.MaxInt32:
				d.warn("%s.%s is %s, not an integer from 1 to %d, and is ignored", v.key, brief(name), shown(entries[name]), math.MaxInt32)
			case limits[state] != 0:
				d.warn("%s.%s names its state a second time and is ignored", v.key, brief(name))
			default:
				limits[state] = int(n)
			}
		}
		*to = limits
	}
}

// passed takes any YAML value as the JSON that Codex will get (SPEC §5.3.6).
func (d *draft) passed(to *json.RawMessage) func(value) {
	return func(v value) {
		encoded, err := json.Marshal(v.raw)
		if err != nil {
			d.reject(v, "cannot be written as JSON; use text keys and plain values")
			return
		}
		*to = encoded
	}
}

func (d *draft) passedMap(to *json.RawMessage) func(value) {
	pass := d.passed(to)
	return func(v value) {
		if _, ok := v.raw.(map[string]any); !ok {
			d.reject(v, "must be a map, such as {type: readOnly}")
			return
		}
		pass(v)
	}
}

// noHosts refuses the SSH extension: to run on this machine what was meant for
// another would be worse than not to run.
func (d *draft) noHosts(v value) {
	if hosts, ok := v.raw.([]any); !ok || len(hosts) > 0 {
		d.reject(v, "sessions run on this machine only; remove the key")
	}
}
