package prompt

import (
	"reflect"
	"strings"

	"github.com/osteele/liquid/values"
)

// nothing is what the words blank and empty stand for: the empty text, but for
// comparisons. It must be on their left side, where the engine asks it and not
// the other value; the checker sees to that.
type nothing struct {
	values.Value
	blank bool
}

var (
	blank = nothing{values.ValueOf(""), true}
	empty = nothing{values.ValueOf(""), false}
)

// Equal holds for null and for text and lists without content. Blank holds
// besides for white space and for false.
func (n nothing) Equal(other values.Value) bool {
	switch v := other.Interface().(type) {
	case nil:
		return true
	case bool:
		return n.blank && !v
	case string:
		return v == "" || n.blank && strings.TrimSpace(v) == ""
	default:
		r := reflect.ValueOf(v)
		return (r.Kind() == reflect.Slice || r.Kind() == reflect.Map) && r.Len() == 0
	}
}
