package text

import (
	"cmp"
	"slices"
	"strings"
)

// Column describes a column of a table on a terminal.
type Column struct {
	Head  string
	Right bool // aligned to the right: numbers
	Min   int  // width that it needs to be useful; 0 is the width of its text
	Max   int  // width at which it yields room to others; 0 is the width of its text
	Drop  int  // order in which columns are dropped where there is no room, 1 first; 0 is never dropped

	Shorten func(cell string) string // shortens a cell that has no room; nil keeps its beginning
}

// gap stands between two columns of a table.
const gap = "  "

// leastLast is the width to which the last column is cut before the others are.
const leastLast = 8

// Widths returns the width of each column of a table on a terminal of this width; 0 leaves the
// column out. Columns without text are left out too. Where nothing is left to drop, the last
// column is cut, and then the others.
func Widths(cols []Column, rows [][]string, width int) []int {
	natural, widths := make([]int, len(cols)), make([]int, len(cols))
	spare := width + len(gap)
	for i, c := range cols {
		for _, cells := range rows {
			natural[i] = max(natural[i], Columns(cells[i]))
		}
		if natural[i] == 0 {
			continue
		}
		head := Columns(c.Head)
		natural[i] = max(natural[i], head)
		widths[i] = natural[i]
		if c.Min > 0 {
			widths[i] = min(natural[i], max(c.Min, head))
		}
		spare -= widths[i] + len(gap)
	}
	order := byImportance(cols)
	for _, i := range slices.Backward(order) {
		if spare < 0 && widths[i] > 0 && cols[i].Drop > 0 {
			spare += widths[i] + len(gap)
			natural[i], widths[i] = 0, 0
		}
	}
	cut := func(i, least int) { // narrows a column, when nothing is left to drop
		n := min(max(-spare, 0), max(widths[i]-least, 0))
		widths[i] -= n
		spare += n
	}
	cut(len(widths)-1, leastLast)
	for i := range widths {
		cut(i, 1)
	}
	for _, limited := range []bool{true, false} { // first up to Max, then up to its text
		for _, i := range order {
			want := natural[i]
			if most := cols[i].Max; limited && most > 0 {
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

// byImportance returns the indexes of columns in the order in which they get room: those that
// are never dropped first, the one that is dropped first last.
func byImportance(cols []Column) []int {
	order := make([]int, len(cols))
	for i := range order {
		order[i] = i
	}
	rank := func(i int) int { return cmp.Or(cols[i].Drop, len(cols)+1) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(b), rank(a)) })
	return order
}

// Row returns a line of a table: its cells, each cut and padded to the width of its column.
func Row(cols []Column, cells []string, widths []int) string {
	var parts []string
	for i, width := range widths {
		if width == 0 {
			continue
		}
		cell := cells[i]
		if shorten := cols[i].Shorten; shorten != nil && Columns(cell) > width {
			cell = shorten(cell)
		}
		cell = Fit(cell, width)
		pad := strings.Repeat(" ", width-Columns(cell))
		if cols[i].Right {
			parts = append(parts, pad+cell)
		} else {
			parts = append(parts, cell+pad)
		}
	}
	return strings.TrimRight(strings.Join(parts, gap), " ")
}

// Heads returns the line above the rows of a table.
func Heads(cols []Column, widths []int) string {
	heads := make([]string, len(cols))
	for i, c := range cols {
		heads[i] = c.Head
	}
	return Row(cols, heads, widths)
}
