package file

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/tracker"
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
var fence = lazy.Regexp(`(?m)^---[ \t]*(?:\r?\n|\z)`)

// splitDocument splits the content of an issue file into its parts.
func splitDocument(content []byte) (document, error) {
	rest := bytes.TrimPrefix(content, []byte("\uFEFF"))
	at := fence().FindIndex(rest)
	if at == nil || at[0] != 0 {
		return document{}, errNoFrontMatter
	}
	opened := len(content) - len(rest) + at[1]
	end := fence().FindIndex(content[opened:])
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

// description returns the body without its comments, with plain line ends, and without
// the space of lines around it: a carriage return at its end is half a line end, which
// the next comment would complete.
func (d document) description() string {
	body := d.body
	if at := commentsHeading().FindIndex(body); at != nil {
		body = body[:at[0]]
	}
	return strings.Trim(strings.ReplaceAll(toValidText(body), "\r\n", "\n"), "\r\n")
}

// toValidText converts bytes to text: invalid UTF-8 and NUL become U+FFFD.
func toValidText(text []byte) string {
	const unknown = "\uFFFD"
	return strings.ReplaceAll(strings.ToValidUTF8(string(text), unknown), "\x00", unknown)
}

// change is a change of an issue file. An empty part is left alone.
type change struct {
	state   string
	comment string // a comment of the agent, or one with a key of the program
	key     string // key of the comment that this one replaces; empty for a new one
	label   string // normal form of a label
	remove  bool   // the label

	at       time.Time
	modified time.Time // last change of the file by somebody
}

func (c change) empty() bool { return c.state == "" && c.comment == "" && c.label == "" }

// apply returns the content with the change and touches nothing else: in the front
// matter the values of state, labels and updated_at, one comment of the body, and the times
// in the headings of comments, see [document.writeTimes]. Only where one
// of these is written in a form that no edit of its line can replace, the whole
// front matter is written again, with the same meaning.
func (c change) apply(content []byte) ([]byte, error) {
	doc, err := splitDocument(content)
	if err != nil {
		return nil, err
	}
	at := wholeSecond(c.at).Format(time.RFC3339)
	if c.state != "" {
		if doc.frontMatter, err = setValue(doc, "state", yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: c.state}); err != nil {
			return nil, err
		}
	}
	if c.label != "" {
		if doc.frontMatter, err = setLabel(doc, c.label, !c.remove); err != nil {
			return nil, err
		}
	}
	if doc.frontMatter, err = setValue(doc, "updated_at", yaml.Node{Kind: yaml.ScalarNode, Tag: "!!timestamp", Value: at}); err != nil {
		return nil, err
	}
	doc.body = doc.writeTimes(c.modified)
	switch start, end := doc.findComment(c.key); {
	case c.comment == "":
	case end > 0:
		doc.body = slices.Concat(doc.body[:start], doc.lines("\n\n"+escapeHeadings(c.comment)+"\n\n"), doc.body[end:])
	case c.key != "":
		doc.body = appendComment(doc, at, programAuthor, c.comment, tracker.CommentMarker(c.key))
	default:
		doc.body = appendComment(doc, at, agentAuthor, c.comment, "")
	}
	return doc.bytes(), nil
}

// lines returns text with the line ends of the file.
func (d document) lines(text string) []byte {
	return []byte(strings.ReplaceAll(text, "\n", d.newline()))
}

// escapeHeadings returns the text of a comment in which no line is taken for the
// heading of another one.
func escapeHeadings(text string) string { return commentHeading().ReplaceAllString(text, `\$0`) }

// findComment returns the place of the text of the program's comment with a key in the body:
// from the end of its heading to its marker. The end is 0 if the body has no such comment. Text
// that people wrote after the marker is not part of it.
func (d document) findComment(key string) (start, end int) {
	if key == "" {
		return 0, 0
	}
	marker := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(tracker.CommentMarker(key)) + `[ \t]*\r?$`)
	for _, c := range d.comments() {
		if at := marker.FindIndex(d.body[c.start:c.end]); at != nil && c.author == programAuthor {
			return c.start, c.start + at[0]
		}
	}
	return 0, 0
}

// commentOf returns the text of the program's comment with a key, "" when there is none.
func (d document) commentOf(key string) string {
	start, end := d.findComment(key)
	return strings.TrimSpace(strings.ReplaceAll(toValidText(d.body[start:end]), "\r\n", "\n"))
}

