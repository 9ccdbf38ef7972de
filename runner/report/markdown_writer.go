package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// How much of a text a page shows, in columns of a terminal. A column is 16
// bytes at worst.
const (
	nameWidth  = 40
	titleWidth = 80
	whyWidth   = 240
	itemWidth  = 600
)

// listRoom is how many bytes a list may take on a page. A summary that is too long is cut
// between blocks, and a list is one: without a bound of its own, all of it would be cut.
const listRoom = tableRoom

// maxRemarks is how many remarks on the rows of a table are shown below it.
const maxRemarks = 20

// markdownWriter prints a document in GitHub's Markdown: blocks with an empty
// line between them, so that a page can be cut between any two of them.
type markdownWriter struct {
	text  strings.Builder
	level markdown  // level of the headings of sections
	now   time.Time // the time from which ages are counted; zero shows no ages
}

func (w *markdownWriter) String() string { return w.text.String() }

func (w *markdownWriter) print(d document) {
	for _, b := range d {
		b.writeMarkdown(w)
	}
}

func (w *markdownWriter) lines(lines ...markdown) {
	if w.text.Len() > 0 {
		w.text.WriteByte('\n')
	}
	for _, line := range lines {
		w.text.WriteString(string(line) + "\n")
	}
}

// rendered returns a phrase in Markdown, with at most width columns of each of
// its spans.
func (w *markdownWriter) rendered(p phrase, width int) markdown {
	var out markdown
	for _, s := range p {
		switch {
		case s.strong:
			out += "**" + markdown(s.text) + "**"
		case s.own:
			out += markdown(s.text)
		case s.name:
			out += link(s.text, s.url, nameWidth)
		case !s.at.IsZero():
			out += moment(s.at) + " UTC" + w.age(s.at)
		default:
			out += escapeMarkdown(s.text, width)
		}
	}
	return out
}

// moment returns an instant in UTC for a page that is read at any time.
func moment(at time.Time) markdown {
	return escapeMarkdown(at.UTC().Format("2006-01-02 15:04"), nameWidth)
}

// age returns the age of an instant at the time of the page. It is empty for a later
// instant.
func (w *markdownWriter) age(at time.Time) markdown {
	if w.now.IsZero() || !w.now.After(at) {
		return ""
	}
	return " " + escapeMarkdown("("+text.Relative(at, w.now)+")", nameWidth)
}

// writeMarkdown writes the verdict as the heading of the page, together with its
// detail if both are short.
func (h headline) writeMarkdown(w *markdownWriter) {
	lead, detail := h.lead, h.detail
	if whole := lead + ": " + detail; detail != "" && text.Columns(text.Fit(whole, itemWidth)) <= titleWidth {
		lead, detail = whole, ""
	}
	w.lines("### " + markdown(h.emoji) + " " + escapeMarkdown(strings.TrimSuffix(lead, "."), itemWidth))
	for _, text := range []string{detail, h.totals} {
		if text := escapeMarkdown(text, itemWidth); text != "" {
			w.lines(text)
		}
	}
}

func (p paragraph) writeMarkdown(w *markdownWriter) { w.lines(w.rendered(phrase(p), whyWidth)) }

func (c command) writeMarkdown(w *markdownWriter) {
	w.lines(markdown(c.sentence + " `" + c.line + "`."))
}

// writeMarkdown writes the commands between fences. Nothing in a line ends the block:
// a line is no longer than itemWidth, and the fence is longer than any run of its
// character in it.
func (c code) writeMarkdown(w *markdownWriter) {
	fence := "```"
	lines := []markdown{""}
	for _, line := range c {
		if line = strings.TrimSpace(text.Fit(line, itemWidth)); line == "" {
			continue
		}
		for strings.Contains(line, fence) {
			fence += "`"
		}
		lines = append(lines, markdown(line))
	}
	lines[0] = markdown(fence + "sh")
	w.lines(append(lines, markdown(fence))...)
}

