package report

import (
	"fmt"
	"strings"
)

const (
	// minWidth is the narrowest terminal that is written for; on a narrower one
	// the terminal wraps.
	minWidth = 40
	// maxReason and maxItem are the most lines that a reason in a table and an
	// item of a list may take.
	maxReason, maxItem = 3, 12
)

// page is text under construction. Everything on it passes through line: no
// line is wider than the page, and none can be taken for something else.
type page struct {
	width int
	text  strings.Builder
}

func newPage(width int) *page { return &page{width: max(width, minWidth)} }

func (p *page) String() string { return p.text.String() }

// line writes one line.
func (p *page) line(s string) {
	p.text.WriteString(strings.TrimRight(inert(Fit(s, p.width)), " ") + "\n")
}

// section begins a new one, with an empty line, and a heading unless it is empty.
func (p *page) section(heading string) {
	if p.text.Len() > 0 {
		p.text.WriteByte('\n')
	}
	if heading != "" {
		p.line(heading)
	}
}

// prose writes running text, wrapped. The first line begins with lead, the
// others are indented as much.
func (p *page) prose(lead, text string, most int) {
	room := p.width - columns(lead)
	for i, line := range wrap(text, room, most) {
		if i == 1 {
			lead = strings.Repeat(" ", columns(lead))
		}
		p.line(lead + line)
	}
}

// items writes a list, at most so many of it.
func (p *page) items(texts []string, most int) {
	for _, text := range texts[:min(len(texts), most)] {
		p.prose("  - ", text, maxItem)
	}
	p.more("    ", len(texts)-most)
}

// more says how many entries of a list are left out.
func (p *page) more(lead string, n int) {
	if n > 0 {
		p.line(fmt.Sprintf("%s… and %d more", lead, n))
	}
}

// wrap breaks text into lines of so many columns, between words where it can.
// What does not fit into most lines is cut.
func wrap(text string, room, most int) []string {
	words := strings.Fields(Fit(text, room*most))
	var lines []string
	line := ""
	for i := 0; i < len(words); i++ {
		word := words[i]
		if line != "" {
			if columns(line)+1+columns(word) <= room {
				line += " " + word
				continue
			}
			if lines = append(lines, line); len(lines) == most {
				lines[most-1] = Fit(line+" "+strings.Join(words[i:], " "), room)
				return lines
			}
		}
		head, tail := split(word, room)
		if line = head; tail != "" {
			words[i] = tail
			i--
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// split breaks a word that is wider than a line.
func split(word string, room int) (head, tail string) {
	used := 0
	for i, r := range word {
		if used += runeColumns(r); used > room {
			return word[:i], word[i:]
		}
	}
	return word, ""
}

// inert is a line that the log of a workflow run does not take for a command,
// whoever wrote it: commands are "::name::" at the beginning of a line, and
// "##[name]" anywhere.
func inert(line string) string {
	if text := strings.TrimLeft(line, " "); strings.HasPrefix(text, "::") {
		indent := len(line) - len(text)
		colons := len(text) - len(strings.TrimLeft(text, ":"))
		line = line[:indent] + strings.Repeat(" ", colons-1) + text[colons-1:]
	}
	return strings.ReplaceAll(line, "##[", "# [")
}
