package prompt

import (
	"maps"
	"slices"

	"github.com/symphony-runner/symphony/tracker"
)

// A shape is what the checker knows of a value: what may be done with it, and
// which names may follow it.
type shape struct {
	kind   kind
	fields map[string]*shape // of an object: all there are
	elem   *shape            // of a list or a range; of a dict, whatever the key
}

// kind is worded for error messages.
type kind string

const (
	unknown kind = "unknown" // already reported, so every use is accepted
	scalar  kind = "a plain value"
	list    kind = "a list"
	span    kind = "a range"
	object  kind = "an object"
	dict    kind = "an object with any keys"
)

var plain = &shape{kind: scalar}

// schema holds the variables that every template knows. It is read off the
// bindings of an issue that has one of everything, so that the two cannot differ.
func schema() map[string]*shape {
	return shapeOf(bindings(tracker.Issue{
		Labels:    []string{""},
		BlockedBy: make([]tracker.Blocker, 1),
		NativeRef: map[string]string{"": ""},
	}, Run{})).fields
}

func shapeOf(value any) *shape {
	switch v := value.(type) {
	case map[string]any:
		fields := make(map[string]*shape, len(v))
		for name, field := range v {
			fields[name] = shapeOf(field)
		}
		return &shape{kind: object, fields: fields}
	case map[string]string:
		return &shape{kind: dict, elem: plain}
	case []any:
		return &shape{kind: list, elem: shapeOf(v[0])}
	default:
		return plain
	}
}

// loopVariable is what the engine binds to forloop.
var loopVariable = &shape{kind: object, fields: map[string]*shape{
	"first": plain, "last": plain, "length": plain,
	"index": plain, "index0": plain, "rindex": plain, "rindex0": plain,
}}

// named is the shape of a property, or nil when there is none of that name.
func (s *shape) named(name string) *shape {
	switch s.kind {
	case unknown:
		return s
	case object:
		return s.fields[name]
	case dict:
		return s.elem
	case list:
		if name == "first" || name == "last" {
			return s.elem
		}
	}
	if name == "size" && s.kind != span {
		return plain
	}
	return nil
}

// names are the properties of a value.
func (s *shape) names() []string {
	switch s.kind {
	case object:
		return slices.Sorted(maps.Keys(s.fields))
	case list:
		return []string{"first", "last", "size"}
	default:
		return []string{"size"}
	}
}
