package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/runner/nearest"
)

// maxNesting bounds what stands within each other, blocks or brackets, since
// the engine and the checker both recurse.
const maxNesting = 100

// expression reads the arguments of one tag or output. It follows the engine's
// grammar:
//
//	cond     = rel { ("and" | "or") rel }
//	rel      = filtered | expr ("==" | "!=" | "<" | ">" | "<=" | ">=" | "contains") expr
//	filtered = expr { "|" name | "|" name ":" argument { "," argument } }
//	expr     = primary { ".name" | "[" expr "]" }
//	primary  = literal | name | "(" cond ")" | "(" expr ".." expr ")"
type expression struct {
	*checker
	args  string
	line  int // where args starts
	lex   []lexeme
	depth int
	bad   bool // something here is not in the grammar
	edits []edit
}

// edit replaces args[from:to].
type edit struct {
	from, to int
	text     string
}

func (e *expression) peek() lexeme {
	if len(e.lex) == 0 {
		return lexeme{at: len(e.args)}
	}
	return e.lex[0]
}

func (e *expression) next() lexeme {
	l := e.peek()
	if len(e.lex) > 0 {
		e.lex = e.lex[1:]
	}
	return l
}

func (e *expression) accept(texts ...string) bool {
	found := slices.Contains(texts, e.peek().text)
	if found {
		e.next()
	}
	return found
}

func (e *expression) expect(text string) { e.bad = !e.accept(text) || e.bad }

// report keeps a problem, with the line it is on. What is wrong once has a
// shape that is never wrong again.
func (e *expression) report(at lexeme, format string, a ...any) *shape {
	line := e.line + strings.Count(e.args[:at.at], "\n")
	e.problems = append(e.problems, fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, a...)))
	return &shape{kind: unknown}
}

// done is args with the edits made. It fails when the grammar does not account
// for all of them.
func (e *expression) done() (string, error) {
	if e.bad || len(e.lex) > 0 {
		return "", fmt.Errorf("line %d: syntax error in %q; write values, filters and comparisons only", e.line, e.args)
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
	return out.String(), nil
}

func (e *expression) cond() *shape {
	s := e.rel()
	for e.accept("and", "or") {
		e.rel()
		s = plain
	}
	return s
}

func (e *expression) rel() *shape {
	left := e.peek()
	s := e.filtered()
	op := e.peek()
	if !e.accept("==", "!=", "<", ">", "<=", ">=", "contains") {
		return s
	}
	right := e.peek()
	e.expr()
	// The engine asks the left side whether the two are equal, and only blank
	// and empty know: x == blank becomes blank == x.
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

func (e *expression) filtered() *shape {
	s := e.expr()
	for e.accept("|") {
		s = e.filter(s)
	}
	return s
}

// filter reads the name and the arguments of a filter that is applied to input.
func (e *expression) filter(input *shape) *shape {
	call := call{at: e.next(), input: input}
	name, more := strings.CutSuffix(call.at.text, ":")
	for ; more; more = e.accept(",") {
		if word := e.peek(); word.isKeyword() {
			e.next()
			if name != "default" || word.text != "allow_false:" {
				e.report(word, "filter %q has no option %q; leave it out", name, word.text)
			}
			e.expr()
			continue
		}
		call.lex = append(call.lex, e.peek())
		call.args = append(call.args, e.expr())
	}
	f, known := signatures[name]
	if !known {
		return e.report(call.at, "unknown filter %q; %s", name, instead(name, "", slices.Sorted(maps.Keys(signatures))))
	}
	return e.apply(name, f, call)
}

func (e *expression) expr() *shape {
	if e.depth++; e.depth > maxNesting {
		e.bad = true
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

func (e *expression) primary() *shape {
	l := e.next()
	switch {
	case l.text == "(":
		s := e.cond()
		if e.accept("..") {
			e.expr()
			s = &shape{kind: span, elem: plain}
		}
		e.expect(")")
		return s
	case l.isString(), l.isNumber(), l.text == "true", l.text == "false", l.text == "nil":
		return plain
	case !l.isName():
		e.bad = true
		return plain
	}
	if s := e.lookup(l.text); s != nil {
		return s
	}
	known, issue := e.known(), e.schema["issue"]
	if nearest.Name(l.text, known) == "" && nearest.Name(l.text, issue.names()) != "" { // "issue." is easily forgotten
		return e.report(l, "unknown variable %q; %s", l.text, instead(l.text, "issue.", issue.names()))
	}
	return e.report(l, "unknown variable %q; %s", l.text, instead(l.text, "", known))
}

// property is what a name means after the value whose text is of.
func (e *expression) property(s *shape, of string, at lexeme, name string) *shape {
	if found := s.named(name); found != nil {
		return found
	}
	return e.report(at, "unknown variable %q; %s is %s: %s", of+"."+name, of, s.kind, instead(name, of+".", s.names()))
}

// item is what brackets mean after the value whose text is of.
func (e *expression) item(s *shape, of string) *shape {
	at := e.peek()
	e.expr()
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
		return e.report(at, "%s is %s, so write the name of a field: %s", of, s.kind, instead("", of+".", s.names()))
	}
}
