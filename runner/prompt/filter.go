package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// signature describes the input and the result of a filter of the engine. The
// engine converts any value into any other, and prints a list used as text in
// Go's form; the checker requires the right type instead.
type signature struct {
	takes []kind
	gives func(call) *typ // nil for a plain value
	field bool            // the first argument names a field of the items
}

// signatures holds the engine's standard filters.
var signatures = func() map[string]signature {
	aList, either, whatever := []kind{list}, []kind{scalar, list}, []kind{scalar, list, object, dict}
	input := func(c call) *typ { return c.input }
	item := func(c call) *typ { return c.field }
	listOf := func(c call) *typ { return &typ{kind: list, elem: c.field} }
	all := map[string]signature{
		"default":      {takes: whatever, gives: call.inputOrDefault},
		"inspect":      {takes: whatever},
		"json":         {takes: whatever},
		"type":         {takes: whatever},
		"compact":      {takes: aList, gives: input},
		"concat":       {takes: aList, gives: input},
		"first":        {takes: aList, gives: item},
		"join":         {takes: aList},
		"last":         {takes: aList, gives: item},
		"map":          {takes: aList, gives: listOf, field: true},
		"reverse":      {takes: aList, gives: input},
		"size":         {takes: either},
		"slice":        {takes: either, gives: input},
		"sort":         {takes: aList, gives: input, field: true},
		"sort_natural": {takes: aList, gives: input, field: true},
		"split":        {takes: []kind{scalar}, gives: func(call) *typ { return &typ{kind: list, elem: plain} }},
		"sum":          {takes: aList, field: true},
		"uniq":         {takes: aList, gives: input},
		"where":        {takes: aList, gives: input, field: true},
	}
	for _, name := range strings.Fields(`abs append at_least at_most capitalize ceil date divided_by downcase escape
		escape_once floor handle handleize lstrip minus modulo newline_to_br pluralize plus prepend remove remove_first
		remove_last replace replace_first replace_last round rstrip strip strip_html strip_newlines times truncate
		truncatewords upcase url_decode url_encode`) {
		all[name] = signature{takes: []kind{scalar}}
	}
	return all
}()

// Filters returns the names of all filters, sorted.
func Filters() []string { return slices.Sorted(maps.Keys(signatures)) }

func filterAdvice(name string) string {
	const list = "`symphony prompt --help` lists all filters"
	if near := tracker.Nearest(name, Filters()); near != "" {
		return fmt.Sprintf("did you mean %q? %s", near, list)
	}
	return list
}

// call is one use of a filter.
type call struct {
	at    token // name of the filter
	input *typ
	field *typ // type of the input's items, or of their named field
	args  []*typ
	lex   []token // first token of each argument
}

func (c call) inputOrDefault() *typ {
	if c.input.kind == scalar && len(c.args) > 0 {
		return c.args[0]
	}
	return c.input
}

// apply returns the type of a filter's result, and reports values of the wrong type.
func (e *expression) apply(name string, f signature, c call) *typ {
	if c.input.kind == unknown {
		return c.input
	}
	if !slices.Contains(f.takes, c.input.kind) {
		return e.report(c.at, "filter %q does not apply to %s; %s", name, c.input.kind, remedy[c.input.kind])
	}
	for i, arg := range c.args {
		fits := arg.kind == scalar
		switch name {
		case "concat":
			fits = arg.kind == list
		case "default":
			fits = arg.kind != rangeType
		}
		if !fits && arg.kind != unknown {
			return e.report(c.lex[i], "filter %q does not take %s here; %s", name, arg.kind, remedy[arg.kind])
		}
	}
	c.field = c.input.elem
	if f.field && len(c.args) > 0 {
		at := c.lex[0]
		if at.class != word {
			return e.report(at, "filter %q takes the name of a field here; write it as a string", name)
		}
		item, field := c.input.elem, at.unquoted()
		if c.field = item.named(field); c.field == nil {
			return e.report(at, "filter %q: unknown field %q of an item; %s", name, field, suggestion(field, "", item.names()))
		}
	}
	if f.gives == nil {
		return plain
	}
	return f.gives(c)
}

// remedy is the advice for a value of the wrong type.
var remedy = map[kind]string{
	scalar:    "a list is needed, such as issue.labels or the result of split",
	list:      "make text of it first, e.g. with join",
	rangeType: "go over it with {% for %}",
	object:    "write one of its fields, or use json",
	dict:      "write one of its keys, or use json",
}
