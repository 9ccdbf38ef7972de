package prompt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/tracker"
)

// maxNesting limits nested blocks and nested brackets, since the engine and the
// checker both recurse.
const maxNesting = 100

// expression reads the arguments of one tag or output, and writes them again for the
// engine. It follows the engine's grammar:
//
//	condition  = comparison { ("and" | "or") comparison }
//	comparison = filtered | operand ("==" | "!=" | "<" | ">" | "<=" | ">=" | "contains") operand
//	filtered   = operand { "|" name | "|" name ":" operand { "," operand } }
//	operand    = primary { ".name" | "[" operand "]" }
//	primary    = literal | name | "(" condition ")" | "(" operand ".." operand ")"
type expression struct {
	*checker
	tag    string // empty for an output
	args   string
	start  int             // line on which the tag starts
	line   int             // line on which args starts
	lex    []token         // tokens that are not read yet
	last   token           // token that was read last
	out    strings.Builder // tokens that were read, rewritten for the engine
	depth  int
	wrong  *token // first token that the grammar does not allow; nil for none
	before token  // token before wrong
}

func (e *expression) peek() token {
	if len(e.lex) == 0 {
		return token{at: len(e.args)}
	}
	return e.lex[0]
}

func (e *expression) next() token {
	t := e.peek()
	e.out.WriteString(e.args[e.last.end():t.end()])
	e.lex = e.lex[min(1, len(e.lex)):]
	e.last = t
	return t
}

// fail records that the grammar does not allow the next token.
func (e *expression) fail() {
	if e.wrong == nil {
		t := e.peek()
		e.wrong, e.before = &t, e.last
	}
}

func (e *expression) accept(texts ...string) bool {
	found := slices.Contains(texts, e.peek().text)
	if found {
		e.next()
	}
	return found
}

func (e *expression) expect(text string) {
	if !e.accept(text) {
		e.fail()
	}
}

// report records a problem with its line, unless the grammar does not allow the tokens before
// it. It returns the unknown type, which suppresses follow-up problems.
func (e *expression) report(at token, format string, a ...any) *typ {
	if e.wrong == nil {
		e.problems = append(e.problems, Problem{e.lineOf(at), fmt.Sprintf(format, a...), ErrRender})
	}
	return &typ{kind: unknown}
}

func (e *expression) lineOf(t token) int { return e.line + strings.Count(e.args[:t.at], "\n") }

// done returns args, rewritten for the engine. It records a problem when the grammar
// does not allow args.
func (e *expression) done() string {
	if len(e.lex) > 0 {
		e.fail()
	}
	if e.wrong != nil {
		e.wrongSyntax(e.lineOf(*e.wrong), "%s", e.syntaxProblem())
		return ""
	}
	return e.out.String() + e.args[e.last.end():]
}

func (e *expression) condition() *typ {
	t := e.comparison()
	for e.accept("and", "or") {
		e.comparison()
		t = plain
	}
	return t
}

func (e *expression) comparison() *typ {
	t := e.filtered()
	if e.comparesWithBlank() {
		return plain
	}
	if e.accept("==", "!=", "<", ">", "<=", ">=", "contains") {
		e.operand()
		return plain
	}
	return t
}

func (e *expression) filtered() *typ {
	t := e.operand()
	for e.accept("|") {
		t = e.filter(t)
	}
	return t
}

// comparesWithBlank reads a comparison with blank or empty on its right side, if that is
// next. The engine knows neither, so the filter equals takes the place of the operator.
func (e *expression) comparesWithBlank() bool {
	if len(e.lex) < 2 || e.lex[1].text != "blank" && e.lex[1].text != "empty" {
		return false
	}
	operator, right := e.lex[0], e.lex[1]
	switch operator.text {
	case "<=", ">=":
		e.report(operator, "%s cannot be ordered; compare with == or !=", right.text)
	case "==", "!=":
		fmt.Fprintf(&e.out, "%s| equals: '%s'", e.args[e.last.end():operator.at], e.args[operator.at:right.end()])
		e.lex, e.last = e.lex[2:], right
		return true
	}
	return false
}

// filter reads the name and the arguments of a filter, and returns the type of
// its result for input.
func (e *expression) filter(input *typ) *typ {
	if at := e.peek().class; at != name && at != keyword {
		e.fail()
		return &typ{kind: unknown}
	}
	call := call{at: e.next(), input: input}
	filter, more := strings.CutSuffix(call.at.text, ":")
	for ; more; more = e.accept(",") {
		option := e.peek()
		if option.class != keyword {
			call.lex = append(call.lex, option)
			call.args = append(call.args, e.operand())
			continue
		}
		e.next()
		if filter != "default" || option.text != "allow_false:" {
			e.report(option, "filter %q has no option %q; leave it out", filter, option.text)
		}
		e.operand()
	}
	f, known := signatures[filter]
	if !known {
		return e.report(call.at, "unknown filter %q; %s", filter, filterAdvice(filter))
	}
	return e.apply(filter, f, call)
}

