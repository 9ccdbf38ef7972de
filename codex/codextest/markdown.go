package codextest

import "strings"

// isNextTurn reports the heading that ends a turn's part, at any level.
func isNextTurn(line string) bool {
	title := strings.TrimLeft(line, "#")
	return title != line && strings.EqualFold(strings.TrimSpace(title), "Next turn")
}

// cutTask returns the text of an open task-list item: `- [ ] text`.
func cutTask(line string) (string, bool) {
	line = strings.TrimSpace(line)
	if line == "" || !strings.Contains("-*+", line[:1]) {
		return "", false
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(line[1:]), "[ ]")
	return strings.TrimSpace(text), ok
}

// codeSpans takes the code spans out of a line: it returns the line with a bare
// backtick in place of each, without closing punctuation, and their contents.
// As in Markdown a span may be fenced by several backticks to hold fewer.
func codeSpans(line string) (bare string, spans []string) {
	var b strings.Builder
	for {
		start := strings.IndexByte(line, '`')
		if start < 0 {
			break
		}
		after := strings.TrimLeft(line[start:], "`")
		fence := line[start : len(line)-len(after)]
		length := closing(after, fence)
		if length < 0 {
			break
		}
		b.WriteString(line[:start] + "`")
		spans = append(spans, unpad(after[:length]))
		line = after[length+len(fence):]
	}
	b.WriteString(line)
	return strings.TrimRight(strings.Join(strings.Fields(b.String()), " "), " .:;"), spans
}

// closing finds the run of backticks in s that is just as long as fence.
func closing(s, fence string) int {
	for at := 0; ; {
		i := strings.Index(s[at:], fence)
		if i < 0 {
			return -1
		}
		at += i
		run := len(s[at:]) - len(strings.TrimLeft(s[at:], "`"))
		if run == len(fence) {
			return at
		}
		at += run
	}
}

// unpad drops the one space on each side that lets a span begin or end with a
// backtick.
func unpad(s string) string {
	if len(s) > 2 && s[0] == ' ' && s[len(s)-1] == ' ' && strings.TrimSpace(s) != "" {
		return s[1 : len(s)-1]
	}
	return s
}

// blockAfter returns the fenced block that follows line n, blank lines between
// them or not, and the line that it ends on.
func blockAfter(lines []string, n int) (text string, end int, ok bool) {
	for n++; n < len(lines); n++ {
		if strings.TrimSpace(lines[n]) != "" {
			return fencedBlock(lines, n)
		}
	}
	return "", 0, false
}

// fencedBlock returns the text of the fenced block that begins on line n, less
// the fence's own indentation, and the line that it ends on.
func fencedBlock(lines []string, n int) (text string, end int, ok bool) {
	open := strings.TrimLeft(lines[n], " \t")
	indent := lines[n][:len(lines[n])-len(open)]
	fence := open[:len(open)-len(strings.TrimLeft(open, "`"))]
	if fence == "" {
		fence = open[:len(open)-len(strings.TrimLeft(open, "~"))]
	}
	if len(fence) < 3 || fence[0] == '`' && strings.Contains(open[len(fence):], "`") {
		return "", 0, false
	}
	var b strings.Builder
	for end = n + 1; end < len(lines); end++ {
		line := strings.TrimSpace(lines[end])
		if strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "" {
			return b.String(), end, true
		}
		b.WriteString(strings.TrimPrefix(lines[end], indent) + "\n")
	}
	return b.String(), end - 1, true // never closed: it runs to the end
}
