package terminal

import (
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

// table is rows of clean text.
type table struct {
	columns []text.Column
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// lines draws the table, with its headings if there is room for them.
func (t *table) lines(p *painter) []string {
	widths := text.Widths(t.columns, t.rows, p.columns)
	var lines []string
	if p.isRoomy {
		lines = append(lines, styleHead.Render(text.Fit(text.Heads(t.columns, widths), p.columns)))
	}
	for _, row := range t.rows {
		first := text.Fit(row[0], widths[0])
		line := text.Fit(text.Row(t.columns, row, widths), p.columns)
		if rest, begins := strings.CutPrefix(line, first); begins {
			line = styleIssue.Render(first) + rest
		}
		lines = append(lines, line)
	}
	return lines
}