func (s section) writeMarkdown(w *markdownWriter) {
	heading := markdown(s.heading)
	if s.detail != "" {
		heading += ": " + markdown(s.detail)
	}
	if !s.folded {
		w.lines(w.level + " " + heading)
		w.print(s.body)
		return
	}
	w.lines("<details><summary>" + heading + "</summary>")
	w.print(s.body)
	w.lines("</details>")
}

func (l list) writeMarkdown(w *markdownWriter) {
	var lines []markdown
	used := 0
	for i, item := range l.items {
		begin := len(lines)
		line := markdown("- ")
		if item.count > 0 {
			line += markdown(fmt.Sprintf("**%d** ", item.count))
		}
		lines = append(lines, line+w.rendered(item.text, itemWidth))
		for _, sub := range item.sub {
			width := whyWidth
			if item.long {
				width = itemWidth
			}
			lines = append(lines, "  - "+w.rendered(sub, width))
		}
		if item.left > 0 {
			lines = append(lines, markdown("  - "+leftOut(item.left)))
		}
		for _, line := range lines[begin:] {
			used += len(line) + 1
		}
		if used > listRoom {
			lines, l.left = lines[:begin], l.left+len(l.items)-i
			break
		}
	}
	if l.left > 0 {
		lines = append(lines, markdown("- "+leftOut(l.left)))
	}
	w.lines(lines...)
}

func leftOut(n int) string { return fmt.Sprintf("… and %d more", n) }

// writeMarkdown writes the table, how many of its rows had no room, and the remarks
// on its rows.
func (t table) writeMarkdown(w *markdownWriter) {
	cells, shown := w.cells(t)
	head, rule := "|", "|"
	for i, c := range t.columns {
		if !shown[i] {
			continue
		}
		head += " " + c.head
		if c.kind == instantColumn {
			head += " (UTC)"
		}
		head += " |"
		if c.kind == numberColumn {
			rule += "--:|"
		} else {
			rule += "---|"
		}
	}
	lines, used := []markdown{markdown(head), markdown(rule)}, 0
	for _, row := range cells {
		line := markdown("|")
		for i, cell := range row {
			if shown[i] {
				line += " " + cell + " |"
			}
		}
		if used += len(line) + 1; used > t.room {
			break
		}
		lines = append(lines, line)
	}
	w.lines(lines...)
	if left := t.left + len(t.rows) - (len(lines) - 2); left > 0 {
		w.lines(markdown(leftOut(left)))
	}
	w.remarks(t)
}

// cells returns the cells of a table, and which columns have any text.
func (w *markdownWriter) cells(t table) (cells [][]markdown, shown []bool) {
	shown = make([]bool, len(t.columns))
	for _, row := range t.rows {
		line := make([]markdown, len(row.cells))
		for i, cell := range row.cells {
			width := t.columns[i].width
			if width == 0 {
				width = nameWidth
			}
			line[i] = w.rendered(cell, width)
			if t.columns[i].kind == instantColumn {
				line[i] = markdown(strings.Replace(string(line[i]), " UTC", "", 1)) // the head says it
			}
			shown[i] = shown[i] || line[i] != ""
		}
		cells = append(cells, line)
	}
	return cells, shown
}

// remarks writes the remarks on the rows of a table, each with the first cell of its
// row.
func (w *markdownWriter) remarks(t table) {
	var l list
	for _, row := range t.rows {
		for _, remark := range row.remarks {
			if remark.linked {
				continue
			}
			if len(l.items) == maxRemarks {
				l.left++
				continue
			}
			text := append(append(phrase{}, row.cells[0]...), own(": "), foreign(strings.TrimSpace(remark.text+" "+remark.command)))
			l.items = append(l.items, item{text: text})
		}
	}
	if len(l.items) > 0 {
		l.writeMarkdown(w)
	}
}
