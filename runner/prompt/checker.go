package prompt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/osteele/liquid/parser"

	"github.com/symphony-runner/symphony/tracker"
)

// checker walks the tags of a source in order and tracks the names that are
// known so far. An assigned name is known from its assignment on, with the type
// of the last assignment above; the names of a loop are known in its body.
type checker struct {
	schema     map[string]*typ // names that keep their meaning
	names      map[string]*typ // names that are known here
	used       map[string]bool // names that the source reads
	blocks     []block         // open blocks, outermost first
	out        strings.Builder // source, rewritten for the engine
	problems   Problems
	unbalanced bool // a tag that closes or opens a block was not understood, so the open blocks are not known
}

// block is an open block. Its function leave, if it has one, is called when its body ends.
type block struct {
	tag   string
	line  int
	leave func()
}

// check returns the source rewritten for the engine, the names that it reads, and its
// problems. The source begins on a line of a file. With a problem of the syntax, the
// rewritten source has no meaning.
func check(source string, line int) (rewritten string, used map[string]bool, problems Problems) {
	c := &checker{schema: schema(), names: maps.Clone(schema()), used: map[string]bool{}}
	for _, tok := range parser.Scan(source, parser.SourceLoc{LineNo: line}, nil) {
		c.token(tok)
	}
	if n := len(c.blocks); n > 0 && !c.unbalanced {
		open := c.blocks[n-1]
		c.wrongSyntax(open.line, "{%% %s %%} is never closed; add {%% end%s %%}", open.tag, open.tag)
	}
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return c.out.String(), c.used, c.problems
}

func (c *checker) wrongSyntax(line int, format string, args ...any) {
	c.problems = append(c.problems, Problem{line, fmt.Sprintf(format, args...), ErrParse})
}

func (c *checker) token(tok parser.Token) {
	args := tok.Args
	switch opener := c.verbatim(); {
	case opener != "" && tok.Name != "end"+opener:
	case tok.Type == parser.TextTokenType:
		c.unclosed(tok)
	case tok.Type == parser.ObjTokenType:
		args = c.output(tok)
	case tok.Type == parser.TagTokenType:
		args = c.tag(tok)
	}
	if args == tok.Args {
		c.out.WriteString(tok.Source)
		return
	}
	at := strings.LastIndex(tok.Source, tok.Args)
	c.out.WriteString(tok.Source[:at] + args + tok.Source[at+len(tok.Args):])
}

// verbatim returns the tag of the innermost block if its body is not Liquid, "" otherwise.
func (c *checker) verbatim() string {
	if n := len(c.blocks); n > 0 && (c.blocks[n-1].tag == "raw" || c.blocks[n-1].tag == "comment") {
		return c.blocks[n-1].tag
	}
	return ""
}

// unclosed records each {{ or {% without its end, which the engine would print as text.
func (c *checker) unclosed(tok parser.Token) {
	for i, line := range strings.Split(tok.Source, "\n") {
		if strings.Contains(line, "{{") {
			c.wrongSyntax(tok.SourceLoc.LineNo+i, "{{ without }} on the same line; close it, or put {%% raw %%} around text that has {{")
		} else if strings.Contains(line, "{%") {
			c.unbalanced = true
			c.wrongSyntax(tok.SourceLoc.LineNo+i, "{%% without a tag and %%}; close it, or put {%% raw %%} around text that has {%%")
		}
	}
}

func (c *checker) output(tok parser.Token) string {
	e := c.expression(tok)
	if e.condition().kind == rangeType {
		e.report(token{}, "%s is a range, which cannot be printed; go over it with {%% for %%}", tok.Args)
	}
	return "(" + e.done() + ") | show"
}

func (c *checker) expression(tok parser.Token) *expression {
	before, _, _ := strings.Cut(tok.Source, tok.Args)
	start := tok.SourceLoc.LineNo
	return &expression{
		checker: c, tag: tok.Name, args: tok.Args, lex: tokenize(tok.Args),
		start: start, line: start + strings.Count(before, "\n"),
	}
}

// bind gives a name a type, until restore is called.
func (c *checker) bind(name string, t *typ) (restore func()) {
	old, known := c.names[name]
	c.names[name] = t
	return func() {
		delete(c.names, name)
		if known {
			c.names[name] = old
		}
	}
}

// suggestion returns advice for an unknown name: the known name that is nearest to
// it, with prefix, or all the known names.
func suggestion(name, prefix string, known []string) string {
	if near := tracker.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", prefix+near)
	}
	return "known are " + strings.Join(known, ", ")
}
