package prompt

import (
	"reflect"
	"strings"

	"github.com/osteele/liquid/values"
)

// blankValue is the value of the words blank and empty: the empty text, except in
// comparisons. It must be on their left side, where the engine calls its Equal; the
// checker rewrites comparisons so.
type blankValue struct {
	values.Value
	blank bool
}

var (
	blank = blankValue{values.ValueOf(""), true}
	empty = blankValue{values.ValueOf(""), false}
)

// Equal reports whether other is null, or text or a list without content. For
// blank it reports true for white space and for false as well.
func (n blankValue) Equal(other values.Value) bool {
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
