package prompt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/osteele/liquid"
	"github.com/osteele/liquid/filters"
	"github.com/osteele/liquid/values"
)

// engines holds engines of templates that are not rendered now: to make one takes
// longer than to render most templates.
var engines = sync.Pool{New: func() any {
	c := new(loopCounter)
	return &pooledEngine{newEngine(c), c}
}}

// pooledEngine is an engine from the pool. It serves one template at a time, and its
// loops count with its counter.
type pooledEngine struct {
	*liquid.Engine
	loops *loopCounter
}

// withEngine calls use with an engine that nobody else uses, and whose loops have
// counted nothing.
func withEngine(use func(*liquid.Engine) error) error {
	e := engines.Get().(*pooledEngine)
	defer engines.Put(e)
	e.loops.n = 0
	return use(e.Engine)
}

func newEngine(c *loopCounter) *liquid.Engine {
	e := engine{liquid.NewEngine()}
	e.UnregisterTag("include") // these two read files
	e.UnregisterTag("render")
	filters.AddStandardFilters(e)
	e.AddFilter("json", asJSON)
	e.AddFilter("inspect", asJSON)
	e.AddFilter("show", show)
	e.AddFilter("equals", equals)
	e.RegisterFilter("each", c.each)
	return e.Engine
}

// engine changes the filters that are added to it.
type engine struct{ *liquid.Engine }

// AddFilter adds a filter. It turns panics of the filter into errors, because the
// engine knows the line of an error but not of a panic, and converts whole numbers
// to int, which loops and ranges require.
func (e engine) AddFilter(name string, filter any) {
	fn := reflect.ValueOf(filter)
	call := func(args ...any) (result any, err error) {
		defer recovered(&err)
		result, err = values.Call(fn, args)
		if n, ok := result.(int64); ok {
			result = int(n)
		}
		return result, err
	}
	if name == "date" {
		call = date(call)
	}
	e.RegisterFilter(name, call)
}

// date returns null for null, which the engine takes for the year 1, and refuses
// long formats, in which each directive may ask for a megabyte of padding.
func date(format func(...any) (any, error)) func(...any) (any, error) {
	const longest = 64
	return func(args ...any) (any, error) {
		if args[0] == nil {
			return nil, nil
		}
		if len(args) > 1 {
			if text, ok := args[1].(string); ok && len(text) > longest {
				return nil, fmt.Errorf("the format has %d bytes; shorten it to %d", len(text), longest)
			}
		}
		return format(args...)
	}
}

// show implements the filter that every output passes. Without it the engine prints lists
// without separators, and objects in Go's form.
func show(value any) (any, error) {
	switch v := value.(type) {
	case []string:
		return strings.Join(v, ", "), nil
	case []any:
		var texts []string
		for _, item := range v {
			switch item.(type) {
			case map[string]any, map[string]string, []any, []string:
				return asJSON(value)
			case nil:
			default:
				texts = append(texts, fmt.Sprint(item))
			}
		}
		return strings.Join(texts, ", "), nil
	case map[string]any, map[string]string:
		return asJSON(value)
	default:
		return value, nil
	}
}

// asJSON returns JSON for people, without HTML escapes.
func asJSON(value any) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return "", fmt.Errorf("%w; print its fields one by one", err)
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

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
