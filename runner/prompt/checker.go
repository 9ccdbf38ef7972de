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
	schema   map[string]*typ // names that keep their meaning
	names    map[string]*typ // these, and what has been assigned
	blocks   []block         // open, outermost first
	out      strings.Builder // the source, rewritten for the engine
	problems Problems        // of the syntax, unknown names, and values of the wrong type
	used     map[string]bool // the names that the source reads
	// unbalanced says that a tag which closes or opens a block was not understood, so that
	// nothing more can be said about what is open.
	unbalanced bool
}

type block struct {
	tag  string
	line int
	name string // what a loop or a capture binds
	each *typ   // of a loop, while in its body
}

// check returns the source rewritten for the engine, the names that it reads, and its
// problems. The source begins on a line of a file. With a problem of the syntax, the
// rewritten source has no meaning.
func check(source string, line int) (rewritten string, used map[string]bool, problems Problems) {
	c := &checker{schema: schema(), used: map[string]bool{}}
	c.names = maps.Clone(c.schema)
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

// wrongSyntax records a problem of the syntax.
func (c *checker) wrongSyntax(line int, format string, args ...any) {
	c.problems = append(c.problems, Problem{line, fmt.Sprintf(format, args...), ErrParse})
}

func (c *checker) token(tok parser.Token) {
	args := tok.Args
	switch verbatim := c.inside("raw", "comment"); {
	case verbatim && tok.Name != "end"+c.blocks[len(c.blocks)-1].tag:
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
	s := e.condition()
	if s.kind == rangeType {
		e.report(token{}, "%s is a range, which cannot be printed; go over it with {%% for %%}", tok.Args)
	}
	return "(" + e.done() + ") | show"
}

func (c *checker) expression(tok parser.Token) *expression {
	before, _, _ := strings.Cut(tok.Source, tok.Args)
	return &expression{
		checker: c, tag: tok.Name, args: tok.Args, lex: tokenize(tok.Args),
		line: tok.SourceLoc.LineNo + strings.Count(before, "\n"),
	}
}

// inside reports whether the innermost open block belongs to one of these tags.
func (c *checker) inside(tags ...string) bool {
	return len(c.blocks) > 0 && slices.Contains(tags, c.blocks[len(c.blocks)-1].tag)
}

// lookup returns the type of a variable, or nil when it is not known here.
func (c *checker) lookup(name string) *typ {
	c.used[name] = true
	for _, b := range slices.Backward(c.blocks) {
		switch {
		case b.each == nil:
		case name == b.name:
			return b.each
		case name == "forloop":
			return loopVariable
		}
	}
	return c.names[name]
}

func (c *checker) inLoop() bool { return c.lookup("forloop") != nil }

// known returns the sorted names of the variables that are known here.
func (c *checker) known() []string {
	names := slices.Collect(maps.Keys(c.names))
	for _, b := range c.blocks {
		if b.each != nil {
			names = append(names, b.name, "forloop")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// suggestion returns advice for an unknown name: the known name that is nearest to
// it, with prefix, or all the known names.
func suggestion(name, prefix string, known []string) string {
	if near := tracker.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", prefix+near)
	}
	return "known are " + strings.Join(known, ", ")
}
