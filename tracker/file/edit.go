package file

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// change is what the tool does to an issue file. An empty part is left alone.
type change struct {
	state   string
	comment string
	at      time.Time
}

// apply makes the change and touches nothing else: of the front matter the
// values of state and updated_at, and the end of the body. Only where one of
// these is written in a form that no edit of its line can replace is the whole
// front matter written anew, with the same meaning.
func (c change) apply(content []byte) ([]byte, error) {
	doc, err := cut(content)
	if err != nil {
		return nil, err
	}
	at := c.at.UTC().Format(time.RFC3339)
	if c.state != "" {
		if doc.matter, err = set(doc, "state", yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: c.state}); err != nil {
			return nil, err
		}
	}
	if doc.matter, err = set(doc, "updated_at", yaml.Node{Kind: yaml.ScalarNode, Tag: "!!timestamp", Value: at}); err != nil {
		return nil, err
	}
	if c.comment != "" {
		doc.body = appendComment(doc, at, c.comment)
	}
	return doc.bytes(), nil
}

// appendComment is the body with the comment below the others.
func appendComment(doc document, at, comment string) []byte {
	var text strings.Builder
	if len(doc.body) > 0 || !bytes.HasSuffix(doc.close, []byte("\n")) {
		text.WriteString("\n")
	}
	if len(doc.body) > 0 && !bytes.HasSuffix(doc.body, []byte("\n")) {
		text.WriteString("\n")
	}
	if !comments.Match(doc.body) {
		text.WriteString("## Comments\n\n")
	}
	fmt.Fprintf(&text, "### %s agent\n\n%s\n", at, comment)
	return append(bytes.Clone(doc.body), strings.ReplaceAll(text.String(), "\n", doc.newline())...)
}

// valueLines are lines that give a key one plain or quoted value:
// the key, space, the value (perhaps none), and space or a comment.
var valueLines = map[string]*regexp.Regexp{
	"state":      valueLine("state"),
	"updated_at": valueLine("updated_at"),
}

func valueLine(key string) *regexp.Regexp {
	const (
		double = `"(?:[^"\\\r\n]|\\[^\r\n])*"`
		single = `'(?:[^'\r\n]|'')*'`
		plain  = `[^\s"'#&*!|>{}\[\]%@` + "`" + `](?:\S|[ \t]+[^\s#])*`
	)
	return regexp.MustCompile(`(?m)^(` + key + `[ \t]*:)([ \t]*)(` + double + `|` + single + `|` + plain + `|)([ \t]*(?:[ \t]#.*)?\r?)$`)
}

// set is the front matter with another value for a key, if it is there.
func set(doc document, key string, value yaml.Node) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(clean(doc.matter)), &root); err != nil {
		return nil, err
	}
	node := lookup(&root, key)
	if node == nil {
		return doc.matter, nil
	}
	value.Style = node.Style & (yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle)
	written, err := yaml.Marshal(&value)
	if err != nil {
		return nil, err
	}
	value.LineComment = node.LineComment
	*node = value

	if lines := valueLines[key].FindAllSubmatchIndex(doc.matter, -1); len(lines) == 1 {
		keyEnd, valueStart, valueEnd := lines[0][3], lines[0][6], lines[0][7]
		space := doc.matter[keyEnd:valueStart]
		if len(space) == 0 {
			space = []byte(" ")
		}
		edited := slices.Concat(doc.matter[:keyEnd], space, bytes.TrimSuffix(written, []byte("\n")), doc.matter[valueEnd:])
		if means(edited, &root) {
			return edited, nil
		}
	}
	anew, err := encode(&root)
	if err != nil {
		return nil, err
	}
	if edited := bytes.ReplaceAll(anew, []byte("\n"), []byte(doc.newline())); means(edited, &root) {
		return edited, nil
	}
	return nil, fmt.Errorf("%s is written in a form that cannot be changed: write it as one line, %s: %s", key, key, value.Value)
}

func encode(root *yaml.Node) ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err := errors.Join(encoder.Encode(root), encoder.Close())
	return text.Bytes(), err
}

// lookup is the value of a key in the mapping of a document.
func lookup(root *yaml.Node, key string) *yaml.Node {
	if len(root.Content) == 0 || root.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	entries := root.Content[0].Content
	for i := 0; i+1 < len(entries); i += 2 {
		if entries[i].Kind == yaml.ScalarNode && entries[i].Value == key {
			return entries[i+1]
		}
	}
	return nil
}

// means tells whether front matter holds exactly the keys and values of root.
func means(matter []byte, root *yaml.Node) bool {
	var got yaml.Node
	return yaml.Unmarshal([]byte(clean(matter)), &got) == nil && same(&got, root)
}

// same compares values, not how they are written.
func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
