package prompt

import (
	"maps"
	"slices"
	"sync"

	"github.com/symphony-runner/symphony/tracker"
)

// typ is the type of a value as the checker knows it: the operations on the value, and its
// properties.
type typ struct {
	kind   kind
	fields map[string]*typ // all fields of an object
	elem   *typ            // item of a list or a range, value of a dict
}

// kind names a type in error messages.
type kind string

const (
	unknown   kind = "unknown" // already reported, so every use is accepted
	scalar    kind = "a plain value"
	list      kind = "a list"
	rangeType kind = "a range"
	object    kind = "an object"
	dict      kind = "an object with any keys"
)

var plain = &typ{kind: scalar}

// schema returns the types of the variables that every template knows. It derives
// them from the bindings of an issue with every field set, so that the two cannot
// differ. Nobody may change them.
var schema = sync.OnceValue(func() map[string]*typ {
	return typeOf(bindings(tracker.Issue{
		Labels:    []string{""},
		BlockedBy: make([]tracker.Blocker, 1),
		NativeRef: map[string]string{"": ""},
	}, Run{Feedback: make([]Feedback, 1)})).fields
})

func typeOf(value any) *typ {
	switch v := value.(type) {
	case map[string]any:
		fields := make(map[string]*typ, len(v))
		for name, field := range v {
			fields[name] = typeOf(field)
		}
		return &typ{kind: object, fields: fields}
	case map[string]string:
		return &typ{kind: dict, elem: plain}
	case []any:
		return &typ{kind: list, elem: typeOf(v[0])}
	default:
		return plain
	}
}

// loopVariable is the type of the variable forloop.
var loopVariable = &typ{kind: object, fields: map[string]*typ{
	"first": plain, "last": plain, "length": plain,
	"index": plain, "index0": plain, "rindex": plain, "rindex0": plain,
}}

// named returns the type of a property, or nil when s has no property of that name.
func (s *typ) named(name string) *typ {
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
	if name == "size" && s.kind != rangeType {
		return plain
	}
	return nil
}

func (s *typ) names() []string {
	switch s.kind {
	case object:
		return slices.Sorted(maps.Keys(s.fields))
	case list:
		return []string{"first", "last", "size"}
	default:
		return []string{"size"}
	}
}
