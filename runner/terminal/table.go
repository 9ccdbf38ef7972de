package terminal

import (
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

// column describes a column of a table.
type column struct {
	text.Column
	shorten func(string) string // shortens a cell that has no room; nil keeps its beginning
}

// table is rows of clean text.
type table struct {
	columns []column
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// lines draws the table, with its headings if there is room for them.
func (t *table) lines(p *painter) []string {
	cols := make([]text.Column, len(t.columns))
	for i, c := range t.columns {
		cols[i] = c.Column
	}
	widths := text.Widths(cols, t.rows, p.columns)
	var lines []string
	if p.isRoomy {
		lines = append(lines, styleHead.Render(fit(text.Heads(cols, widths), p.columns)))
	}
	for _, row := range t.rows {
		for i, c := range t.columns {
			if c.shorten != nil && width(row[i]) > widths[i] {
				row[i] = c.shorten(row[i])
			}
		}
		first := fit(row[0], widths[0])
		line := fit(text.Row(cols, row, widths), p.columns)
		if rest, begins := strings.CutPrefix(line, first); begins {
			line = styleIssue.Render(first) + rest
		}
		lines = append(lines, line)
	}
	return lines
}
