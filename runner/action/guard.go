package action

import (
	"unicode"
	"unicode/utf8"
)

// guard lets text through that comes in pieces, and makes every line of it no
// workflow command. The runner takes a line for one that begins with "::" after
// white space, or that has "##[" in it; some of its comparisons skip characters
// that nobody sees. The guard puts a space into both, and skips more: characters
// without a shape, broken encoding. It ends lines where any reader might. A
// control character is shown as its picture (an escape sequence, say, as
// "␛[31m"), so nothing hides behind it or moves about in the log.
//
// It holds back the beginning of a character, three bytes at the most. Guarding
// guarded text changes nothing.
type guard struct {
	held   []byte // the beginning of a character
	inside bool   // something else than white space was on the line
	colon  bool   // one colon was, and nothing else
	hashes int    // how many number signs come right before
}

func guarded(s string) string {
	var g guard
	out := g.pass(nil, []byte(s))
	return string(append(out, g.held...))
}

// pass appends what p becomes.
func (g *guard) pass(dst, p []byte) []byte {
	if len(g.held) > 0 {
		p = append(g.held, p...)
		g.held = nil
	}
	for len(p) > 0 {
		if n := g.plain(p); n > 0 {
			dst, p = append(dst, p[:n]...), p[n:]
			continue
		}
		if !utf8.FullRune(p) {
			g.held = append([]byte(nil), p...)
			break
		}
		r, size := utf8.DecodeRune(p)
		if g.space(r) {
			dst = append(dst, ' ')
		}
		if shown := picture(r); shown != r {
			dst = utf8.AppendRune(dst, shown)
		} else {
			dst = append(dst, p[:size]...) // as it is, also if it is broken
		}
		p = p[size:]
	}
	return dst
}

// plain is how much of p cannot matter: the fast way.
func (g *guard) plain(p []byte) int {
	if !g.inside || g.hashes > 0 {
		return 0
	}
	n := 0
	for n < len(p) && p[n] >= ' ' && p[n] < 0x7f && p[n] != '#' {
		n++
	}
	return n
}

// space takes the next character of the text and reports whether a space must
// come before it.
func (g *guard) space(r rune) bool {
	switch {
	case isLineEnd(r):
		*g = guard{}
		return false
	case g.inside && g.hashes == 0 && r != '#':
		return false
	case r == ':' && !g.inside && !g.colon:
		g.colon = true
		return false
	case unicode.IsSpace(r) && !g.colon:
		g.hashes = 0
		return false
	case isInvisible(r):
		return false
	}
	split := r == ':' && !g.inside || r == '[' && g.hashes > 1
	g.inside = true
	if r == '#' {
		g.hashes++
	} else {
		g.hashes = 0
	}
	return split
}

// isLineEnd reports whether some reader of the log ends a line here.
func isLineEnd(r rune) bool {
	return '\n' <= r && r <= '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}

// isInvisible reports whether a reader might skip the character.
func isInvisible(r rune) bool {
	return picture(r) == r && !unicode.IsSpace(r) && (!unicode.IsPrint(r) || r == utf8.RuneError ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}

// picture is the visible form of a control character, r itself if it is none.
func picture(r rune) rune {
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
