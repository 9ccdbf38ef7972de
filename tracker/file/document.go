package file

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"
)

var errNoFrontMatter = errors.New(`it does not begin with front matter: write a line "---", then title and state, then a line "---"`)

// document holds the parts of an issue file; joined, they are every byte of it.
type document struct {
	opening     []byte // the first line, "---", perhaps after a byte order mark
	frontMatter []byte // YAML
	closing     []byte // the line "---" after it
	body        []byte
}

// fence matches the line before and after the front matter.
var fence = regexp.MustCompile(`(?m)^---[ \t]*(?:\r?\n|\z)`)

// splitDocument splits the content of an issue file into its parts.
func splitDocument(content []byte) (document, error) {
	rest := bytes.TrimPrefix(content, []byte("\uFEFF"))
	at := fence.FindIndex(rest)
	if at == nil || at[0] != 0 {
		return document{}, errNoFrontMatter
	}
	opened := len(content) - len(rest) + at[1]
	end := fence.FindIndex(content[opened:])
	if end == nil {
		return document{}, errors.New(`its front matter has no end: write a line "---" after it`)
	}
	return document{
		opening:     content[:opened],
		frontMatter: content[opened : opened+end[0]],
		closing:     content[opened+end[0] : opened+end[1]],
		body:        content[opened+end[1]:],
	}, nil
}

// bytes returns the content of the file.
func (d document) bytes() []byte {
	return bytes.Join([][]byte{d.opening, d.frontMatter, d.closing, d.body}, nil)
}

// newline returns the line end that the file uses.
func (d document) newline() string {
	if bytes.HasSuffix(d.opening, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// commentsHeading matches the beginning of the comments that the tool writes. It
// needs both headings, because people may describe an issue under "## Comments".
var commentsHeading = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^## Comments[ \t]*\r?\n(?:[ \t]*\r?\n)*### \d{4}-\d\d-\d\dT[\d:]+Z agent[ \t]*\r?$`)
})

// description returns the body without its comments, with plain line ends.
func (d document) description() string {
	body := d.body
	if at := commentsHeading().FindIndex(body); at != nil {
		body = body[:at[0]]
	}
	return strings.Trim(strings.ReplaceAll(toValidText(body), "\r\n", "\n"), "\n")
}

// toValidText converts bytes to text: invalid UTF-8 and NUL become U+FFFD.
func toValidText(text []byte) string {
	const unknown = "\uFFFD"
	return strings.ReplaceAll(strings.ToValidUTF8(string(text), unknown), "\x00", unknown)
}

// change is what the tool changes in an issue file. An empty part is left alone.
type change struct {
	state   string
	comment string
	at      time.Time
}

// apply returns the content with the change and touches nothing else: in the front
// matter the values of state and updated_at, and the end of the body. Only where one
// of these is written in a form that no edit of its line can replace, the whole
// front matter is written again, with the same meaning.
func (c change) apply(content []byte) ([]byte, error) {
	doc, err := splitDocument(content)
	if err != nil {
		return nil, err
	}
	at := c.at.UTC().Format(time.RFC3339)
	if c.state != "" {
		if doc.frontMatter, err = setValue(doc, "state", yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: c.state}); err != nil {
			return nil, err
		}
	}
	if doc.frontMatter, err = setValue(doc, "updated_at", yaml.Node{Kind: yaml.ScalarNode, Tag: "!!timestamp", Value: at}); err != nil {
		return nil, err
	}
	if c.comment != "" {
		doc.body = appendComment(doc, at, c.comment)
	}
	return doc.bytes(), nil
}

// appendComment returns the body with the comment below the others.
func appendComment(doc document, at, comment string) []byte {
	var text strings.Builder
	if len(doc.body) > 0 || !bytes.HasSuffix(doc.closing, []byte("\n")) {
		text.WriteString("\n")
	}
	if len(doc.body) > 0 && !bytes.HasSuffix(doc.body, []byte("\n")) {
		text.WriteString("\n")
	}
	if !commentsHeading().Match(doc.body) {
		text.WriteString("## Comments\n\n")
	}
	fmt.Fprintf(&text, "### %s agent\n\n%s\n", at, comment)
	return append(bytes.Clone(doc.body), strings.ReplaceAll(text.String(), "\n", doc.newline())...)
}

// valueLines match a line that gives a key one plain or quoted value: the key,
// space, the value (may be empty), and space or a comment.
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

// setValue returns the front matter with another value for a key, if the key is
// there.
func setValue(doc document, key string, value yaml.Node) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(toValidText(doc.frontMatter)), &root); err != nil {
		return nil, err
	}
	node := lookup(&root, key)
	if node == nil {
		return doc.frontMatter, nil
	}
	value.Style = node.Style & (yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle)
	written, err := yaml.Marshal(&value)
	if err != nil {
		return nil, err
	}
	value.LineComment = node.LineComment
	*node = value

	if lines := valueLines[key].FindAllSubmatchIndex(doc.frontMatter, -1); len(lines) == 1 {
		keyEnd, valueStart, valueEnd := lines[0][3], lines[0][6], lines[0][7]
		space := doc.frontMatter[keyEnd:valueStart]
		if len(space) == 0 {
			space = []byte(" ")
		}
		edited := slices.Concat(doc.frontMatter[:keyEnd], space, bytes.TrimSuffix(written, []byte("\n")), doc.frontMatter[valueEnd:])
		if equivalent(edited, &root) {
			return edited, nil
		}
	}
	encoded, err := encode(&root)
	if err != nil {
		return nil, err
	}
	if edited := bytes.ReplaceAll(encoded, []byte("\n"), []byte(doc.newline())); equivalent(edited, &root) {
		return edited, nil
	}
	return nil, fmt.Errorf("%s is written in a form that cannot be changed: write it as one line, %s: %s", key, key, value.Value)
}

// encode returns the YAML of a document.
func encode(root *yaml.Node) ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err := errors.Join(encoder.Encode(root), encoder.Close())
	return text.Bytes(), err
}

// lookup returns the value of a key in the mapping of a document; nil when it is
// absent.
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

// equivalent reports whether front matter holds exactly the keys and values of root.
func equivalent(matter []byte, root *yaml.Node) bool {
	var got yaml.Node
	return yaml.Unmarshal([]byte(toValidText(matter)), &got) == nil && sameValues(&got, root)
}

// sameValues reports whether two nodes have the same values, in whatever form they
// are written.
func sameValues(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameValues(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
