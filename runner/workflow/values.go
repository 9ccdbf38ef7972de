package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/tracker"
)

// forms makes the forms of values: the values that a key may have, and the place that they are
// decoded to.
type forms struct {
	*findings
	surroundings
}

// list calls take for each item of a list of strings, trimmed.
func (f forms) list(v value, take func(item value, text string)) {
	items, ok := v.raw.([]any)
	if !ok {
		f.reject(v, "must be a list, such as [one, two]")
		return
	}
	for i, raw := range items {
		item := value{key: fmt.Sprintf("%s[%d]", v.key, i), line: v.line, column: v.column, raw: raw}
		if node := v.item(i); node != nil {
			item.line, item.column, item.node = node.Line, node.Column, node
		}
		if text, ok := raw.(string); ok {
			take(item, strings.TrimSpace(text))
		} else {
			f.reject(item, mustBeText)
		}
	}
}

// states decodes a list of state names, each once and at least atLeast of them. The
// result is never nil, so that a list without a good name differs from an absent
// list.
func (f forms) states(to *[]string, atLeast int) form {
	return form{func(v value) {
		*to = []string{}
		if items, ok := v.raw.([]any); ok && len(items) < atLeast {
			f.reject(v, "must name at least one state; remove the key for the default")
		}
		seen := make(map[string]bool)
		f.list(v, func(item value, name string) {
			switch normal := tracker.NormalState(name); {
			case normal == "":
				f.reject(item, "must not be empty; name a state, or remove it")
			case !seen[normal]:
				seen[normal] = true
				*to = append(*to, name)
			}
		})
	}, nonemptyListSchema(atLeast)}
}

// labels decodes labels in normal form. A blank one is kept and matches no issue:
// without it, issues would be dispatched that somebody meant to hold back.
func (f forms) labels(to *[]string) form {
	return form{func(v value) {
		f.list(v, func(item value, label string) {
			if label == "" {
				f.warn(item, "%s is blank, so no issue will be dispatched", item.key)
			}
			*to = append(*to, tracker.NormalLabel(label))
		})
	}, listSchema(textSchema())}
}

// items decodes a list of texts, each as parse returns it. The error of parse is the problem of its
// item.
func (f forms) items(to *[]string, parse func(text string) (string, error)) form {
	return form{func(v value) {
		f.list(v, func(item value, text string) {
			parsed, err := parse(text)
			if err != nil {
				f.reject(item, "%s", err)
				return
			}
			*to = append(*to, parsed)
		})
	}, listSchema(nonemptySchema())}
}

// parseVariable checks the name of an environment variable.
func parseVariable(name string) (string, error) {
	if ref, ok := variableName("$" + name); !ok || ref != name {
		return "", errors.New("must be the name of an environment variable: letters, digits and _, not beginning with a digit")
	}
	return name, nil
}

// byState decodes limits by the normal form of their state. Invalid entries are
// ignored (SPEC §5.3.5).
func (f forms) byState(to *map[string]int) form {
	return form{func(v value) {
		var entries map[string]any
		if err := v.node.Decode(&entries); err != nil {
			f.reject(v, "must be a map from state to limit, such as {todo: 2}")
			return
		}
		limits := make(map[string]int)
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			state := tracker.NormalState(name)
			n, ok := toInteger(entries[name])
			switch {
			case state == "":
				f.warn(v, "%s has an entry without a state, which is ignored", v.key)
			case !ok || n < 1 || n > math.MaxInt32:
				f.warn(v, "%s.%s is %s, not an integer from 1 to %d, and is ignored", v.key, truncate(name), display(entries[name]), math.MaxInt32)
			case limits[state] != 0:
				f.warn(v, "%s.%s names its state a second time and is ignored", v.key, truncate(name))
			default:
				limits[state] = int(n)
			}
		}
		*to = limits
	}, object{"type": "object"}}
}

// jsonValue decodes any YAML value to the JSON that Codex gets (SPEC §5.3.6).
func (f forms) jsonValue(to *json.RawMessage) form {
	return form{func(v value) {
		encoded, err := json.Marshal(v.raw)
		if err != nil {
			f.reject(v, "cannot be written as JSON; use text keys and plain values")
			return
		}
		*to = encoded
	}, object{}}
}

// jsonMap decodes a YAML map to the JSON that Codex gets.
func (f forms) jsonMap(to *json.RawMessage) form {
	pass := f.jsonValue(to)
	return form{func(v value) {
		if _, ok := v.raw.(map[string]any); !ok {
			f.reject(v, "must be a map, such as {type: readOnly}")
			return
		}
		pass.decode(v)
	}, object{"type": "object"}}
}

// maxMillis is the longest time that a time.Duration holds.
const maxMillis = math.MaxInt64 / int64(time.Millisecond)

// defaultHookTimeout is the default of hooks.timeout_ms, which also replaces an
// invalid value (SPEC §5.3.4).
const defaultHookTimeout = "60000"

const mustBeText = "must be text; put it in quotes if it is"

