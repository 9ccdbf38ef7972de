package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/osteele/liquid/parser"
)

// tags lists the known tags, except the ends of blocks.
var tags = []string{
	"assign", "break", "capture", "case", "comment", "continue", "cycle", "else",
	"elsif", "for", "if", "raw", "tablerow", "unless", "when",
}

// tag checks one tag and returns its arguments, rewritten for the engine. The
// engine itself checks which clause may stand in which block.
func (c *checker) tag(tok parser.Token) string {
	e := c.expression(tok)
	opener, isEnd := strings.CutPrefix(tok.Name, "end")
	if e.args != "" && (isEnd || slices.Contains([]string{"else", "break", "continue", "raw"}, tok.Name)) {
		c.wrongSyntax(e.line, "{%% %s %%} takes no arguments; remove %q, or write elsif for another condition", tok.Name, e.args)
		e.args, e.lex = "", nil
	}
	switch tok.Name {
	case "include", "render":
		c.wrongSyntax(e.line, "{%% %s %%} is not available, since a prompt reads no files; write the text here", tok.Name)
		return ""
	case "break", "continue", "cycle":
		if c.names["forloop"] == nil {
			c.wrongSyntax(e.line, "{%% %s %%} is outside of a loop; put it in a {%% for %%}", tok.Name)
		}
		return e.args
	case "comment", "raw":
		c.open(e, nil)
		return e.args
	case "capture":
		name := e.binds()
		c.open(e, func() { c.names[name] = plain })
	case "for", "tablerow":
		c.open(e, e.loop())
	case "if", "unless", "case":
		e.condition()
		c.open(e, nil)
	case "elsif":
		e.condition()
	case "when":
		e.when()
	case "assign":
		name := e.binds()
		e.expect("=")
		c.names[name] = e.condition()
	case "else":
		c.leave()
	default:
		c.end(tok, opener, isEnd)
		return ""
	}
	return e.done()
}

// open adds the block of a tag to the open ones. The function leave, if there is one, is
// called when the body ends.
func (c *checker) open(e *expression, leave func()) {
	if len(c.blocks) > maxNesting {
		c.wrongSyntax(e.line, "more than %d blocks are open; close some", maxNesting)
	}
	c.blocks = append(c.blocks, block{e.tag, e.start, leave})
}

func (c *checker) leave() {
	if last := len(c.blocks) - 1; last >= 0 && c.blocks[last].leave != nil {
		c.blocks[last].leave()
		c.blocks[last].leave = nil
	}
}

// end closes the innermost block, or records a problem when the tag does not close it.
func (c *checker) end(tok parser.Token, opener string, isEnd bool) {
	line, last := tok.SourceLoc.LineNo, len(c.blocks)-1
	switch {
	case c.unbalanced && isEnd: // its block is not known
		return
	case !isEnd || !slices.Contains(tags, opener):
		c.wrongSyntax(line, "unknown tag %q; %s", tok.Name, suggestion(tok.Name, "", tags))
	case last < 0:
		c.wrongSyntax(line, "{%% %s %%} closes nothing; remove it", tok.Name)
	case c.blocks[last].tag != opener:
		open := c.blocks[last]
		c.wrongSyntax(line, "{%% %s %%} stands where {%% %s %%} of line %d is open; add {%% end%s %%} before it",
			tok.Name, open.tag, open.line, open.tag)
	default:
		c.leave()
		c.blocks = c.blocks[:last]
		return
	}
	c.unbalanced = true
}

// binds reads a name that the template assigns. The names that the program
// provides cannot be assigned.
func (e *expression) binds() string {
	if e.peek().class != name {
		e.fail()
		return ""
	}
	at := e.next()
	if _, taken := e.schema[at.text]; taken || at.text == "forloop" {
		e.report(at, "%q has a meaning already; give the value another name", at.text)
	}
	return at.text
}

// loop reads the arguments of a for and binds its names. It returns the function that
// restores them after the body. It sends the collection through the filter each, see
// [loopCounter].
func (e *expression) loop() (restore func()) {
	variable := e.binds()
	e.expect("in")
	at := e.peek()
	t := e.filtered()
	fmt.Fprintf(&e.out, " | each: %d ", e.line)
	if t.kind != list && t.kind != rangeType && t.kind != unknown {
		t = e.report(at, "%s is %s, and a loop goes over a list or a range", e.args[at.at:e.last.end()], t.kind)
	}
	for e.wrong == nil && len(e.lex) > 0 {
		switch {
		case e.accept("reversed"):
		case e.accept("limit:", "offset:", "cols:"):
			e.operand()
		default:
			e.fail()
		}
	}
	if t.elem != nil {
		t = t.elem
	}
	restoreLoop, restoreVariable := e.bind("forloop", loopVariable), e.bind(variable, t)
	return func() { restoreVariable(); restoreLoop() }
}

func (e *expression) when() {
	for more := true; more; more = e.accept(",", "or") {
		at := e.peek()
		e.operand()
		if at.text == "blank" || at.text == "empty" {
			e.report(at, "%s cannot stand in when; use if and ==", at.text)
		}
	}
}
