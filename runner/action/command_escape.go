package action

import (
	"unicode"
	"unicode/utf8"
)

// escaper changes text that comes in pieces so that no line of it is a workflow
// command. The runner takes a line for a command if it begins with "::" after white
// space, or has "##[" in it; some of its comparisons skip invisible characters. The
// escaper puts a space into both, and skips more characters than the runner does:
// those without a shape, and broken encoding. It ends lines where any reader might.
// A control character is replaced by its picture (an escape sequence, say, by
// "␛[31m"), so nothing hides behind it or moves in the log.
//
// It holds back an incomplete character, three bytes at the most. Escaping escaped
// text changes nothing.
type escaper struct {
	held   []byte // the beginning of a character
	inside bool   // the line has had something other than white space
	colon  bool   // the line has had one colon and nothing else
	hashes int    // number signs right before the next character
}

// escapeCommands returns s as text that holds no command.
func escapeCommands(s string) string {
	var e escaper
	out := e.pass(nil, []byte(s))
	return string(append(out, e.held...))
}

// pass appends p, escaped, to dst.
func (e *escaper) pass(dst, p []byte) []byte {
	if len(e.held) > 0 {
		p = append(e.held, p...)
		e.held = nil
	}
	for len(p) > 0 {
		if n := e.plain(p); n > 0 {
			dst, p = append(dst, p[:n]...), p[n:]
			continue
		}
		if !utf8.FullRune(p) {
			e.held = append([]byte(nil), p...)
			break
		}
		r, size := utf8.DecodeRune(p)
		if e.space(r) {
			dst = append(dst, ' ')
		}
		if shown := controlPicture(r); shown != r {
			dst = utf8.AppendRune(dst, shown)
		} else {
			dst = append(dst, p[:size]...) // unchanged, also if it is broken
		}
		p = p[size:]
	}
	return dst
}

// plain returns the length of the part at the beginning of p that needs no escape:
// the fast path.
func (e *escaper) plain(p []byte) int {
	if !e.inside || e.hashes > 0 {
		return 0
	}
	n := 0
	for n < len(p) && p[n] >= ' ' && p[n] < 0x7f && p[n] != '#' {
		n++
	}
	return n
}

// space reads the next character of the text and reports whether a space must
// come before it.
func (e *escaper) space(r rune) bool {
	switch {
	case isLineEnd(r):
		*e = escaper{}
		return false
	case e.inside && e.hashes == 0 && r != '#':
		return false
	case r == ':' && !e.inside && !e.colon:
		e.colon = true
		return false
	case unicode.IsSpace(r) && !e.colon:
		e.hashes = 0
		return false
	case isInvisible(r):
		return false
	}
	split := r == ':' && !e.inside || r == '[' && e.hashes > 1
	e.inside = true
	if r == '#' {
		e.hashes++
	} else {
		e.hashes = 0
	}
	return split
}

// isLineEnd reports whether some reader of the log ends a line here.
func isLineEnd(r rune) bool {
	return '\n' <= r && r <= '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}

// isInvisible reports whether a reader might skip the character.
func isInvisible(r rune) bool {
	return controlPicture(r) == r && !unicode.IsSpace(r) && (!unicode.IsPrint(r) || r == utf8.RuneError ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}

// controlPicture returns the visible form of a control character, and r itself for any
// other character.
func controlPicture(r rune) rune {
	switch {
	case r == '\t' || isLineEnd(r):
		return r
	case r < ' ':
		return '␀' + r
	case r == 0x7f:
		return '␡'
	case 0x80 <= r && r < 0xa0:
		return '␦'
	}
	return r
}
