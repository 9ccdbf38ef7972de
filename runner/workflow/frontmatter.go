package workflow

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Bounds that no honest workflow meets. They keep a hostile one from costing more
// than a moment: aliases multiply, and yaml.v3 compares the keys of a map in pairs.
const (
	maxFile  = 1 << 20  // bytes of the file, and of the front matter with its aliases written out
	maxFront = 64 << 10 // bytes of the front matter
	maxDepth = 100      // levels of nesting, aliases included
	maxItems = 500      // keys of one map, items of one list
)

// split cuts a file into front matter and prompt (SPEC §5.2). The delimiters
// become empty lines, so that line numbers of the front matter are the file's.
func split(content []byte) (front, prompt []byte, err error) {
	if len(content) > maxFile {
		return nil, nil, fmt.Errorf("larger than %d bytes; shorten it", maxFile)
	}
	if !utf8.Valid(content) {
		return nil, nil, errors.New("not valid UTF-8; save it as UTF-8")
	}
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	if !bytes.HasPrefix(content, []byte("---")) {
		return nil, bytes.TrimSpace(content), nil
	}
	first, rest, _ := bytes.Cut(content, []byte("\n"))
	if !delimiter(first) {
		return nil, nil, errors.New(`line 1: the front matter must begin with a line of exactly "---"`)
	}
	front = []byte("\n")
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if delimiter(line) {
			return front, bytes.TrimSpace(rest), nil
		}
		if len(front)+len(line) > maxFront {
			return nil, nil, fmt.Errorf("the front matter is larger than %d bytes; shorten it, or close it with a line of exactly \"---\"", maxFront)
		}
		front = append(append(front, line...), '\n')
	}
	return nil, nil, errors.New(`line 1: the front matter never ends; close it with a line of exactly "---"`)
}

func delimiter(line []byte) bool {
	return string(bytes.TrimRight(line, " \t")) == "---"
}

// decodeFront reads the front matter into its top-level values. What is left to go
// wrong after it is the values themselves.
func decodeFront(front []byte) (map[string]yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(front))
	var doc, next yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF): // nothing but comments
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: line %d: %s; correct the YAML there or just above", ErrParse, stopLine(front), withoutPosition(err))
	}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: line %d: another YAML document begins after the first; keep only one", ErrParse, cmp.Or(next.Line, stopLine(front)))
	}
	budget := maxFile
	if err := bounded(&doc, 0, &budget); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrParse, err)
	}
	if root := doc.Content[0]; root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%w: line %d: write settings as `key: value`", ErrNotAMap, root.Line)
	}
	var whole any // finds duplicate keys at any depth
	if err := doc.Decode(&whole); err != nil {
		return nil, fmt.Errorf("%w: %w; correct the front matter", ErrParse, err)
	}
	var top map[string]yaml.Node
	if err := doc.Decode(&top); err != nil {
		return nil, fmt.Errorf("%w: %w; correct the front matter", ErrParse, err)
	}
	return top, nil
}

// bounded walks a document with its aliases written out. It also refuses explicit
// tags, which yaml.v3 would drop in silence: `!secret name` is not the secret.
func bounded(n *yaml.Node, depth int, budget *int) error {
	*budget -= 1 + len(n.Value)
	switch {
	case *budget < 0:
		return fmt.Errorf("line %d: with its aliases written out the front matter is larger than %d bytes; shorten it", n.Line, maxFile)
	case depth > maxDepth:
		return fmt.Errorf("line %d: nested deeper than %d levels; flatten it", n.Line, maxDepth)
	case n.Kind == yaml.MappingNode && len(n.Content) > 2*maxItems, n.Kind == yaml.SequenceNode && len(n.Content) > maxItems:
		return fmt.Errorf("line %d: a map or list of more than %d entries; shorten it", n.Line, maxItems)
	case n.Style&yaml.TaggedStyle != 0:
		return fmt.Errorf("line %d: the tag %s is not supported; remove it and quote the value if it is text", n.Line, brief(n.Tag))
	case n.Kind == yaml.AliasNode:
		return bounded(n.Alias, depth+1, budget)
	}
	for _, child := range n.Content {
		if err := bounded(child, depth+1, budget); err != nil {
			return err
		}
	}
	return nil
}

// withoutPosition is the text of a syntax error without yaml.v3's own idea of the
// line, which is where the enclosing block begins, or for some errors the line
// before that. See stopLine.
func withoutPosition(err error) string {
	return yamlPosition.ReplaceAllString(err.Error(), "")
}

var yamlPosition = regexp.MustCompile(`^yaml: (line \d+: )?`)

// stopLine is the line at which yaml.v3 stops reading a front matter.
func stopLine(front []byte) int {
	// The scanner looks four characters ahead: padding keeps it in its line.
	lines := &lineReader{rest: bytes.ReplaceAll(front, []byte("\n"), []byte("    \n"))}
	decoder := yaml.NewDecoder(lines)
	for {
		var doc yaml.Node
		if decoder.Decode(&doc) != nil {
			return lines.begun
		}
	}
}

// lineReader hands out at most one line at a time, and counts those it has begun.
type lineReader struct {
	rest  []byte
	begun int
	mid   bool // the last read ended inside a line
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	end := bytes.IndexByte(r.rest, '\n') + 1 // every line has one
	n := copy(p, r.rest[:end])
	if !r.mid {
		r.begun++
	}
	r.mid = n < end
	r.rest = r.rest[n:]
	return n, nil
}
