package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// maxNesting limits nested blocks and nested brackets, since the engine and the
// checker both recurse.
const maxNesting = 100

// expression reads the arguments of one tag or output. It follows the engine's
// grammar:
//
//	condition  = comparison { ("and" | "or") comparison }
//	comparison = filtered | operand ("==" | "!=" | "<" | ">" | "<=" | ">=" | "contains") operand
//	filtered   = operand { "|" name | "|" name ":" argument { "," argument } }
//	operand    = primary { ".name" | "[" operand "]" }
//	primary    = literal | name | "(" condition ")" | "(" operand ".." operand ")"
type expression struct {
	*checker
	tag    string // empty for an output
	args   string
	line   int // where args starts
	lex    []token
	last   token // that next returned
	depth  int
	bad    bool  // the grammar does not allow something here
	wrong  token // the first that the grammar does not allow; empty for the end
	before token // the one before wrong
	edits  []edit
}

// edit replaces args[from:to].
type edit struct {
	from, to int
	text     string
}

func (e *expression) peek() token {
	if len(e.lex) == 0 {
		return token{at: len(e.args)}
	}
	return e.lex[0]
}

func (e *expression) next() token {
	l := e.peek()
	if len(e.lex) > 0 {
		e.lex = e.lex[1:]
	}
	e.last = l
	return l
}

// fail records that the grammar does not allow the next token.
func (e *expression) fail() {
	if !e.bad {
		e.bad, e.wrong, e.before = true, e.peek(), e.last
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

// report records a problem with its line, unless the grammar does not allow what came
// before it. It returns the unknown type, which suppresses follow-up problems.
func (e *expression) report(at token, format string, a ...any) *typ {
	if !e.bad {
		e.problems = append(e.problems, Problem{e.lineOf(at), fmt.Sprintf(format, a...), ErrRender})
	}
	return &typ{kind: unknown}
}

// lineOf returns the line of a token.
func (e *expression) lineOf(at token) int { return e.line + strings.Count(e.args[:at.at], "\n") }

// done returns args with the edits applied. It records a problem when the grammar does not
// allow args.
func (e *expression) done() string {
	if len(e.lex) > 0 {
		e.fail()
	}
	if e.bad {
		e.wrongSyntax(e.lineOf(e.wrong), "%s", e.syntaxProblem())
		return ""
	}
	slices.SortStableFunc(e.edits, func(a, b edit) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, edit := range e.edits {
		out.WriteString(e.args[at:edit.from])
		out.WriteString(edit.text)
		at = edit.to
	}
	out.WriteString(e.args[at:])
	return out.String()
}

func (e *expression) condition() *typ {
	s := e.comparison()
	for e.accept("and", "or") {
		e.comparison()
		s = plain
	}
	return s
}

func (e *expression) comparison() *typ {
	left := e.peek()
	s := e.filtered()
	op := e.peek()
	if !e.accept("==", "!=", "<", ">", "<=", ">=", "contains") {
		return s
	}
	right := e.peek()
	e.operand()
	// The engine calls Equal of the left side, and only blank and empty define
	// it: x == blank becomes blank == x.
	if strings.HasSuffix(op.text, "=") && (right.text == "blank" || right.text == "empty") {
		if op.text != "==" && op.text != "!=" {
			e.report(op, "%s cannot be ordered; compare with == or !=", right.text)
		}
		e.edits = append(e.edits,
			edit{left.at, left.at, right.text + " " + op.text + " "},
			edit{op.at, right.end(), ""})
	}
	return plain
}

func (e *expression) filtered() *typ {
	s := e.operand()
	for e.accept("|") {
		s = e.filter(s)
	}
	return s
}

// filter reads the name and the arguments of a filter, and returns the type of
// its result for input.
func (e *expression) filter(input *typ) *typ {
	if name := e.peek(); !name.isName() && !name.isKeyword() {
		e.fail()
		return &typ{kind: unknown}
	}
	call := call{at: e.next(), input: input}
	name, more := strings.CutSuffix(call.at.text, ":")
	for ; more; more = e.accept(",") {
		if word := e.peek(); word.isKeyword() {
			e.next()
			if name != "default" || word.text != "allow_false:" {
				e.report(word, "filter %q has no option %q; leave it out", name, word.text)
			}
			e.operand()
			continue
		}
		call.lex = append(call.lex, e.peek())
		call.args = append(call.args, e.operand())
	}
	f, known := signatures[name]
	if !known {
		return e.report(call.at, "unknown filter %q; %s", name, filterAdvice(name))
	}
	return e.apply(name, f, call)
}

func (e *expression) operand() *typ {
	if e.depth++; e.depth > maxNesting {
		e.fail()
		return plain
	}
	defer func() { e.depth-- }()
	start := e.peek().at
	s := e.primary()
	for {
		l := e.peek()
		of := strings.TrimSpace(e.args[start:l.at])
		switch {
		case l.isProperty():
			e.next()
			s = e.property(s, of, l, l.text[1:])
		case l.text == "[":
			e.next()
			s = e.item(s, of)
		default:
			return s
		}
	}
}

func (e *expression) primary() *typ {
	l := e.peek()
	if !l.isValue() || l.text == "not" && e.lookup(l.text) == nil {
		e.fail()
	}
	e.next()
	switch {
	case l.text == "(":
		s := e.condition()
		if e.accept("..") {
			e.operand()
			s = &typ{kind: rangeType, elem: plain}
		}
		e.expect(")")
		return s
	case l.isString(), l.isNumber(), l.text == "true", l.text == "false", l.text == "nil":
		return plain
	case !l.isName():
		return plain
	}
	if s := e.lookup(l.text); s != nil {
		return s
	}
	known, issue := e.known(), e.schema["issue"]
	if tracker.Nearest(l.text, known) == "" && tracker.Nearest(l.text, issue.names()) != "" { // people easily forget "issue."
		return e.report(l, "unknown variable %q; %s", l.text, suggestion(l.text, "issue.", issue.names()))
	}
	return e.report(l, "unknown variable %q; %s", l.text, suggestion(l.text, "", known))
}

// property returns the type of the property of s with this name; of is the source
// text of s.
func (e *expression) property(s *typ, of string, at token, name string) *typ {
	if found := s.named(name); found != nil {
		return found
	}
	return e.report(at, "unknown variable %q; %s is %s: %s", of+"."+name, of, s.kind, suggestion(name, of+".", s.names()))
}

// item reads brackets after s, and returns the type of the item; of is the source
// text of s.
func (e *expression) item(s *typ, of string) *typ {
	at := e.peek()
	e.operand()
	constant := at.isString() && e.peek().at == at.end()
	e.expect("]")
	switch {
	case constant:
		return e.property(s, of, at, at.text[1:len(at.text)-1])
	case s.kind == list, s.kind == dict:
		return s.elem
	case s.kind == unknown:
		return s
	default:
		return e.report(at, "%s is %s, so write the name of a field: %s", of, s.kind, suggestion("", of+".", s.names()))
	}
}
