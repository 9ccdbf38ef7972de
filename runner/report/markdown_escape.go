package report

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/text"
)

// markdown is text in GitHub's Markdown in which only our own markup has an
// effect. The words of strangers become markdown by [escapeMarkdown] and [link]
// alone.
type markdown string

// unlinked is a space of no width. It stands where GitHub would otherwise make a
// mention or a link of plain text. GitHub does that both before it undoes escapes
// (www.) and after (names, addresses of mail), so that escapes do not help.
const unlinked = "&#8203;"

// entities are the characters that have a meaning even after a backslash: in a
// cell of a table, in HTML, and in mathematics.
var entities = map[rune]string{
	'&': "&amp;", '<': "&lt;", '>': "&gt;", '|': "&#124;", '$': "<span>$</span>",
}

// listMarker matches what turns the line that it begins into an item or a rule.
var listMarker = lazy.Regexp(`^(-|\+|[0-9]+[.)])(?: |$|-)`)

// escapeMarkdown returns s so that a page shows it as it is, on one line and in at most
// the given number of columns (see [Fit], which also removes what is invisible). The
// result is safe at the beginning of a line, in running text, an item, a heading, a link
// and a cell. Nothing in it is markup; an address is not a link, a name after an at sign
// is not a mention. "#12" and "GH-12" stay what they are to GitHub, a reference to an
// issue of the same repository, and so do names of emoji.
func escapeMarkdown(s string, columns int) markdown {
	s = strings.Join(strings.Fields(text.Fit(s, columns)), " ")
	marker := 0 // the end of a list marker
	if at := listMarker().FindStringSubmatchIndex(s); at != nil {
		marker = at[3]
	}
	var b strings.Builder
	for i, r := range s {
		if r == '.' && i >= 3 && strings.EqualFold(s[i-3:i], "www") {
			b.WriteString(unlinked)
		}
		if i == marker-1 || strings.ContainsRune("\\`*_~[]#!", r) {
			b.WriteByte('\\')
		}
		if entity, ok := entities[r]; ok {
			b.WriteString(entity)
		} else {
			b.WriteRune(r)
		}
		if r == '@' || r == ':' && strings.HasPrefix(s[i:], "://") {
			b.WriteString(unlinked)
		}
	}
	return markdown(b.String())
}

// link returns text that links to an address, or plain text when the address
// cannot be trusted.
func link(text, address string, columns int) markdown {
	shown := escapeMarkdown(text, columns)
	if shown == "" {
		shown = "unnamed"
	}
	if address = href(address); address == "" {
		return shown
	}
	if strings.HasPrefix(string(shown), "^") {
		shown = `\` + shown // otherwise it begins a footnote
	}
	return markdown("[" + string(shown) + "](" + address + ")")
}

// host matches the name of a host, and maybe a port: no credentials before it,
// and no character that only looks like a letter.
var host = lazy.Regexp(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$`)

const maxAddress = 600 // bytes

// href returns a web address as the target of a link, or "" for anything else.
func href(address string) string {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxAddress || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || !host().MatchString(u.Host) {
		return ""
	}
	var b strings.Builder
	for _, c := range []byte(u.String()) {
		switch {
		case c == '&':
			b.WriteString("&amp;")
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/:?#=%+,;", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
