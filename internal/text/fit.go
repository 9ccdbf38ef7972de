package text

import (
	"iter"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/mattn/go-runewidth"
)

// maxMarks bounds the combining marks of a character: enough for every living language, too few
// to paint over the neighboring lines.
const maxMarks = 3

// Fit returns s on one line of a terminal, in at most the given number of columns; an ellipsis
// replaces the end that is cut off. Line breaks become spaces. Control characters, and
// characters that are invisible or change the direction of writing, are removed: the text of an
// issue or an agent can neither move the cursor nor look like something else. The text after
// the escape character of a terminal sequence stays as plain text.
// Fit(Fit(s, n), n) is Fit(s, n).
//
// [OneLine] is for logs and errors. Fit fills tables: it measures columns instead of
// characters, and removes surplus combining marks as well.
func Fit(s string, columns int) string {
	switch {
	case columns < 1:
		return ""
	case len(s) <= columns && IsPlain(s):
		return s
	}
	var b strings.Builder
	used, cut := 0, 0 // cut is the length that leaves room for an ellipsis
	for r := range visible(s) {
		used += runeColumns(r)
		if used > columns {
			return strings.TrimRight(b.String()[:cut], " ") + ellipsis
		}
		b.WriteRune(r)
		if used < columns {
			cut = b.Len()
		}
	}
	return b.String()
}

// IsPlain reports whether s is printable ASCII, which [Fit] does not change, and of which each byte
// takes one column.
func IsPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// visible returns the characters of s that a terminal shows as they are.
func visible(s string) iter.Seq[rune] {
	return func(yield func(rune) bool) {
		marks := maxMarks // a mark without a character to stand on is dropped
		broken := false   // the last character was a line break
		for _, r := range s {
			if r > ' ' && r <= '~' { // most text, in which the rules below change nothing
				marks, broken = 0, false
				if !yield(r) {
					return
				}
				continue
			}
			again := broken
			broken = isBreak(r)
			switch {
			case broken && again:
				continue
			case unicode.IsSpace(r) || r == blankBraille:
				r, marks = ' ', maxMarks
			case !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
				continue
			case isMark(r):
				if marks++; marks > maxMarks {
					continue
				}
			default:
				marks = 0
			}
			if !yield(r) {
				return
			}
		}
	}
}

const blankBraille = '\u2800' // a symbol that looks like a space

func isBreak(r rune) bool {
	return unicode.IsSpace(r) && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029')
}

// terminal tells the width of characters, whatever the locale of the process.
var terminal = &runewidth.Condition{StrictEmojiNeutral: true}

// Columns returns the width on a terminal of text that [Fit] returned.
func Columns(s string) int {
	if IsPlain(s) {
		return len(s)
	}
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// runeColumns returns the width of a visible character. Only marks have none:
// where terminals disagree the larger width counts, so that no line is too wide.
func runeColumns(r rune) int {
	if r < 0x300 { // no mark, and nothing wide, comes before
		return 1
	}
	if isMark(r) {
		return 0
	}
	return max(1, terminal.RuneWidth(r))
}

// isMark reports whether a character is drawn onto the one before it.
func isMark(r rune) bool { return r >= 0x300 && unicode.In(r, unicode.Mn, unicode.Me) }

// Wrap breaks text into at most n lines of the given width, between words where it can. The
// rest is cut.
func Wrap(s string, width, n int) []string {
	words := strings.Fields(Fit(s, width*n))
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
		head, tail := SplitWord(word, width)
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

// Break returns a line in parts of at most the given width, broken between words where it can
// be. Other than [Wrap] it keeps the spaces inside a part, and cuts nothing. A line without a word is
// one empty part; no other part is empty.
func Break(line string, width int) []string {
	var parts []string
	for part := range strings.SplitSeq(ansi.Wrap(line, width, ""), "\n") {
		// Of a word that fills the line the library keeps the space before it.
		for piece := range strings.SplitSeq(ansi.Hardwrap(part, width, true), "\n") {
			if piece = strings.TrimRight(piece, " "); piece != "" {
				parts = append(parts, piece)
			}
		}
	}
	if len(parts) == 0 {
		return []string{""}
	}
	return parts
}

// SplitWord breaks a word that is wider than a line.
func SplitWord(word string, width int) (head, tail string) {
	used := 0
	for i, r := range word {
		if used += runeColumns(r); used > width {
			return word[:i], word[i:]
		}
	}
	return word, ""
}

// EscapeCommand returns a line that the log of a workflow run does not take for
// a command: commands are "::name::" at the beginning of a line, and "##[name]"
// anywhere.
func EscapeCommand(line string) string {
	if text := strings.TrimLeft(line, " "); strings.HasPrefix(text, "::") {
		indent := len(line) - len(text)
		colons := len(text) - len(strings.TrimLeft(text, ":"))
		line = line[:indent] + strings.Repeat(" ", colons-1) + text[colons-1:]
	}
	return strings.ReplaceAll(line, "##[", "# [")
}
