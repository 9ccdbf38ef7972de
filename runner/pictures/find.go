package pictures

import (
	"cmp"
	"html"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/tracker"
)

// Source is a text that a session is given, and that may show pictures.
type Source struct {
	Name    string           // name of the text for the model, such as "the issue"
	Text    string           // Markdown
	Comment string           // id of the comment that it is; empty for the text of the issue
	From    tracker.Pictures // reads its pictures; nil if nobody can
}

// reference is a place where a picture is shown.
type reference struct {
	tracker.Picture
	name string // name of the text
	alt  string // description of the picture in the text; may be empty
	from tracker.Pictures
}

// tokens matches the parts of a Markdown text that count: comments of HTML and code, which show
// no picture, and the two forms of a picture. Its groups are the description and the address in
// Markdown, the address with and without brackets, and the attributes of a tag.
var tokens = lazy.Regexp(`(?s:<!--.*?(?:-->|\z))` +
	"|(?ms:^ {0,3}(?:```.*?(?:^ {0,3}```|\\z)|~~~.*?(?:^ {0,3}~~~|\\z)))" +
	"|`[^`\n]*`" +
	`|!\[([^\]\n]*)\]\([ \t]*(?:<([^<>\n]+)>|([^\s()<>]+))` +
	`|(?i:<img)(\s[^<>]+)>`)

// attribute matches an attribute of a tag, with its name and its value in one of three groups.
var attribute = lazy.Regexp(`(?i)\s(src|alt)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)

// maxFound bounds the addresses of pictures that are looked at.
const maxFound = 1000

// find returns the pictures that texts show, in their order, each address once. It leaves out
// addresses that do not stand in the prompt.
func find(sources []Source, prompt string) []reference {
	var found []reference
	seen := map[string]bool{}
	for _, s := range sources {
		if s.From == nil || !strings.Contains(s.Text, "](") && !strings.Contains(s.Text, "<") {
			continue
		}
		for _, t := range tokens().FindAllStringSubmatch(s.Text, -1) {
			alt, address := t[1], cmp.Or(t[2], t[3])
			for _, a := range attribute().FindAllStringSubmatch(t[4], -1) {
				if value := cmp.Or(a[2], a[3], a[4]); strings.EqualFold(a[1], "src") {
					address = value
				} else {
					alt = value
				}
			}
			if address == "" || seen[address] {
				continue
			}
			if len(seen) == maxFound {
				return found
			}
			if seen[address] = true; strings.Contains(prompt, address) {
				found = append(found, reference{tracker.Picture{Comment: s.Comment, Address: html.UnescapeString(address)}, s.Name, html.UnescapeString(alt), s.From})
			}
		}
	}
	return found
}
