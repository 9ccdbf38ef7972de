package report

import "strings"

// Failure returns the summary of a step whose command ended with an error before it had a
// report: what happened is the heading, and the lines of the error say what to do.
func Failure(happened, text string, l Links) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	h := headline{emoji: "🔴", lead: happened}
	if len(lines) > 0 {
		h.detail, lines = lines[0], lines[1:]
	}
	d := document{h}
	if len(lines) > 0 {
		d.add(listOf(lines))
	}
	if places := l.places(); len(places) > 0 {
		d.add(paragraph(places))
	}
	w := &markdownWriter{level: "####"}
	w.print(d)
	return w.String()
}
