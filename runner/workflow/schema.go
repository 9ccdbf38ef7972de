package workflow

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/tracker"
)

// SchemaURL is the address at which each release publishes its [Schema].
const SchemaURL = "https://github.com/symphony-runner/symphony/releases/latest/download/workflow.schema.json"

// schemaKey is the key with which a front matter may name its schema for editors. The
// program ignores it.
const schemaKey = "$schema"

// object is a JSON object.
type object = map[string]any

// Schema returns the JSON schema of the front matter with these kinds of tracker, for editors.
// It refuses only what [Parse] rejects, except for unknown keys, of which Parse warns.
// Conditions on several keys, on the environment or on other files are left to Parse.
func Schema(trackers []tracker.Kind) ([]byte, error) {
	d := newDecoder(Env{Trackers: trackers}, "")
	sections := object{schemaKey: object{"description": "the schema of this front matter, for editors"}}
	for _, e := range d.table() {
		section, key, inside := strings.Cut(e.Name, ".")
		if !inside {
			sections[section] = e.describe()
			continue
		}
		if sections[section] == nil {
			sections[section] = object{"type": []any{"object", "null"}, "additionalProperties": false, "properties": object{}}
		}
		keys := sections[section].(object)["properties"].(object)
		keys[key] = e.describe()
	}
	settings := sections["tracker"].(object)
	settings["type"], settings["required"] = "object", []any{"kind"}
	settings["properties"].(object)["kind"].(object)["enum"] = choiceSchema(kindNames(trackers)...)["enum"] // the kind is never null
	var providers []any
	for _, kind := range trackers {
		providers = append(providers, object{
			"if":   object{"properties": object{"kind": object{"const": kind.Name}}},
			"then": object{"properties": object{"provider": providerSchema(kind)}},
		})
	}
	settings["allOf"] = providers
	return json.MarshalIndent(object{
		"$schema": "http://json-schema.org/draft-07/schema#", "$id": SchemaURL,
		"title": "Front matter of a WORKFLOW.md of Symphony",
		"type":  "object", "required": []any{"tracker"},
		"properties": sections, "additionalProperties": false,
	}, "", "  ")
}

// describe returns the schema of a key with its description from the documentation.
func (e entry) describe() object {
	s := nullable(e.schema)
	s["description"] = describeKey(e.Meaning, e.Default)
	if e.decodeDefault {
		s["default"] = e.Default
		if n, err := strconv.ParseInt(e.Default, 10, 64); err == nil {
			s["default"] = n
		}
	}
	return s
}

// markdownLink matches a link in the meaning of a setting, which is also for a README.
const markdownLink = `\[([^]]+)\]\([^)]*\)`

func describeKey(meaning, defaults string) string {
	text := regexp.MustCompile(markdownLink).ReplaceAllString(meaning, "$1")
	if defaults != "" {
		text += ". Default: " + defaults
	}
	return text
}

// providerSchema returns the schema of the settings of a kind of tracker.
func providerSchema(kind tracker.Kind) object {
	settings := object{}
	for _, s := range kind.New().Settings() {
		schema := s.Schema
		if schema == nil {
			schema = textSchema()
		}
		described := orVariable(schema)
		described["description"] = describeKey(s.Meaning+": "+s.Want, "")
		settings[s.Name] = described
		for _, alias := range s.Aliases {
			same := maps.Clone(described)
			same["description"] = "the same as " + s.Name
			settings[alias] = same
		}
	}
	return object{"type": []any{"object", "null"}, "additionalProperties": object{"type": "null"}, "properties": settings}
}

// orVariable returns the schema of a setting that may also be, as a whole or in its
// parts, $NAME or null.
func orVariable(schema object) object {
	schema = maps.Clone(schema)
	for _, part := range []string{"additionalProperties", "items"} {
		if inner, ok := schema[part].(object); ok {
			schema[part] = orVariable(inner)
		}
	}
	if fields, ok := schema["properties"].(object); ok {
		fields = maps.Clone(fields)
		for name, field := range fields {
			fields[name] = orVariable(field.(object))
		}
		schema["properties"] = fields
	}
	absent := []any{object{"type": "null"}, object{"type": "string", "pattern": `^\s*\$`}}
	if schema["additionalProperties"] == false {
		schema["additionalProperties"] = object{"anyOf": absent}
	}
	return object{"anyOf": append([]any{schema}, absent...)}
}

// nullable returns a schema that allows null as well, which counts as absent.
func nullable(schema object) object {
	schema = maps.Clone(schema)
	if name, ok := schema["type"].(string); ok {
		schema["type"] = []any{name, "null"}
	} else if names, ok := schema["type"].([]any); ok {
		schema["type"] = append(slices.Clone(names), "null")
	}
	if choices, ok := schema["enum"].([]any); ok {
		schema["enum"] = append(slices.Clone(choices), nil)
	}
	if forms, ok := schema["anyOf"].([]any); ok {
		schema["anyOf"] = append(slices.Clone(forms), object{"type": "null"})
	}
	return schema
}

// integerSchema returns the schema of an integer, which may be written as text.
func integerSchema(low, high int64) object {
	sign := "[-+]?"
	if low >= 0 {
		sign = "[+]?"
	}
	s := object{"type": []any{"integer", "string"}, "pattern": `^\s*` + sign + `[0-9]+\s*$`, "minimum": low}
	if high != math.MaxInt64 {
		s["maximum"] = high
	}
	return s
}

func textSchema() object { return object{"type": "string"} }

func nonemptySchema() object { return object{"type": "string", "minLength": 1} }

func listSchema(item object) object { return object{"type": "array", "items": item} }

// nonemptyListSchema returns the schema of a list of at least atLeast texts.
func nonemptyListSchema(atLeast int) object {
	s := listSchema(nonemptySchema())
	s["minItems"] = atLeast
	return s
}

// choiceSchema returns the schema of a text with a fixed set of values.
func choiceSchema(words ...string) object {
	choices := make([]any, len(words))
	for i, word := range words {
		choices[i] = word
	}
	return object{"enum": choices}
}

func mapSchema(values object) object {
	return object{"type": "object", "additionalProperties": values}
}

func protectionWords() []string { return words(delivery.Protections()) }

func handOverSchema() object {
	text := nullable(textSchema())
	return object{"type": "object", "minProperties": 1, "additionalProperties": object{"type": "null"}, "properties": object{"state": text, "remove_label": text}}
}
