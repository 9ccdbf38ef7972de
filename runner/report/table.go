package report

import (
	"cmp"
	"slices"
	"strings"
)

// gap is between two columns.
const gap = "  "

// column is one column of a [table].
type column struct {
	head  string
	right bool // numbers
	min   int  // what it must have to be of use; 0 is as much as its text needs
	max   int  // what it gets before others have that much; 0 is as much as its text needs
	drop  int  // what goes first on a narrow terminal, beginning with 1; 0 stays
}

// table is rows of text in columns. Rows are never wrapped: what does not fit is
// cut, and columns without any text are left out.
type table struct {
	columns []column
	rows    []tableRow
}

type tableRow struct {
	cells    []string
	below    string   // a remark under the row
	warnings []string // more of them, which have more lines: the end of a hook's output is what counts
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, tableRow{cells: cells}) }

// write puts the table on a page.
func (t *table) write(p *page) {
	for r := range t.rows {
		for i, cell := range t.rows[r].cells {
			t.rows[r].cells[i] = strings.TrimSpace(Fit(cell, p.width))
		}
	}
	widths := t.layout(p.width)
	heads := make([]string, len(t.columns))
	for i, c := range t.columns {
		heads[i] = c.head
	}
	p.line(t.row(heads, widths))
	for _, row := range t.rows {
		p.line(t.row(row.cells, widths))
		if row.below != "" {
			p.prose("    ", row.below, maxReason)
		}
		for _, warning := range row.warnings {
			p.prose("    ", sentence(warning), maxItem)
		}
	}
}

func (t *table) row(cells []string, widths []int) string {
	var parts []string
	for i, width := range widths {
		if width == 0 {
			continue
		}
		cell := Fit(cells[i], width)
		pad := strings.Repeat(" ", width-columns(cell))
		if t.columns[i].right {
			parts = append(parts, pad+cell)
		} else {
			parts = append(parts, cell+pad)
		}
	}
	return strings.Join(parts, gap)
}

// layout is the width of each column; 0 leaves it out.
func (t *table) layout(width int) []int {
	natural, widths := make([]int, len(t.columns)), make([]int, len(t.columns))
	spare := width + len(gap)
	for i, c := range t.columns {
		for _, row := range t.rows {
			natural[i] = max(natural[i], columns(row.cells[i]))
		}
		if natural[i] == 0 {
			continue
		}
		natural[i] = max(natural[i], columns(c.head))
		widths[i] = natural[i]
		if c.min > 0 {
			widths[i] = min(natural[i], max(c.min, columns(c.head)))
		}
		spare -= widths[i] + len(gap)
	}
	order := t.byWorth()
	for _, i := range slices.Backward(order) {
		if spare < 0 && widths[i] > 0 && t.columns[i].drop > 0 {
			spare += widths[i] + len(gap)
			natural[i], widths[i] = 0, 0
		}
	}
	if last := len(widths) - 1; spare < 0 && widths[last] > -spare {
		widths[last] += spare // nothing more can go: the last column suffers
		spare = 0
	}
	for _, limited := range []bool{true, false} { // to its max, then to all it can use
		for _, i := range order {
			want := natural[i]
			if most := t.columns[i].max; limited && most > 0 {
				want = min(want, most)
			}
			if grow := min(want-widths[i], spare); grow > 0 {
				widths[i] += grow
				spare -= grow
			}
		}
	}
	return widths
}

// byWorth are the columns in the order in which they get room: those that stay
// come first, what goes first comes last.
func (t *table) byWorth() []int {
	order := make([]int, len(t.columns))
	for i := range order {
		order[i] = i
	}
	rank := func(i int) int { return cmp.Or(t.columns[i].drop, len(t.columns)+1) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(b), rank(a)) })
	return order
}
