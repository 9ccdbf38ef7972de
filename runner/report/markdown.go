package report

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// markdown is text in GitHub's Markdown that shows what it is meant to show. The
// words of strangers come into it by [literal] and [link] alone.
type markdown string

// unlinked is a space of no width. It stands where GitHub would otherwise make a
// mention or a link of plain text: it does so before escapes are undone (www.),
// and after it (names, addresses of mail), so an escape does not help.
const unlinked = "&#8203;"

// entities stand for characters that mean something even where a backslash does
// not help: in a cell of a table, in HTML, and in mathematics.
var entities = map[rune]string{
	'&': "&amp;", '<': "&lt;", '>': "&gt;", '|': "&#124;", '$': "<span>$</span>",
}

// listMarker is what makes an item of a list, or a rule, of the line it begins.
var listMarker = regexp.MustCompile(`^(-|\+|[0-9]+[.)])(?: |$|-)`)

// literal is s as it is to be read, on one line and in at most so many columns
// (see [Fit], which also takes out what is invisible). It is safe at the
// beginning of a line, in running text, an item, a heading, a link and a cell.
// Nothing in it is markup; an address is no link, a name after an at sign is no
// mention. "#12" and "GH-12" stay what they are to GitHub, a reference to an
// issue of the same repository, and so do names of emoji.
func literal(s string, columns int) markdown {
	s = strings.Join(strings.Fields(Fit(s, columns)), " ")
	marker := 0 // where it ends
	if at := listMarker.FindStringSubmatchIndex(s); at != nil {
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

// link is text that leads to an address, or plain text when it cannot be trusted.
func link(text, address string, columns int) markdown {
	shown := literal(text, columns)
	if shown == "" {
		shown = "unnamed"
	}
	if address = href(address); address == "" {
		return shown
	}
	return markdown("[" + string(shown) + "](" + address + ")")
}

// code is a command to copy. It holds none but our own words.
func code(command string) markdown { return markdown("`" + command + "`") }

// host is a name that reads as what it is: no credentials before it, nothing
// that only looks like a letter.
var host = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$`)

const maxAddress = 600 // bytes

// href is a web address as the target of a link, empty for anything else.
func href(address string) string {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxAddress || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || !host.MatchString(u.Host) {
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
