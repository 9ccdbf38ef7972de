package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// minWidth is the narrowest terminal that is written for; on a narrower one
	// the terminal wraps.
	minWidth = 40
	// maxReason and maxItem are the most lines that a reason below a row and any
	// other running text may take.
	maxReason, maxItem = 3, 12
	// maxSentence is the most lines that a cell takes below its row.
	maxSentence = 5
	// columnGap stands between two columns of a table.
	columnGap = "  "
)

// textWriter prints a document for a terminal. All that it prints passes through
// line: no line is wider than the terminal, none can move the cursor, and none
// reads as a command to the log of a workflow run.
type textWriter struct {
	width int
	now   time.Time
	text  strings.Builder
	below bool // a heading was printed last: no empty line follows it
}

// newTextWriter returns a writer for a terminal of the given width, and at least
// minWidth, that tells instants as seen from now.
func newTextWriter(width int, now time.Time) *textWriter {
	return &textWriter{width: max(width, minWidth), now: now}
}

func (w *textWriter) String() string { return w.text.String() }

// print writes blocks with an empty line between them, except before commands.
func (w *textWriter) print(d document) {
	for _, b := range d {
		_, isCommand := b.(command)
		_, isCode := b.(code)
		if w.text.Len() > 0 && !w.below && !isCommand && !isCode {
			w.text.WriteByte('\n')
		}
		w.below = false
		b.writeText(w)
	}
}

// plain returns a phrase as it is read on a terminal.
func (w *textWriter) plain(p phrase) string {
	var b strings.Builder
	for _, s := range p {
		b.WriteString(s.text)
		if !s.at.IsZero() {
			b.WriteString(instant(s.at, w.now))
		}
	}
	return b.String()
}

// line writes one line.
func (w *textWriter) line(s string) {
	w.text.WriteString(strings.TrimRight(escapeCommand(Fit(s, w.width)), " ") + "\n")
}

// Wrapped returns text for a terminal of the given width, each of its lines wrapped
// at words. The first line begins with lead, the others are indented as far.
func Wrapped(lead, text string, width int) string {
	w := newTextWriter(width, time.Time{}) // it shows no instant
	for line := range strings.Lines(text) {
		w.prose(lead, line, len(line))
		lead = strings.Repeat(" ", Columns(lead))
	}
	if w.text.Len() == 0 {
		w.line(lead)
	}
	return w.String()
}

// prose writes running text, wrapped into at most n lines. The first one begins
// with lead, the others are indented as far.
func (w *textWriter) prose(lead, text string, n int) {
	for i, line := range wrap(text, w.width-Columns(lead), n) {
		if i == 1 {
			lead = strings.Repeat(" ", Columns(lead))
		}
		w.line(lead + line)
	}
}

// reason writes a reason as running text. If it needs more than n lines, what it is about
// gives way to the cause.
func (w *textWriter) reason(lead, text string, n int) {
	if len(wrap(text, w.width-Columns(lead), n+1)) > n {
		text = Cause(text)
	}
	w.prose(lead, text, n)
}

// writeText writes the verdict and its detail, and the totals below them.
func (h headline) writeText(w *textWriter) {
	lead := h.lead
	if h.detail != "" {
		lead += ": " + h.detail
	}
	w.prose("", lead, maxItem)
	w.prose("", h.totals, maxItem)
}

// writeText writes the paragraph, wrapped.
func (p paragraph) writeText(w *textWriter) { w.prose("", w.plain(phrase(p)), maxItem) }

// writeText writes the sentence, and the command on lines of its own.
func (c command) writeText(w *textWriter) {
	w.prose("  ", c.sentence+":", maxItem)
	w.command("    ", c.line)
}

// writeText writes the commands.
func (c code) writeText(w *textWriter) {
	for _, command := range c {
		w.command("    ", command)
	}
}

