package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/osteele/liquid/parser"
)

// checker walks the tags of a source in order, with the names that are known so
// far. Names that are assigned hold from there on, wherever that is, with the
// shape of their last assignment above; names of a loop hold in its body.
type checker struct {
	schema   map[string]*shape // names that keep their meaning
	names    map[string]*shape // these, and what has been assigned
	blocks   []block           // open, outermost first
	out      strings.Builder   // the source as the engine shall see it
	problems []error           // unknown names and misfits
}

type block struct {
	tag  string
	line int
	name string // what a loop or a capture binds
	each *shape // of a loop, while in its body
}

// check reads a source. It returns it as it is to be
// rendered, what is wrong with its names, and an error for what is wrong with
// its syntax.
func check(source string) (string, []error, error) {
	c := &checker{schema: schema()}
	c.names = maps.Clone(c.schema)
	for _, tok := range parser.Scan(source, parser.SourceLoc{LineNo: 1}, nil) {
		if err := c.token(tok); err != nil {
			return "", nil, err
		}
	}
	if n := len(c.blocks); n > 0 {
		open := c.blocks[n-1]
		return "", nil, fmt.Errorf("line %d: {%% %s %%} is never closed; add {%% end%s %%}", open.line, open.tag, open.tag)
	}
	return c.out.String(), c.problems, nil
}

func (c *checker) token(tok parser.Token) error {
	args := tok.Args
	var err error
	switch verbatim := c.inside("raw", "comment"); {
	case verbatim && tok.Name != "end"+c.blocks[len(c.blocks)-1].tag:
	case tok.Type == parser.TextTokenType:
		err = unclosed(tok)
	case tok.Type == parser.ObjTokenType:
		args, err = c.output(tok)
	case tok.Type == parser.TagTokenType:
		args, err = c.tag(tok)
	}
	if args == tok.Args {
		c.out.WriteString(tok.Source)
		return err
	}
	at := strings.LastIndex(tok.Source, tok.Args)
	c.out.WriteString(tok.Source[:at] + args + tok.Source[at+len(tok.Args):])
	return err
}

// unclosed finds what the engine prints as it is: an opening without its end.
func unclosed(tok parser.Token) error {
	for i, line := range strings.Split(tok.Source, "\n") {
		if strings.Contains(line, "{{") {
			return fmt.Errorf("line %d: {{ without }} on the same line; close it, or put {%% raw %%} around text that has {{", tok.SourceLoc.LineNo+i)
		}
		if strings.Contains(line, "{%") {
			return fmt.Errorf("line %d: {%% without a tag and %%}; close it, or put {%% raw %%} around text that has {%%", tok.SourceLoc.LineNo+i)
		}
	}
	return nil
}

func (c *checker) output(tok parser.Token) (string, error) {
	e := c.expression(tok)
	s := e.cond()
	if s.kind == span {
		e.report(lexeme{}, "%s is a range, which cannot be printed; go over it with {%% for %%}", tok.Args)
	}
	args, err := e.done()
	return "(" + args + ") | show", err
}

func (c *checker) expression(tok parser.Token) *expression {
	before, _, _ := strings.Cut(tok.Source, tok.Args)
	return &expression{
		checker: c, args: tok.Args, lex: cut(tok.Args),
		line: tok.SourceLoc.LineNo + strings.Count(before, "\n"),
	}
}

// inside tells whether the innermost block is of one of these tags.
func (c *checker) inside(tags ...string) bool {
	return len(c.blocks) > 0 && slices.Contains(tags, c.blocks[len(c.blocks)-1].tag)
}

// lookup is the shape of a variable, or nil when it is not known here.
func (c *checker) lookup(name string) *shape {
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

// known are the variables that hold here.
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