// toInteger returns v as an integer: a YAML integer, or a string of one (SPEC §5.3).
func toInteger(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		return n, err == nil
	}
	return 0, false // fractions, booleans, and numbers that only fit a uint64 or a float
}

// integerBetween returns v as an integer between low and high, or records a problem.
func (f forms) integerBetween(v value, low, high int64) (int64, bool) {
	n, ok := toInteger(v.raw)
	if !ok || n < low || n > high {
		f.reject(v, "must be an integer from %d to %d", low, high)
		return 0, false
	}
	return n, true
}

// number returns the form of an integer between low and high.
func (f forms) number(low, high int64, take func(n int64)) form {
	return form{func(v value) {
		if n, ok := f.integerBetween(v, low, high); ok {
			take(n)
		}
	}, integerSchema(low, high)}
}

// integer returns the form of an integer of at least low that an int holds on every machine.
func (f forms) integer(to *int, low int64) form {
	return f.number(low, math.MaxInt32, func(n int64) { *to = int(n) })
}

// long returns the form of an integer of at least low.
func (f forms) long(to *int64, low int64) form {
	return f.number(low, math.MaxInt64, func(n int64) { *to = n })
}

func (f forms) millis(to *time.Duration, low int64) form {
	return f.number(low, maxMillis, func(n int64) { *to = time.Duration(n) * time.Millisecond })
}

func (d *decoder) hookTimeout(v value) {
	n, ok := toInteger(v.raw)
	if !ok || n < 1 || n > maxMillis {
		d.warn(v, "%s is %s, not an integer from 1 to %d: %s is used instead", v.key, display(v.raw), maxMillis, defaultHookTimeout)
		n, _ = toInteger(defaultHookTimeout)
	}
	d.settings.Workspace.Hooks.Timeout = time.Duration(n) * time.Millisecond
}

func (f forms) boolean(to *bool) form {
	return form{func(v value) {
		on, ok := v.raw.(bool)
		if !ok {
			f.reject(v, "must be true or false")
			return
		}
		*to = on
	}, object{"type": "boolean"}}
}

// parsedText returns the form of a text as parse returns it. A blank text counts as absent.
func parsedText[T any](f forms, to *T, parse func(text string) (T, error)) form {
	return form{func(v value) {
		var text string
		if f.text(&text).decode(v); text == "" {
			return
		}
		parsed, err := parse(text)
		if err != nil {
			f.reject(v, "%s", err)
			return
		}
		*to = parsed
	}, textSchema()}
}

// text decodes a string as it is written. A blank one counts as absent.
func (f forms) text(to *string) form {
	return form{func(v value) {
		s, ok := v.raw.(string)
		switch {
		case !ok:
			f.reject(v, mustBeText)
		case strings.Contains(s, "\x00"):
			f.reject(v, "must not contain a NUL character")
		case strings.TrimSpace(s) != "":
			*to = s
		}
	}, textSchema()}
}

func (f forms) commands(to *[]string) form {
	take := func(v value) {
		var script string
		if f.text(&script).decode(v); script != "" {
			*to = append(*to, script)
		}
	}
	return form{func(v value) {
		if _, isList := v.raw.([]any); !isList {
			take(v)
			return
		}
		f.list(v, func(item value, script string) {
			if script == "" {
				f.reject(item, "must not be empty; remove it")
				return
			}
			take(item)
		})
	}, object{"anyOf": []any{textSchema(), listSchema(nonemptySchema())}}}
}

func (f forms) command(to *string) form {
	text := f.text(to)
	return form{func(v value) {
		text.decode(v)
		s, ok := v.raw.(string)
		words := strings.Fields(s)
		switch {
		case !ok:
		case len(words) == 0:
			f.reject(v, "must not be empty; remove the key for the default")
		case words[0] == "codex" && !slices.Contains(words, "app-server"):
			f.reject(v, "starts the Codex that talks to a person at a terminal: write codex app-server")
		}
	}, nonemptySchema()}
}

func (f forms) word(to func(word string), words ...string) form {
	return form{func(v value) {
		text, _ := v.raw.(string)
		if !slices.Contains(words, text) {
			last := len(words) - 1
			f.reject(v, "must be %s or %s", strings.Join(words[:last], ", "), words[last])
			return
		}
		to(text)
	}, choiceSchema(words...)}
}

func (f forms) strings(to *[]string) form {
	return form{func(v value) {
		f.list(v, func(item value, name string) {
			switch {
			case name == "":
				f.reject(item, "must not be empty; remove it")
			case !slices.Contains(*to, name):
				*to = append(*to, name)
			}
		})
	}, listSchema(nonemptySchema())}
}

func (f forms) protection(to *delivery.Protection) form {
	return form{func(v value) {
		word, _ := v.raw.(string)
		if delivery.Protection(word).Validate() != nil {
			f.reject(v, "must be refuse, review, draft or allow")
			return
		}
		*to = delivery.Protection(word)
	}, choiceSchema(protectionWords()...)}
}
