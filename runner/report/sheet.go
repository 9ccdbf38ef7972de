package report

import (
	"fmt"
	"strings"
)

// How much of a text a sheet shows, in columns of a terminal. A column is 16
// bytes at worst.
const (
	nameWidth  = 40
	titleWidth = 80
	whyWidth   = 240
	itemWidth  = 600
)

// sheet is a page of Markdown under construction: blocks with an empty line
// between them, so that a page can be cut between any two of them.
type sheet struct {
	text  strings.Builder
	level markdown // of its headings
}

func (s *sheet) String() string { return s.text.String() }

// block writes lines that belong together.
func (s *sheet) block(lines ...markdown) {
	if s.text.Len() > 0 {
		s.text.WriteByte('\n')
	}
	for _, line := range lines {
		s.text.WriteString(string(line) + "\n")
	}
}

// heading writes one; its words are our own.
func (s *sheet) heading(words string) { s.block(s.level + " " + literal(words, titleWidth)) }

// prose writes running text, if there is any.
func (s *sheet) prose(text string) {
	if text := literal(text, itemWidth); text != "" {
		s.block(text)
	}
}

// list writes items, of which some may be left out already.
func (s *sheet) list(items []markdown, left int) {
	var lines []markdown
	for _, item := range items {
		lines = append(lines, "- "+item)
	}
	if left > 0 {
		lines = append(lines, "- "+more(left))
	}
	s.block(lines...)
}

// fold writes what body writes, to be opened by a click on a few words of ours.
func (s *sheet) fold(words string, body func()) {
	s.block(markdown("<details><summary>" + words + "</summary>"))
	body()
	s.block("</details>")
}

// foldLong is fold for something of more than so many lines; a heading and the
// thing itself otherwise.
func (s *sheet) foldLong(words string, lines, most int, body func()) {
	if lines > most {
		s.fold(words, body)
		return
	}
	s.heading(words)
	body()
}

// more says how many entries are left out.
func more(n int) markdown { return markdown(fmt.Sprintf("… and %d more", n)) }

// count is a number for a column of numbers.
func count(n int64) markdown { return literal(Number(n), nameWidth) }

// grid is a table of cells. Columns without any text are left out.
type grid struct {
	heads []string // one that begins with a space is of numbers
	rows  [][]markdown
	room  int // bytes its rows may take
	left  int // rows that are left out already
}

func (g *grid) add(cells ...markdown) { g.rows = append(g.rows, cells) }

// write puts the table on a sheet, and says how many rows had no room.
func (g *grid) write(s *sheet) {
	shown := make([]bool, len(g.heads))
	for _, row := range g.rows {
		for i, cell := range row {
			shown[i] = shown[i] || cell != ""
		}
	}
	head, rule := "|", "|"
	for i, words := range g.heads {
		if !shown[i] {
			continue
		}
		name, right := strings.CutPrefix(words, " ")
		head += " " + name + " |"
		if right {
			rule += "--:|"
		} else {
			rule += "---|"
		}
	}
	lines, used := []markdown{markdown(head), markdown(rule)}, 0
	for _, row := range g.rows {
		line := markdown("|")
		for i, cell := range row {
			if shown[i] {
				line += " " + cell + " |"
			}
		}
		if used += len(line) + 1; used > g.room {
			break
		}
		lines = append(lines, line)
	}
	s.block(lines...)
	if left := g.left + len(g.rows) - (len(lines) - 2); left > 0 {
		s.block(more(left))
	}
}