func (e *expression) operand() *typ {
	if e.depth++; e.depth > maxNesting {
		e.fail()
		return plain
	}
	defer func() { e.depth-- }()
	start := e.peek().at
	t := e.primary()
	for {
		at := e.peek()
		of := strings.TrimSpace(e.args[start:at.at])
		switch {
		case at.class == property:
			e.next()
			t = e.property(t, of, at, at.text[1:])
		case e.accept("["):
			t = e.item(t, of)
		default:
			return t
		}
	}
}

func (e *expression) primary() *typ {
	at := e.peek()
	_, err := strconv.Atoi(at.text)
	switch {
	case at.class == name && at.text != "true" && at.text != "false" && at.text != "nil":
		return e.variable()
	case at.text == "(":
		e.next()
		t := e.condition()
		if e.accept("..") {
			e.operand()
			t = &typ{kind: rangeType, elem: plain}
		}
		e.expect(")")
		return t
	case at.class == symbol, at.class == keyword, at.class == property:
		e.fail()
	case at.class == number && errors.Is(err, strconv.ErrRange): // the engine panics
		e.fail()
	}
	e.next()
	return plain
}

func (e *expression) variable() *typ {
	at := e.peek()
	t := e.names[at.text]
	e.used[at.text] = true
	if t == nil && at.text == "not" {
		e.fail()
	}
	e.next()
	if t != nil {
		return t
	}
	prefix, known, issue := "", slices.Sorted(maps.Keys(e.names)), e.schema["issue"].names()
	if tracker.Nearest(at.text, known) == "" && tracker.Nearest(at.text, issue) != "" { // people easily forget "issue."
		prefix, known = "issue.", issue
	}
	return e.report(at, "unknown variable %q; %s", at.text, suggestion(at.text, prefix, known))
}

// property returns the type of the property of t with this name; of is the source
// text of t.
func (e *expression) property(t *typ, of string, at token, name string) *typ {
	if found := t.named(name); found != nil {
		return found
	}
	return e.report(at, "unknown variable %q; %s is %s: %s", of+"."+name, of, t.kind, suggestion(name, of+".", t.names()))
}

// item reads an index of t and its closing bracket, and returns the type of the item; of
// is the source text of t.
func (e *expression) item(t *typ, of string) *typ {
	at := e.peek()
	e.operand()
	constant := at.class == word && e.last == at
	e.expect("]")
	switch {
	case constant:
		return e.property(t, of, at, at.unquoted())
	case t.kind == list, t.kind == dict:
		return t.elem
	case t.kind == unknown:
		return t
	}
	return e.report(at, "%s is %s, so write the name of a field: %s", of, t.kind, suggestion("", of+".", t.names()))
}

// token is a piece of an expression. The token after the last one has no text.
type token struct {
	text  string
	at    int // offset in the expression
	class class
}

// class tells the tokens apart that can have more than one text.
type class int

const (
	symbol   class = iota
	word           // a string in quotes
	number         // a number with its sign
	keyword        // a name with its colon
	name           // a variable, a filter or a word of the grammar
	property       // a dot and the name of a property
)

// lexeme returns the expression that matches one token of the engine's scanner. Its groups are the
// classes from word on, in their order.
var lexeme = lazy.Regexp(`(?s)("(?:[^"\\]|\\.)*"|'[^']*')|(-?\d+(?:\.\d+)?)|(` + lexemeName + `:)|(` + lexemeName + `)|(\.` + lexemeName + `)|\.\.|[=!<>]=|[^\s\v]`)

const lexemeName = `[\pL_][\pL\pM\p{Nd}_-]*\??`

func tokenize(args string) []token {
	var all []token
	for _, m := range lexeme().FindAllStringSubmatchIndex(args, -1) {
		t := token{text: args[m[0]:m[1]], at: m[0]}
		for c := word; c <= property; c++ {
			if m[2*c] >= 0 {
				t.class = c
			}
		}
		all = append(all, t)
	}
	return all
}

func (t token) end() int { return t.at + len(t.text) }

func (t token) unquoted() string { return t.text[1 : len(t.text)-1] }
