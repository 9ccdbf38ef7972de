package file

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"sync"
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
