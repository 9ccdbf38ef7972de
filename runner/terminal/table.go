package terminal

import "strings"

// column describes a column of a table.
type column struct {
	head    string
	right   bool                // numbers
	least   int                 // width below which a column that stretches is of no use
	most    int                 // width; 0 means no bound
	drop    int                 // order in which columns are dropped where there is no room, 1 first; 0 is never dropped
	stretch bool                // takes the room that is left
	shorten func(string) string // what is shown of a cell that has no room; nil for its beginning
}

// table is rows of clean text. Its last column says what is going on: it is the last to
// lose its room.
type table struct {
	columns []column
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

const gap = 2 // columns between two columns of a table

// widths returns the width of each column, 0 for those that are dropped.
func (t *table) widths(total int) []int {
	natural := make([]int, len(t.columns))
	for i, c := range t.columns {
		natural[i] = width(c.head)
		for _, row := range t.rows {
			natural[i] = max(natural[i], width(row[i]))
		}
		if c.most > 0 {
			natural[i] = min(natural[i], c.most)
		}
	}
	shown := make([]bool, len(t.columns))
	for i := range shown {
		shown[i] = true
	}
	for {
		need, first := -gap, -1
		for i, c := range t.columns {
			if !shown[i] {
				continue
			}
			need += gap + t.leastWidth(i, natural[i])
			if c.drop > 0 && (first < 0 || c.drop < t.columns[first].drop) {
				first = i
			}
		}
		if need <= total || first < 0 {
			return t.stretched(shown, natural, total-need)
		}
		shown[first] = false
	}
}

// leastWidth returns the width that a column needs.
func (t *table) leastWidth(i, natural int) int {
	if t.columns[i].stretch {
		return min(natural, t.columns[i].least)
	}
	return natural
}

// stretched returns the widths of the columns shown, with the room that is left given
// to those that stretch: two parts to the last one, one part to each other, and to the others
// also what the last one does not need. If there is
// too little room, which room below 0 says, the first column is cut, and then the last.
func (t *table) stretched(shown []bool, natural []int, room int) []int {
	widths := make([]int, len(t.columns))
	last := len(t.columns) - 1
	for i := range t.columns {
		if shown[i] {
			widths[i] = t.leastWidth(i, natural[i])
		}
	}
	if room < 0 {
		cut := min(-room, max(0, widths[last]-minCell))
		widths[last] -= cut
		room += cut
		for i := 0; i <= last && room < 0; i++ {
			cut := min(-room, max(0, widths[i]-1))
			widths[i] -= cut
			room += cut
		}
		return widths
	}
	need := natural[last] - widths[last]
	for i, c := range t.columns {
		if i != last && shown[i] && c.stretch {
			more := min(natural[i]-widths[i], max(room/3, room-need))
			widths[i] += more
			room -= more
		}
	}
	widths[last] += room
	return widths
}

const minCell = 8 // width below which the last column loses nothing while others can

// lines draws the table, with its headings if there is room for them.
func (t *table) lines(p *painter) []string {
	widths := t.widths(p.columns)
	var lines []string
	if p.isRoomy {
		heads := make([]string, len(t.columns))
		for i, c := range t.columns {
			heads[i] = c.head
		}
		lines = append(lines, styleHead.Render(t.line(heads, widths, p.columns, false)))
	}
	for _, row := range t.rows {
		lines = append(lines, t.line(row, widths, p.columns, true))
	}
	return lines
}

// line draws a row.
func (t *table) line(cells []string, widths []int, total int, styled bool) string {
	var b strings.Builder
	b.Grow(total)
	used := 0
	for i, c := range t.columns {
		if widths[i] <= 0 || used+widths[i] > total {
			continue
		}
		text := cells[i]
		if c.shorten != nil && width(text) > widths[i] {
			text = c.shorten(text)
		}
		text = fit(text, widths[i])
		pad := strings.Repeat(" ", widths[i]-width(text))
		if c.right {
			b.WriteString(pad)
		}
		if styled && i == 0 {
			text = styleIssue.Render(text)
		}
		b.WriteString(text)
		if i == len(t.columns)-1 {
			break
		}
		if !c.right {
			b.WriteString(pad)
		}
		b.WriteString(strings.Repeat(" ", gap))
		used += widths[i] + gap
	}
	return strings.TrimRight(b.String(), " ")
}
