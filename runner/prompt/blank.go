package prompt

import (
	"reflect"
	"strings"

	"github.com/osteele/liquid/values"
)

// blankValue is the value of the words blank and empty: the empty text, except in
// comparisons. The engine calls its Equal when it is on their left side; the filter
// equals does so when it is on the right.
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

// equals implements the filter that takes the place of a comparison with blank or empty,
// such as "== blank".
func equals(value any, comparison string) bool {
	word := blankValue{blank: strings.HasSuffix(comparison, "blank")}
	return word.Equal(values.ValueOf(value)) == strings.HasPrefix(comparison, "==")
}
