package report

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks a character may carry: enough for every
// living language, too few to paint over the neighbouring lines.
const maxMarks = 3

const ellipsis = "…"

// Fit is s on one line of a terminal, in at most so many columns; what is cut
// off is replaced by an ellipsis. Line breaks become spaces. Control characters,
// escape sequences, and what is invisible or changes the direction of writing
// are removed, so the text of an issue or an agent can neither move the cursor
// nor pass for something else. Fit(Fit(s, n), n) is Fit(s, n).
func Fit(s string, columns int) string {
	if columns < 1 {
		return ""
	}
	var b strings.Builder
	used, cut := 0, 0 // cut is what may stay when an ellipsis must follow
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

// visible are the characters of s that a terminal shows as they are.
func visible(s string) iter.Seq[rune] {
	return func(yield func(rune) bool) {
		marks := maxMarks // a mark without a character to stand on is dropped
		broken := false   // the last character was a line break
		for len(s) > 0 {
			r, size := utf8.DecodeRuneInString(s)
			if n := escape(s); n > 0 && r != nextLine {
				s = s[n:]
				continue
			}
			s = s[size:]
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

const (
	nextLine     = '\u0085' // a control character, and a line break
	blankBraille = '\u2800' // a symbol that looks like a space
)

func isBreak(r rune) bool {
	return unicode.IsSpace(r) && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029')
}