// command writes a command behind an indent. A long one takes several lines, which a shell
// reads as one.
func (w *textWriter) command(indent, command string) {
	lead, rest := indent, strings.TrimSpace(Fit(command, itemWidth))
	for {
		if _, tail := splitWord(rest, w.width-Columns(lead)); tail == "" {
			w.line(lead + rest)
			return
		}
		head, tail, isWord := breakCommand(rest, w.width-Columns(lead))
		w.line(lead + head)
		if lead, rest = "", tail; isWord {
			lead = indent
		}
	}
}

// breakCommand breaks a command of a shell that is wider than a line between two words, or
// else within a word, which must not be indented then. What is between single quotes is
// broken there by a second pair of them.
func breakCommand(command string, width int) (head, tail string, isWord bool) {
	head, _ = splitWord(command, width-len(`'\`))
	words, quoted, escaped := 0, false, false
	for i := range len(head) {
		switch c := head[i]; {
		case escaped:
			escaped = false
		case c == '\'':
			quoted = !quoted
		case c == '\\' && !quoted:
			escaped = true
		case c == ' ' && !quoted:
			words = i + 1
		}
	}
	switch {
	case words > 0:
		return head[:words] + `\`, command[words:], true
	case quoted:
		return head + `'\`, `'` + command[len(head):], false
	case escaped:
		head = head[:len(head)-1]
	}
	return head + `\`, command[len(head):], false
}

// writeText writes the heading and what stands below it.
func (s section) writeText(w *textWriter) {
	heading := s.heading + ":"
	if s.detail != "" {
		heading += " " + s.detail
	}
	w.line(heading)
	w.below = true
	w.print(s.body)
}

// writeText writes the list. A count takes the place of the bullet.
func (l list) writeText(w *textWriter) {
	for _, item := range l.items {
		lead := "  - "
		if item.count > 0 {
			lead = fmt.Sprintf("  %4d  ", item.count)
		}
		w.prose(lead, w.plain(item.text), maxItem)
		indent := strings.Repeat(" ", Columns(lead))
		for _, sub := range item.sub {
			if item.long {
				w.prose(indent+"- ", w.plain(sub), maxItem)
			} else {
				w.line(indent + w.plain(sub))
			}
		}
		w.more(indent, item.left)
	}
	w.more("    ", l.left)
}

// more writes how many entries are left out.
func (w *textWriter) more(lead string, n int) {
	if n > 0 {
		w.line(lead + leftOut(n))
	}
}

// writeText writes the table. Rows are never wrapped: what does not fit is cut.
func (t table) writeText(w *textWriter) {
	t = t.forTerminal()
	rows := t.rows
	if t.short > 0 {
		rows = rows[:min(len(rows), t.short)]
	}
	heads := make([]string, len(t.columns))
	for i, c := range t.columns {
		heads[i] = strings.ToUpper(c.head)
	}
	lines := [][]string{heads}
	for _, row := range rows {
		cells := make([]string, len(row.cells))
		for i, cell := range row.cells {
			text := w.plain(cell)
			if t.columns[i].kind == instantColumn && text != "" {
				text = relative(cell[0].at, w.now)
			}
			cells[i] = strings.TrimSpace(Fit(text, w.width))
		}
		lines = append(lines, cells)
	}
	widths := columnWidths(t.columns, lines, w.width)
	below := make([][]phrase, len(lines)) // sentences without room in their column
	for i, c := range t.columns {
		if c.prose && !fits(lines, i, widths[i]) {
			for n, row := range rows {
				below[n+1] = append(below[n+1], row.cells[i])
				lines[n+1][i] = ""
			}
			widths = columnWidths(t.columns, lines, w.width)
		}
	}
	for i, cells := range lines {
		w.line(tableLine(t.columns, cells, widths))
		for _, text := range below[i] {
			w.reason("    ", w.plain(text), maxSentence)
		}
		if i == 0 {
			continue
		}
		for _, remark := range rows[i-1].remarks {
			w.reason("    ", remark.text, remark.lines)
			if remark.command != "" {
				w.command("      ", remark.command)
			}
		}
	}
	w.more("", t.left+len(t.rows)-len(rows))
}

// fits reports whether no cell of a column is wider than the column.
func fits(lines [][]string, i, width int) bool {
	for _, cells := range lines[1:] {
		if Columns(cells[i]) > width {
			return false
		}
	}
	return true
}

// tableLine returns the cells of one line of a table, padded to the widths of
// their columns.
func tableLine(cols []column, cells []string, widths []int) string {
	var parts []string
	for i, width := range widths {
		if width == 0 {
			continue
		}
		cell := Fit(cells[i], width)
		pad := strings.Repeat(" ", width-Columns(cell))
		if cols[i].kind == numberColumn {
			parts = append(parts, pad+cell)
		} else {
			parts = append(parts, cell+pad)
		}
	}
	return strings.Join(parts, columnGap)
}

// columnWidths returns the width of each column of a table, whose first line are
// its heads, on a terminal; 0 leaves the column out.
func columnWidths(cols []column, lines [][]string, width int) []int {
	natural, widths := make([]int, len(cols)), make([]int, len(cols))
	spare := width + len(columnGap)
	for i, c := range cols {
		for _, cells := range lines[1:] {
			natural[i] = max(natural[i], Columns(cells[i]))
		}
		if natural[i] == 0 {
			continue
		}
		head := Columns(lines[0][i])
		natural[i] = max(natural[i], head)
		widths[i] = natural[i]
		if c.min > 0 {
			widths[i] = min(natural[i], max(c.min, head))
		}
		spare -= widths[i] + len(columnGap)
	}
	order := byImportance(cols)
	for _, i := range slices.Backward(order) {
		if spare < 0 && widths[i] > 0 && cols[i].drop > 0 {
			spare += widths[i] + len(columnGap)
			natural[i], widths[i] = 0, 0
		}
	}
	if last := len(widths) - 1; spare < 0 && widths[last] > -spare {
		widths[last] += spare // no column is left to drop: cut the last one
		spare = 0
	}
	for _, limited := range []bool{true, false} { // to its max, then to all it can use
		for _, i := range order {
			want := natural[i]
			if most := cols[i].max; limited && most > 0 {
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

// byImportance returns the indexes of columns in the order in which they get
// room: those that are never dropped first, the one that is dropped first last.
func byImportance(cols []column) []int {
	order := make([]int, len(cols))
	for i := range order {
		order[i] = i
	}
	rank := func(i int) int { return cmp.Or(cols[i].drop, len(cols)+1) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(b), rank(a)) })
	return order
}

// wrap breaks text into at most n lines of the given width, between words where
// it can. What does not fit is cut.
func wrap(text string, width, n int) []string {
	words := strings.Fields(Fit(text, width*n))
	var lines []string
	line := ""
	for i := 0; i < len(words); i++ {
		word := words[i]
		if line != "" {
			if Columns(line)+1+Columns(word) <= width {
				line += " " + word
				continue
			}
			if lines = append(lines, line); len(lines) == n {
				lines[n-1] = Fit(line+" "+strings.Join(words[i:], " "), width)
				return lines
			}
		}
		head, tail := splitWord(word, width)
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

// splitWord breaks a word that is wider than a line.
func splitWord(word string, width int) (head, tail string) {
	used := 0
	for i, r := range word {
		if used += runeColumns(r); used > width {
			return word[:i], word[i:]
		}
	}
	return word, ""
}

// escapeCommand returns a line that the log of a workflow run does not take for
// a command: commands are "::name::" at the beginning of a line, and "##[name]"
// anywhere.
func escapeCommand(line string) string {
	if text := strings.TrimLeft(line, " "); strings.HasPrefix(text, "::") {
		indent := len(line) - len(text)
		colons := len(text) - len(strings.TrimLeft(text, ":"))
		line = line[:indent] + strings.Repeat(" ", colons-1) + text[colons-1:]
	}
	return strings.ReplaceAll(line, "##[", "# [")
}
