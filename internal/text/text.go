// Package text makes text from outside fit to be shown: text of a tracker, a
// server, an agent or a process.
//
// [OneLine] and its like are for errors and logs. [Fit], [Wrap] and [Widths] lay text out on a
// terminal, [Number], [Duration] and [Clock] show values as people read them.
//
// It imports nothing of the program. The packages tracker, codex and workspace each
// put such text into errors, logs or answers to the agent, and so does the runner
// above them.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const ellipsis = "…"

// IsHidden reports whether a character shows nothing where it stands, so that text can be
// hidden in it: control and format characters, private ones, and those that Unicode
// tells programs to ignore, such as fillers and variation selectors. Line ends and tabs are
// hidden characters too.
func IsHidden(r rune) bool {
	if r < unicode.MaxASCII { // most texts have no other
		return r < ' '
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// IsEmojiStyle reports whether a character is the selector that makes the symbol before it
// a picture. Nothing can be hidden in it, and many names and texts have one.
func IsEmojiStyle(before, r rune) bool {
	return r == '\ufe0f' && before > unicode.MaxLatin1 && unicode.In(before, unicode.S, unicode.Po)
}

// IsBlank reports whether a character shows nothing, has a width, and is not white space.
func IsBlank(r rune) bool { return r == '\u2800' || r == '\U0001d159' }

// OneLine returns s as one line of at most n runes, see [Truncate]. White space and blank
// characters become single spaces. Hidden characters, such as those that change the
// direction of writing, are removed, see [IsHidden]: the text can neither forge a line of
// a log nor control a terminal. Invalid UTF-8 becomes U+FFFD.
func OneLine(s string, n int) string {
	var b strings.Builder
	runes, space := 0, false
	before := rune(0)
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) || IsBlank(r):
			space, before = b.Len() > 0, ' '
			continue
		case (IsHidden(r) || !unicode.IsGraphic(r)) && !IsEmojiStyle(before, r):
			continue
		}
		before = r
		if space {
			b.WriteByte(' ')
			runes, space = runes+1, false
		}
		b.WriteRune(r)
		if runes++; runes > n {
			break
		}
	}
	return Truncate(b.String(), n)
}

// Lines returns s without hidden characters, see [IsHidden], except line ends and tabs.
// Blank ones become spaces. Invalid UTF-8 becomes U+FFFD.
func Lines(s string) string {
	before := rune(0)
	return strings.Map(func(r rune) rune {
		switch {
		case IsBlank(r):
			r = ' '
		case r == '\n' || r == '\t':
		case (IsHidden(r) || !unicode.IsGraphic(r)) && !IsEmojiStyle(before, r):
			return -1
		}
		before = r
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// EscapeJSON returns a text in JSON, in which hidden characters other than line ends and
// tabs are written as escapes. It means the same, and cannot control a terminal.
func EscapeJSON(text string) string {
	isLayout := func(r rune) bool { return r == '\n' || r == '\t' }
	if !strings.ContainsFunc(text, func(r rune) bool { return IsHidden(r) && !isLayout(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !IsHidden(r) || isLayout(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// Output returns the output of a process as one line, see [OneLine], in which " | "
// separates the lines that are not empty. Of more than n bytes only the end follows a
// "[...] ".
func Output(s string, n int) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	kept := lines[:0]
	for _, line := range lines {
		if line = OneLine(line, len(line)); line != "" {
			kept = append(kept, line)
		}
	}
	s = strings.Join(kept, " | ")
	over := len(s) - n
	if over <= 0 {
		return s
	}
	for !utf8.RuneStart(s[over]) {
		over++
	}
	return "[...] " + s[over:]
}

// Truncate returns s if it has at most n runes, otherwise its first n-1 runes and an
// ellipsis. It changes nothing else, so the caller quotes the result, or knows s to be
// one line. n must be positive.
func Truncate(s string, n int) string {
	runes, end := 0, 0 // end leaves room for the ellipsis
	for i := range s {
		if runes++; runes == n {
			end = i
		} else if runes > n {
			return s[:end] + ellipsis
		}
	}
	return s
}

// TruncateBytes returns s if it has at most n bytes, otherwise its longest beginning
// that leaves room for an ellipsis, and the ellipsis.
func TruncateBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Head(s, n-len(ellipsis)) + ellipsis
}

// Cut returns s as valid UTF-8. A line replaces the bytes after the first n: it has their
// number and, if the advice is not empty, the way to get them.
func Cut(s string, n int, advice string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	if advice != "" {
		advice = ": " + advice
	}
	shown := Head(s, n)
	return fmt.Sprintf("%s\n[cut: %d of %d bytes%s]", shown, len(shown), len(s), advice)
}

// Head returns the longest beginning of s that has at most n bytes and does not end inside a rune.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(n, 0)]
}
