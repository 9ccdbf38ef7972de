package prompt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/osteele/liquid"
	"github.com/osteele/liquid/filters"
)

// newEngine is an engine whose filters pay the meter.
func newEngine(m *meter) *liquid.Engine {
	e := paying{liquid.NewEngine(), m}
	e.UnregisterTag("include") // these two read files
	e.UnregisterTag("render")
	filters.AddStandardFilters(e)
	e.AddFilter("replace", m.replace)
	e.AddFilter("join", m.join)
	e.AddFilter("json", asJSON)
	e.AddFilter("inspect", asJSON)
	e.AddFilter("show", show)
	e.RegisterFilter("each", m.each)
	return e.Engine
}

// paying is an engine that meters the filters it is given.
type paying struct {
	*liquid.Engine
	meter *meter
}

func (p paying) AddFilter(name string, filter any) {
	fn := p.meter.metered(filter)
	if name == "date" {
		fn = date(fn)
	}
	p.RegisterFilter(name, fn)
}

// date keeps null null, which the engine takes for the year 1, and keeps out
// formats of padding without end: each directive may ask for a megabyte.
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

// show is what every output goes through. The engine runs lists together and
// prints objects in Go's form.
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

// asJSON is JSON for people: without HTML's escapes.
func asJSON(value any) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return "", fmt.Errorf("%w; print its fields one by one", err)
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
