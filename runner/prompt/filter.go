package prompt

import (
	"fmt"
	"maps"
	"slices"

	"github.com/symphony-runner/symphony/tracker"
)

// signature describes the input and the result of a filter of the engine. The
// engine converts any value into any other, and prints a list used as text in
// Go's form; the checker requires the right type instead.
type signature struct {
	takes []kind
	gives resultKind
	// field is true when the first argument names a field of the items.
	field bool
}

// resultKind says how the type of a filter's result follows from its input.
type resultKind int

const (
	plainResult resultKind = iota
	inputType
	itemType
	listOfFields
	listOfText
	inputOrDefault
)

var (
	aValue   = []kind{scalar}
	aList    = []kind{list}
	either   = []kind{scalar, list}
	whatever = []kind{scalar, list, object, dict}
)

// signatures holds the engine's standard filters.
var signatures = map[string]signature{
	"default": {takes: whatever, gives: inputOrDefault},
	"inspect": {takes: whatever},
	"json":    {takes: whatever},
	"type":    {takes: whatever},

	"compact":      {takes: aList, gives: inputType},
	"concat":       {takes: aList, gives: inputType},
	"first":        {takes: aList, gives: itemType},
	"join":         {takes: aList},
	"last":         {takes: aList, gives: itemType},
	"map":          {takes: aList, gives: listOfFields, field: true},
	"reverse":      {takes: aList, gives: inputType},
	"size":         {takes: either},
	"slice":        {takes: either, gives: inputType},
	"sort":         {takes: aList, gives: inputType, field: true},
	"sort_natural": {takes: aList, gives: inputType, field: true},
	"sum":          {takes: aList, field: true},
	"uniq":         {takes: aList, gives: inputType},
	"where":        {takes: aList, gives: inputType, field: true},

	"abs":            {takes: aValue},
	"append":         {takes: aValue},
	"at_least":       {takes: aValue},
	"at_most":        {takes: aValue},
	"capitalize":     {takes: aValue},
	"ceil":           {takes: aValue},
	"date":           {takes: aValue},
	"divided_by":     {takes: aValue},
	"downcase":       {takes: aValue},
	"escape":         {takes: aValue},
	"escape_once":    {takes: aValue},
	"floor":          {takes: aValue},
	"handle":         {takes: aValue},
	"handleize":      {takes: aValue},
	"lstrip":         {takes: aValue},
	"minus":          {takes: aValue},
	"modulo":         {takes: aValue},
	"newline_to_br":  {takes: aValue},
	"pluralize":      {takes: aValue},
	"plus":           {takes: aValue},
	"prepend":        {takes: aValue},
	"remove":         {takes: aValue},
	"remove_first":   {takes: aValue},
	"remove_last":    {takes: aValue},
	"replace":        {takes: aValue},
	"replace_first":  {takes: aValue},
	"replace_last":   {takes: aValue},
	"round":          {takes: aValue},
	"rstrip":         {takes: aValue},
	"split":          {takes: aValue, gives: listOfText},
	"strip":          {takes: aValue},
	"strip_html":     {takes: aValue},
	"strip_newlines": {takes: aValue},
	"times":          {takes: aValue},
	"truncate":       {takes: aValue},
	"truncatewords":  {takes: aValue},
	"upcase":         {takes: aValue},
	"url_decode":     {takes: aValue},
	"url_encode":     {takes: aValue},
}

// Filters returns the names of all filters, sorted.
func Filters() []string { return slices.Sorted(maps.Keys(signatures)) }

// filterAdvice returns what to do about an unknown filter.
func filterAdvice(name string) string {
	const list = "`symphony prompt --help` lists all filters"
	if near := tracker.Nearest(name, Filters()); near != "" {
		return fmt.Sprintf("did you mean %q? %s", near, list)
	}
	return list
}

// call is one use of a filter.
type call struct {
	at    token // the filter's name
	input *typ
	args  []*typ
	lex   []token // the first token of each argument
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
	field := c.input.elem
	if f.field && len(c.args) > 0 {
		if field = e.fieldArgument(name, c); field == nil {
			return &typ{kind: unknown}
		}
	}
	switch f.gives {
	case inputType:
		return c.input
	case itemType:
		return c.input.elem
	case listOfFields:
		return &typ{kind: list, elem: field}
	case listOfText:
		return &typ{kind: list, elem: plain}
	case inputOrDefault:
		if c.input.kind == scalar && len(c.args) > 0 {
			return c.args[0]
		}
		return c.input
	default:
		return plain
	}
}

// fieldArgument returns the type of the field that the first argument names, or
// nil after it has reported that there is none.
func (e *expression) fieldArgument(name string, c call) *typ {
	at := c.lex[0]
	if !at.isString() {
		e.report(at, "filter %q takes the name of a field here; write it as a string", name)
		return nil
	}
	field := at.text[1 : len(at.text)-1]
	if found := c.input.elem.named(field); found != nil {
		return found
	}
	e.report(at, "filter %q: unknown field %q of an item; %s", name, field, suggestion(field, "", c.input.elem.names()))
	return nil
}

// remedy says what to do with a value of the wrong type.
var remedy = map[kind]string{
	scalar:    "a list is needed, such as issue.labels or the result of split",
	list:      "make text of it first, e.g. with join",
	rangeType: "go over it with {% for %}",
	object:    "write one of its fields, or use json",
	dict:      "write one of its keys, or use json",
}
