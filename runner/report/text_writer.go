package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
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

func (w *textWriter) plain(p phrase) string {
	var b strings.Builder
	for _, s := range p {
		b.WriteString(s.text)
		if !s.at.IsZero() {
			b.WriteString(text.Instant(s.at, w.now))
		}
	}
	return b.String()
}

func (w *textWriter) line(s string) {
	w.text.WriteString(strings.TrimRight(text.EscapeCommand(text.Fit(s, w.width)), " ") + "\n")
}

// Wrapped returns text for a terminal of the given width, each of its lines wrapped
// at words. The first line begins with lead, the others are indented as far.
func Wrapped(lead, s string, width int) string {
	w := newTextWriter(width, time.Time{}) // it shows no instant
	for line := range strings.Lines(s) {
		w.prose(lead, line, len(line))
		lead = strings.Repeat(" ", text.Columns(lead))
	}
	if w.text.Len() == 0 {
		w.line(lead)
	}
	return w.String()
}

// prose writes running text, wrapped into at most n lines. The first one begins
// with lead, the others are indented as far.
func (w *textWriter) prose(lead, s string, n int) {
	for i, line := range text.Wrap(s, w.width-text.Columns(lead), n) {
		if i == 1 {
			lead = strings.Repeat(" ", text.Columns(lead))
		}
		w.line(lead + line)
	}
}

// reason writes a reason as running text. If it needs more than n lines, what it is about
// gives way to the cause.
func (w *textWriter) reason(lead, s string, n int) {
	if len(text.Wrap(s, w.width-text.Columns(lead), n+1)) > n {
		s = Cause(s)
	}
	w.prose(lead, s, n)
}

func (h headline) writeText(w *textWriter) {
	lead := h.lead
	if h.detail != "" {
		lead += ": " + h.detail
	}
	w.prose("", lead, maxItem)
	w.prose("", h.totals, maxItem)
}

func (p paragraph) writeText(w *textWriter) { w.prose("", w.plain(phrase(p)), maxItem) }

func (c command) writeText(w *textWriter) {
	w.prose("  ", c.sentence+":", maxItem)
	w.command("    ", c.line)
}

func (c code) writeText(w *textWriter) {
	for _, command := range c {
		w.command("    ", command)
	}
}

// command writes a command behind an indent. A long one takes several lines, which a shell
// reads as one.
func (w *textWriter) command(indent, command string) {
	lead, rest := indent, strings.TrimSpace(text.Fit(command, itemWidth))
	for {
		if _, tail := text.SplitWord(rest, w.width-text.Columns(lead)); tail == "" {
			w.line(lead + rest)
			return
		}
		head, tail, isWord := breakCommand(rest, w.width-text.Columns(lead))
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
	head, _ = text.SplitWord(command, width-len(`'\`))
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

func (s section) writeText(w *textWriter) {
	heading := s.heading + ":"
	if s.detail != "" {
		heading += " " + s.detail
	}
	w.line(heading)
	w.below = true
	w.print(s.body)
}

func (l list) writeText(w *textWriter) {
	for _, item := range l.items {
		lead := "  - "
		if item.count > 0 {
			lead = fmt.Sprintf("  %4d  ", item.count)
		}
		w.prose(lead, w.plain(item.text), maxItem)
		indent := strings.Repeat(" ", text.Columns(lead))
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
	cols := make([]text.Column, len(t.columns))
	for i, c := range t.columns {
		cols[i] = text.Column{Head: strings.ToUpper(c.head), Right: c.kind == numberColumn, Min: c.min, Max: c.max, Drop: c.drop}
	}
	var lines [][]string
	for _, row := range rows {
		cells := make([]string, len(row.cells))
		for i, cell := range row.cells {
			s := w.plain(cell)
			if t.columns[i].kind == instantColumn && s != "" {
				s = text.Relative(cell[0].at, w.now)
			}
			cells[i] = strings.TrimSpace(text.Fit(s, w.width))
		}
		lines = append(lines, cells)
	}
	widths := text.Widths(cols, lines, w.width)
	below := make([][]phrase, len(lines)) // sentences without room in their column
	for i, c := range t.columns {
		if c.prose && !fits(lines, i, widths[i]) {
			for n, row := range rows {
				below[n] = append(below[n], row.cells[i])
				lines[n][i] = ""
			}
			widths = text.Widths(cols, lines, w.width)
		}
	}
	w.line(text.Heads(cols, widths))
	for i, cells := range lines {
		w.line(text.Row(cols, cells, widths))
		for _, sentence := range below[i] {
			w.reason("    ", w.plain(sentence), maxSentence)
		}
		for _, remark := range rows[i].remarks {
			w.reason("    ", remark.text, remark.lines)
			if remark.command != "" {
				w.command("      ", remark.command)
			}
		}
	}
	w.more("", t.left+len(t.rows)-len(rows))
}

func fits(lines [][]string, i, width int) bool {
	for _, cells := range lines {
		if text.Columns(cells[i]) > width {
			return false
		}
	}
	return true
}
