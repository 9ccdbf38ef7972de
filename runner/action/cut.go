package action

import (
	"fmt"
	"strings"
)

// maxNotice is what a notice of what was left out takes, in bytes.
const maxNotice = 120

// cut is Markdown in at most so many bytes. It ends after a whole block, row of
// a table, or item of a list, and a notice follows; never inside of fenced code
// or of <details>, and never right after a heading. It is not ok when not even
// the notice fits.
func cut(markdown string, room int) (fitting string, ok bool) {
	if len(markdown) <= room {
		return markdown, true
	}
	if room < maxNotice {
		return "", false
	}
	end := 0
	var m cutter
	for at := 0; at < len(markdown); {
		if at > room-maxNotice {
			break
		}
		line, _, _ := strings.Cut(markdown[at:], "\n")
		if m.before(line) {
			end = at
		}
		at += len(line) + 1
	}
	left := strings.Count(markdown[end:], "\n")
	if !strings.HasSuffix(markdown, "\n") {
		left++
	}
	kept := strings.TrimRight(markdown[:end], "\n")
	if kept != "" {
		kept += "\n\n"
	}
	return kept + fmt.Sprintf("_%d more lines were left out: GitHub shows 1 MiB at most._", left), true
}

// cutter reads Markdown line by line and knows where it may end. In doubt it
// may not.
type cutter struct {
	fence   string // what the open code fence is made of, empty if none is open
	details int    // how many are open
	rows    int    // lines of the table so far
	list    bool   // an item of a list is going on
	blank   bool   // the last line was the end of a block
	heading bool   // the last line that was not blank is one
}

// before reports whether the text may end before this line.
func (m *cutter) before(line string) bool {
	text := strings.TrimSpace(line)
	if m.fence != "" {
		closing := strings.TrimLeft(text, "> \t")
		if len(closing) >= len(m.fence) && strings.Trim(closing, m.fence[:1]) == "" {
			m.fence = ""
		}
		m.blank = false
		return false
	}
	if text == "" {
		m.blank, m.rows = true, 0
		return false
	}
	indented := line[0] == ' ' || line[0] == '\t'
	item := !indented && isItem(line)
	row := line[0] == '|'
	ok := m.details == 0 && !m.heading &&
		(m.blank && !indented || item && m.list || row && m.rows > 2)

	m.fence = fence(line)
	lower := strings.ToLower(line)
	m.details = max(0, m.details+strings.Count(lower, "<details")-strings.Count(lower, "</details"))
	if row {
		m.rows++
	} else {
		m.rows = 0
	}
	m.list = item || m.list && (indented || !m.blank)
	m.blank = false
	m.heading = line[0] == '#'
	return ok
}

func isItem(line string) bool {
	rest := strings.TrimLeft(line, "0123456789")
	if rest != line {
		return strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")
	}
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "+ ")
}

// fence is what the code fence is made of that begins on this line, also in a
// quotation or a list.
func fence(line string) string {
	text := strings.TrimLeft(line, " \t>-*+0123456789.)")
	for _, mark := range []string{"`", "~"} {
		info := strings.TrimLeft(text, mark)
		if n := len(text) - len(info); n >= 3 && (mark == "~" || !strings.Contains(info, mark)) {
			return text[:n]
		}
	}
	return ""
}
