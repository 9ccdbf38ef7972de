package defuse

import (
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// Markdown has places whose text people do not see on the page, and programs that read its
// source do: agents, bots and servers. Body brings such text to light, and removes text that
// cannot be shown. A test asks GitHub's own parser whether every word is shown.

// prefix matches what may stand before the text of a line: quotations, lists and blanks.
const prefix = `^(?:[ \t>*+-]|[0-9]{1,9}[.)])*`

var (
	// entity matches what Markdown turns into a character that means something to a
	// server. Servers look for mentions and references in the result.
	entity = lazy.Regexp(`(?i)&(#[0-9]+|#x[0-9a-f]+|commat|num|sol|colon|lowbar|excl|lsqb|lbrack|dollar|percnt|bsol|zerowidthspace|nobreak|shy|zwj|zwnj|lrm|rlm);?`)
	// comment matches an HTML comment, also one without an end.
	comment = lazy.Regexp(`(?s)<!--.*?(-->|$)`)
	// tag matches the beginning of HTML. Autolinks such as <https://example.org> stay.
	tag = lazy.Regexp(`<([/!?]|[A-Za-z][A-Za-z0-9-]*(?:[\s/>]|$))`)
	// command matches a line that a bot obeys.
	command = lazy.Regexp(`(?m)` + prefix + `([/!])[A-Za-z]`)
	// definition matches the beginning of a line that defines a link or a footnote: neither is
	// shown unless something refers to it. Its name may have several lines.
	definition = lazy.Regexp(`(?m)` + prefix + `\[(?:[^\[\]\\]|\\(?s:.))*\]:`)
	// fence matches the beginning of a fenced block and the rest of its line, which is not shown.
	fence = lazy.Regexp("(?m)(" + prefix + ")(`{3,}|~{3,})[ \t]*([^\n]*)$")
	// language matches the name of a language that changes colors alone. GitHub draws
	// pictures from others, in which text can be hidden.
	language = lazy.Regexp(`^[A-Za-z0-9+#._-]{1,16}$`)
	// emptyLink matches a link that shows nothing.
	emptyLink = lazy.Regexp(`\[[\s*_~` + "`" + `]*\](\(|\[)`)
	// delimiters matches the line that makes a table of the line before it.
	delimiters = lazy.Regexp(`^[ \t>*+|:-]*-[ \t|:-]*$`)
	listItem   = lazy.Regexp(`^[ \t>]*(?:[*+-][ \t]+)+`)
	// dollars matches everything between the first dollar sign of a text and the last.
	dollars = lazy.Regexp(`(?s)\$.*\$`)
	// texCommand and texComment match what can hide text in a formula.
	texCommand = lazy.Regexp(`\\[A-Za-z]`)
	texComment = lazy.Regexp(`\\*%`)
)

var drawn = []string{"math", "mermaid", "geojson", "topojson", "stl"}

// reveal returns a text without the Markdown that hides parts of it, and without HTML.
func reveal(text string) string {
	text = comment().ReplaceAllString(text, "")
	text = entity().ReplaceAllStringFunc(text, func(e string) string { return "&amp;" + e[1:] })
	text = tag().ReplaceAllString(text, "&lt;$1")
	text = splitMatches(text, fence(), revealInfo) // the text after a fence may be a fence itself
	text = strings.ReplaceAll(text, "![", "!"+separator+"[")
	text = definition().ReplaceAllStringFunc(text, func(d string) string { return d[:len(d)-1] + separator + ":" })
	text = emptyLink().ReplaceAllStringFunc(text, func(l string) string { return l[:len(l)-1] + separator + l[len(l)-1:] })
	text = revealTitles(text)
	text = revealCells(text)
	text = dollars().ReplaceAllStringFunc(text, revealFormulas)
	return command().ReplaceAllStringFunc(text, func(line string) string {
		i := len(line) - 2
		if line[i] == '/' {
			return line[:i] + `\` + line[i:]
		}
		return line[:i+1] + separator + line[i+1:]
	})
}

// revealInfo moves the text after a fence into the block, unless it is the name of a language.
func revealInfo(line string) string {
	m := fence().FindStringSubmatch(line)
	info := strings.TrimSpace(m[3])
	if info == "" || m[2][0] == '`' && strings.Contains(info, "`") { // the second is no fence
		return line
	}
	name, rest, _ := strings.Cut(info, " ")
	known := language().MatchString(name)
	for _, d := range drawn {
		known = known && !strings.EqualFold(name, d)
	}
	if !known {
		name, rest = "", info
	}
	if rest == "" {
		return line
	}
	return m[1] + m[2] + name + "\n" + continued(m[1]) + strings.TrimSpace(rest)
}

// continued returns the part before the next line of the same block: the signs of lists
// become blanks.
func continued(prefix string) string {
	return strings.Map(func(r rune) rune {
		if r == '>' || r == '\t' {
			return r
		}
		return ' '
	}, prefix)
}

// revealTitles takes the links apart that have a title, which is shown only to who points
// at the link.
func revealTitles(text string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, "](")
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i+1])
		text = text[i+1:]
		if hasTitle(text[1:]) {
			b.WriteString(separator)
		}
	}
}

// hasTitle reports whether a link, given the text after its opening parenthesis, has something
// behind its destination.
func hasTitle(link string) bool {
	link = strings.TrimLeft(link, " \t\n")
	depth, end := 0, -1
	if strings.HasPrefix(link, "<") {
		end = strings.IndexAny(link, ">\n") + 1
	}
	for i := 0; end < 0 && i < len(link); i++ {
		switch c := link[i]; {
		case c == '\\':
			i++
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return false
			}
		case c <= ' ':
			end = i
		}
	}
	if end < 0 {
		return false
	}
	rest := strings.TrimLeft(link[end:], " \t\n>")
	return rest != "" && strings.ContainsRune(`"'(`, rune(rest[0]))
}

// revealCells takes the tables apart that have a row with more cells than their head:
// the cells that are too many are not shown.
func revealCells(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !delimiters().MatchString(line) || !strings.ContainsAny(line, "|:") {
			continue
		}
		width := min(cells(line), cells(listItem().ReplaceAllString(line, "")))
		for _, row := range lines[i+1:] {
			if strings.Trim(row, " \t>") == "" {
				break
			}
			if cells(row) > width {
				at := strings.LastIndexByte(line, '-')
				lines[i] = line[:at] + separator + line[at:]
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}

// cells returns the number of cells of a row of a table, or more.
func cells(row string) int {
	row = strings.Trim(row, " \t>")
	return 1 + strings.Count(strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|"), "|")
}

// revealFormulas breaks the commands and the comments of formulas.
func revealFormulas(text string) string {
	text = texCommand().ReplaceAllStringFunc(text, func(c string) string { return c[:1] + separator + c[1:] })
	return texComment().ReplaceAllStringFunc(text, func(c string) string {
		if len(c)%2 == 1 { // the percent sign is not escaped
			return `\` + c
		}
		return c
	})
}
