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
	if takesNoArguments(tok.Name) && tok.Args != "" {
		c.wrongSyntax(e.line, "{%% %s %%} takes no arguments; remove %q, or write elsif for another condition", tok.Name, tok.Args)
		e = c.expression(parser.Token{SourceLoc: tok.SourceLoc, Name: tok.Name})
	}
	opened := block{tag: tok.Name, line: tok.SourceLoc.LineNo}
	switch tok.Name {
	case "include", "render":
		c.wrongSyntax(e.line, "{%% %s %%} is not available, since a prompt reads no files; write the text here", tok.Name)
		return ""
	case "break", "continue", "cycle":
		if !c.inLoop() {
			c.wrongSyntax(e.line, "{%% %s %%} is outside of a loop; put it in a {%% for %%}", tok.Name)
		}
		return tok.Args
	case "comment", "raw":
		c.open(opened)
		return tok.Args
	case "capture":
		opened.name = e.binds()
		c.open(opened)
	case "for", "tablerow":
		opened.name, opened.each = e.loop()
		c.open(opened)
	case "if", "unless", "case":
		e.condition()
		c.open(opened)
	case "elsif":
		e.condition()
	case "when":
		e.when()
	case "assign":
		name := e.binds()
		e.expect("=")
		c.names[name] = e.condition()
	case "else":
		if len(c.blocks) > 0 {
			c.blocks[len(c.blocks)-1].each = nil
		}
	default:
		c.end(tok)
		return ""
	}
	return e.done()
}

// open adds a block to those that are open.
func (c *checker) open(b block) {
	if len(c.blocks) == maxNesting+1 {
		c.wrongSyntax(b.line, "more than %d blocks are open; close some", maxNesting)
	}
	c.blocks = append(c.blocks, b)
}

// end closes the innermost block, or records a problem when the tag does not close it.
func (c *checker) end(tok parser.Token) {
	line, last := tok.SourceLoc.LineNo, len(c.blocks)-1
	opener, isEnd := strings.CutPrefix(tok.Name, "end")
	known := isEnd && slices.Contains(tags, opener)
	switch {
	case c.unbalanced && isEnd: // what it closes is not known
		return
	case !known:
		c.wrongSyntax(line, "unknown tag %q; %s", tok.Name, suggestion(tok.Name, "", tags))
	case last < 0:
		c.wrongSyntax(line, "{%% %s %%} closes nothing; remove it", tok.Name)
	case c.blocks[last].tag != opener:
		open := c.blocks[last]
		c.wrongSyntax(line, "{%% %s %%} stands where {%% %s %%} of line %d is open; add {%% end%s %%} before it",
			tok.Name, open.tag, open.line, open.tag)
	default:
		if opener == "capture" {
			c.names[c.blocks[last].name] = plain
		}
		c.blocks = c.blocks[:last]
		return
	}
	c.unbalanced = true
}

func takesNoArguments(tag string) bool {
	return tag == "else" || tag == "break" || tag == "continue" || tag == "raw" || strings.HasPrefix(tag, "end")
}

// binds reads a name that the template assigns. The names that the program
// provides cannot be assigned.
func (e *expression) binds() string {
	if !e.peek().isName() {
		e.fail()
		return ""
	}
	l := e.next()
	if _, taken := e.schema[l.text]; taken || l.text == "forloop" {
		e.report(l, "%q has a meaning already; give the value another name", l.text)
	}
	return l.text
}

// loop reads the arguments of a for: the name it binds, and to what. It sends
// the collection through the filter each, see [loopCounter].
func (e *expression) loop() (string, *typ) {
	name := e.binds()
	e.expect("in")
	at := e.peek()
	s := e.filtered()
	end := e.peek().at
	e.edits = append(e.edits, edit{end, end, fmt.Sprintf(" | each: %d ", e.line)})
	if s.kind != list && s.kind != rangeType && s.kind != unknown {
		s = e.report(at, "%s is %s, and a loop goes over a list or a range", strings.TrimSpace(e.args[at.at:end]), s.kind)
	}
	for e.peek().text != "" && !e.bad {
		switch {
		case e.accept("reversed"):
		case e.accept("limit:", "offset:", "cols:"):
			e.operand()
		default:
			e.fail()
		}
	}
	if s.elem == nil {
		return name, s
	}
	return name, s.elem
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