// appendComment returns the body with the comment, and the marker if there is one,
// below the others.
func appendComment(doc document, at, author, comment, marker string) []byte {
	body := bytes.Clone(doc.body)
	if bytes.HasSuffix(body, []byte("\r")) {
		body = append(body, '\n') // half a line end, to which another one would add a line
	}
	var text strings.Builder
	if len(body) > 0 || !bytes.HasSuffix(doc.closing, []byte("\n")) {
		text.WriteString("\n")
	}
	if len(body) > 0 && !bytes.HasSuffix(body, []byte("\n")) {
		text.WriteString("\n")
	}
	if !commentsHeading().Match(doc.body) {
		text.WriteString("## Comments\n\n")
	}
	fmt.Fprintf(&text, "### %s %s\n\n%s\n", at, author, escapeHeadings(comment))
	if marker != "" {
		fmt.Fprintf(&text, "\n%s\n", marker)
	}
	return append(body, doc.lines(text.String())...)
}

// valueLine returns a pattern that matches a line that gives a key one value: the key,
// space, the value (plain, quoted, a list in brackets, or empty), and space or a
// comment.
func valueLine(key string) *regexp.Regexp {
	const (
		double = `"(?:[^"\\\r\n]|\\[^\r\n])*"`
		single = `'(?:[^'\r\n]|'')*'`
		list   = `\[[^\r\n]*\]`
		plain  = `[^\s"'#&*!|>{}\[\]%@` + "`" + `](?:\S|[ \t]+[^\s#])*`
	)
	return regexp.MustCompile(`(?m)^(` + key + `[ \t]*:)([ \t]*)(` + double + `|` + single + `|` + list + `|` + plain + `|)([ \t]*(?:[ \t]#.*)?\r?)$`)
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
	return replaceValue(doc, &root, node, key, value)
}

// setLabel returns the front matter with a label added or removed. A value that is not a list
// in brackets becomes one.
func setLabel(doc document, label string, on bool) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(toValidText(doc.frontMatter)), &root); err != nil {
		return nil, err
	}
	node := lookup(&root, "labels")
	var labels []string
	if node != nil {
		var err error
		if labels, err = list(*node, strings.TrimSpace); err != nil {
			return nil, err
		}
	}
	labels = slices.DeleteFunc(labels, func(l string) bool { return tracker.NormalLabel(l) == label })
	if on {
		labels = append(labels, label)
	}
	value := yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, l := range labels {
		value.Content = append(value.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: l})
	}
	if node == nil { // the file has labels, though without a value
		doc.frontMatter = slices.Concat(doc.frontMatter, doc.lines("labels:\n"))
		if yaml.Unmarshal([]byte(toValidText(doc.frontMatter)), &root) != nil || lookup(&root, "labels") == nil {
			return nil, errors.New("its front matter has no labels, and is written in a form that takes no other line: add a line labels: []")
		}
		node = lookup(&root, "labels")
	}
	return replaceValue(doc, &root, node, "labels", value)
}

// replaceValue returns the front matter, which root is, with another value in place of
// node, which is the key's.
func replaceValue(doc document, root, node *yaml.Node, key string, value yaml.Node) ([]byte, error) {
	written, err := yaml.Marshal(&value)
	if err != nil {
		return nil, err
	}
	value.LineComment = node.LineComment
	*node = value

	if lines := valueLine(key).FindAllSubmatchIndex(doc.frontMatter, -1); len(lines) == 1 {
		keyEnd, valueStart, valueEnd := lines[0][3], lines[0][6], lines[0][7]
		space := doc.frontMatter[keyEnd:valueStart]
		if len(space) == 0 {
			space = []byte(" ")
		}
		edited := slices.Concat(doc.frontMatter[:keyEnd], space, bytes.TrimSuffix(written, []byte("\n")), doc.frontMatter[valueEnd:])
		if equivalent(edited, root) {
			return edited, nil
		}
	}
	encoded, err := encode(root)
	if err != nil {
		return nil, err
	}
	if edited := bytes.ReplaceAll(encoded, []byte("\n"), []byte(doc.newline())); equivalent(edited, root) {
		return edited, nil
	}
	return nil, fmt.Errorf("%s is written in a form that cannot be changed: write it as one line, %s: %s", key, key, bytes.TrimSpace(written))
}

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
