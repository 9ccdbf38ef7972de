package file

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
)

var errNoMatter = errors.New(`it does not begin with front matter: write a line "---", then title and state, then a line "---"`)

// document is an issue file cut into its parts; together they are every byte of it.
type document struct {
	open   []byte // the first line, "---", perhaps after a byte order mark
	matter []byte // YAML
	close  []byte // the line "---" after it
	body   []byte
}

// fence is the line before and after the front matter.
var fence = regexp.MustCompile(`(?m)^---[ \t]*(?:\r?\n|\z)`)

func cut(content []byte) (document, error) {
	rest := bytes.TrimPrefix(content, []byte("\uFEFF"))
	at := fence.FindIndex(rest)
	if at == nil || at[0] != 0 {
		return document{}, errNoMatter
	}
	opened := len(content) - len(rest) + at[1]
	end := fence.FindIndex(content[opened:])
	if end == nil {
		return document{}, errors.New(`its front matter has no end: write a line "---" after it`)
	}
	return document{
		open:   content[:opened],
		matter: content[opened : opened+end[0]],
		close:  content[opened+end[0] : opened+end[1]],
		body:   content[opened+end[1]:],
	}, nil
}

func (d document) bytes() []byte {
	return bytes.Join([][]byte{d.open, d.matter, d.close, d.body}, nil)
}

// newline is the line end that the file uses.
func (d document) newline() string {
	if bytes.HasSuffix(d.open, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// comments is the beginning of the comments that the tool writes: its own two
// headings, because somebody may describe an issue under "## Comments".
var comments = regexp.MustCompile(`(?m)^## Comments[ \t]*\r?\n(?:[ \t]*\r?\n)*### \d{4}-\d\d-\d\dT[\d:]+Z agent[ \t]*\r?$`)

// description is the body without its comments, with plain line ends.
func (d document) description() string {
	body := d.body
	if at := comments.FindIndex(body); at != nil {
		body = body[:at[0]]
	}
	return strings.Trim(strings.ReplaceAll(clean(body), "\r\n", "\n"), "\n")
}

// clean makes text of bytes: what is no UTF-8, and NUL, becomes U+FFFD.
func clean(text []byte) string {
	const unknown = "\uFFFD"
	return strings.ReplaceAll(strings.ToValidUTF8(string(text), unknown), "\x00", unknown)
}
