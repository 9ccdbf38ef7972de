package prompt

import "slices"

// signature is what a filter of the engine takes and makes of it. The engine
// converts anything into anything, and prints a list that is taken as text in
// Go's form; here it must fit.
type signature struct {
	takes []kind
	gives gift
	// field is set when the first argument names a field of the items.
	field bool
}

// gift is how the shape of a result follows from that of the input.
type gift int

const (
	aPlainValue gift = iota
	theSame
	anItem
	aListOfFields
	aListOfText
	theInputOrItsDefault
)

var (
	aValue   = []kind{scalar}
	aList    = []kind{list}
	either   = []kind{scalar, list}
	whatever = []kind{scalar, list, object, dict}
)

// signatures are the filters there are: the engine's standard ones.
var signatures = map[string]signature{
	"default": {takes: whatever, gives: theInputOrItsDefault},
	"inspect": {takes: whatever},
	"json":    {takes: whatever},
	"type":    {takes: whatever},

	"compact":      {takes: aList, gives: theSame},
	"concat":       {takes: aList, gives: theSame},
	"first":        {takes: aList, gives: anItem},
	"join":         {takes: aList},
	"last":         {takes: aList, gives: anItem},
	"map":          {takes: aList, gives: aListOfFields, field: true},
	"reverse":      {takes: aList, gives: theSame},
	"size":         {takes: either},
	"slice":        {takes: either, gives: theSame},
	"sort":         {takes: aList, gives: theSame, field: true},
	"sort_natural": {takes: aList, gives: theSame, field: true},
	"sum":          {takes: aList, field: true},
	"uniq":         {takes: aList, gives: theSame},
	"where":        {takes: aList, gives: theSame, field: true},

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
	"split":          {takes: aValue, gives: aListOfText},
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

// call is one use of a filter: where its name stands, its input, and its
// arguments with their first lexemes.
type call struct {
	at    lexeme
	input *shape
	args  []*shape
	lex   []lexeme
}

// apply is the shape of a filter's result. It reports what does not fit.
func (e *expression) apply(name string, f signature, c call) *shape {
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
			fits = arg.kind != span
		}
		if !fits && arg.kind != unknown {
			return e.report(c.lex[i], "filter %q does not take %s here; %s", name, arg.kind, remedy[arg.kind])
		}
	}
	field := c.input.elem
	if f.field && len(c.args) > 0 {
		if field = e.fieldArgument(name, c); field == nil {
			return &shape{kind: unknown}
		}
	}
	switch f.gives {
	case theSame:
		return c.input
	case anItem:
		return c.input.elem
	case aListOfFields:
		return &shape{kind: list, elem: field}
	case aListOfText:
		return &shape{kind: list, elem: plain}
	case theInputOrItsDefault:
		if c.input.kind == scalar && len(c.args) > 0 {
			return c.args[0]
		}
		return c.input
	default:
		return plain
	}
}

// fieldArgument is the shape of the field that the first argument names, or nil
// after it has reported that there is none.
func (e *expression) fieldArgument(name string, c call) *shape {
	at := c.lex[0]
	if !at.isString() {
		e.report(at, "filter %q takes the name of a field here; write it as a string", name)
		return nil
	}
	field := at.text[1 : len(at.text)-1]
	if found := c.input.elem.named(field); found != nil {
		return found
	}
	e.report(at, "filter %q: unknown field %q of an item; %s", name, field, instead(field, "", c.input.elem.names()))
	return nil
}

// remedy says what to do with a value that does not fit.
var remedy = map[kind]string{
	scalar: "a list is needed, such as issue.labels or the result of split",
	list:   "make text of it first, e.g. with join",
	span:   "go over it with {% for %}",
	object: "write one of its fields, or use json",
	dict:   "write one of its keys, or use json",
}
