package workflow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// decodeFront returns the map of the front matter, and its problems as YAML. After it, only the
// values themselves can be wrong. It returns nil when a problem makes all of it unreadable.
func decodeFront(front []byte) (*yaml.Node, []Problem) {
	broken := func(line int, category error, format string, args ...any) []Problem {
		return []Problem{{Line: line, Reason: fmt.Sprintf(format, args...), Category: category}}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(front))
	var doc, next yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF): // nothing but comments
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	case err != nil:
		return nil, []Problem{syntaxProblem(front, err)}
	}
	c := &cleaner{}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		line := 0 // unknown when the second document does not parse
		if err == nil {
			line = next.Line
		}
		c.problems = broken(line, ErrParse, "another YAML document begins after the first; keep only one")
	}
	root := doc.Content[0]
	c.clean(root, "", nil)
	if root.Kind != yaml.MappingNode {
		return nil, append(c.problems, broken(root.Line, ErrNotAMap, "write settings as `key: value`")...)
	}
	var whole any
	if err := doc.Decode(&whole); err != nil { // aliases that multiply, for example
		return nil, append(c.problems, broken(0, ErrParse, "%s; correct the front matter", strings.TrimPrefix(err.Error(), "yaml: "))...)
	}
	return root, c.problems
}

// cleaner removes the YAML that has no meaning in a workflow, and notes each part as a problem.
type cleaner struct{ problems []Problem }

func (c *cleaner) add(n *yaml.Node, key, format string, args ...any) {
	c.problems = append(c.problems, Problem{Key: key, Line: n.Line, Column: n.Column, Reason: fmt.Sprintf(format, args...), Category: ErrParse})
}

// clean cleans a node that is the value of key, below others. It reports whether the node
// may stay.
//
// A tag must go, because yaml.v3 would drop it without a word: `!secret name` is not the
// secret.
func (c *cleaner) clean(n *yaml.Node, key string, above []*yaml.Node) bool {
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		c.add(n, key, "the tag %s is not supported; remove it and quote the value if it is text", truncate(n.Tag))
		return false
	case n.Kind == yaml.AliasNode && slices.Contains(above, n.Alias):
		c.add(n, key, "the anchor %s contains itself; write the value out", truncate(n.Value))
		return false
	case n.Kind == yaml.MappingNode:
		c.cleanMap(n, key, append(above, n))
	case n.Kind == yaml.SequenceNode:
		at := -1
		n.Content = slices.DeleteFunc(n.Content, func(item *yaml.Node) bool {
			at++
			return !c.clean(item, fmt.Sprintf("%s[%d]", key, at), append(above, n))
		})
	}
	return true
}

// cleanMap cleans the entries of a map. Its keys are text, each once.
func (c *cleaner) cleanMap(n *yaml.Node, key string, above []*yaml.Node) {
	var kept []*yaml.Node
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, v := n.Content[i], n.Content[i+1]
		below := strings.TrimPrefix(key+"."+truncate(name.Value), ".")
		text := name
		if name.Kind == yaml.AliasNode {
			text = name.Alias
		}
		first, again := lines[name.Value]
		switch {
		case text.Kind != yaml.ScalarNode:
			c.add(name, key, "a key is a map or a list; write text")
			continue
		case name.Style&yaml.TaggedStyle != 0:
			c.add(name, below, "the tag %s is not supported; remove it", truncate(name.Tag))
			continue
		case again && name.Kind == yaml.ScalarNode:
			c.add(name, below, "is written twice, first on line %d; keep one of them", first)
			continue
		}
		if name.Kind == yaml.ScalarNode {
			lines[name.Value] = name.Line
		}
		if c.clean(v, below, above) {
			kept = append(kept, name, v)
		}
	}
	n.Content = kept
}

var (
	lineOfError   = lazy.Regexp(`^line (\d+): `)
	unknownAnchor = lazy.Regexp(`^unknown anchor '(.*)' referenced$`)
)

// Up to this size of the front matter the line of a syntax error is looked for: it is parsed
// once for each line.
const (
	maxExactLines = 200
	maxExactBytes = 8 << 10
)

// syntaxProblem returns the problem of YAML that cannot be parsed. The line of yaml.v3 is
// often the one at which the enclosing block begins, or the one before that, so the line is
// looked for: the first one that leaves no readable beginning of the text. It is the line
// of the opening bracket or quote when that is never closed.
func syntaxProblem(front []byte, err error) Problem {
	p := Problem{Category: ErrParse}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if match := lineOfError().FindStringSubmatch(text); match != nil {
		text = text[len(match[0]):]
		p.Line, _ = strconv.Atoi(match[1])
	}
	lines := bytes.SplitAfter(front, []byte("\n"))
	if match := unknownAnchor().FindStringSubmatch(text); match != nil {
		p.Line = 1 + slices.IndexFunc(lines, func(line []byte) bool { return bytes.Contains(line, []byte("*"+match[1])) })
		p.Reason = fmt.Sprintf("the anchor %s is not defined; write &%[1]s before a value above, or the value itself", truncate(match[1]))
		return p
	}
	if len(lines) > maxExactLines || len(front) > maxExactBytes {
		p.Reason = "near here or below, " + yamlProblem(text)
		return p
	}
	for good := len(lines) - 1; good >= 0; good-- {
		var any yaml.Node
		err := yaml.Unmarshal(bytes.Join(lines[:good], nil), &any)
		if err == nil || errors.Is(err, io.EOF) {
			p.Line = good + 1
			break
		}
	}
	p.Reason = yamlProblem(text)
	if broken := lines[p.Line-1]; bytes.HasPrefix(bytes.TrimLeft(broken, " "), []byte("\t")) {
		p.Reason = "a tab indents the line; write spaces"
	}
	return p
}

// yamlProblems maps messages of the parser to plain words with a remedy.
var yamlProblems = []struct{ parser, plain string }{
	{"mapping values are not allowed", "a colon is not expected; indent the line like its neighbours, or put a text that has a colon in quotes"},
	{"cannot start any token", "a value begins with a character that has a meaning in YAML; put the value in quotes"},
	{"did not find expected ',' or ']'", "the list that begins with [ lacks a comma or its ]; add it"},
	{"did not find expected ',' or '}'", "the map that begins with { lacks a comma or its }; add it"},
	{"did not find expected key", "the line does not continue the block above it; indent it like its neighbours, and write nothing after a closing quote"},
	{"could not find expected ':'", "a key has no colon; write NAME: VALUE"},
	{"unexpected end of stream", "a text in quotes has no end; close the quotes"},
}

// yamlProblem returns the fault of YAML that the parser does not understand.
func yamlProblem(text string) string {
	for _, known := range yamlProblems {
		if strings.Contains(text, known.parser) {
			return known.plain
		}
	}
	return text + "; correct the YAML"
}
