package redact

import (
	"bytes"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// A known secret that is spread over lines, such as by base64 or xxd -p, or over the columns
// of a dump, is not one run of bytes. [Redactor.Find] looks for it a second time in the text
// without white space and punctuation.

// minCompact is the length from which the letters and digits of a secret are looked for
// alone. Shorter ones can be words of a sentence.
const minCompact = 16

// compactForms returns the forms of encodings for the second search.
func compactForms(encodings map[string]struct{}) map[string]struct{} {
	forms := map[string]struct{}{}
	for encoding := range encodings {
		if text := compact([]byte(encoding), whole).text; len(text) >= minCompact {
			forms[string(text)] = struct{}{}
		}
	}
	return forms
}

// reading is a way to read the lines of a text.
type reading int

const (
	whole   reading = iota // unchanged lines
	codes                  // a line whose marks of hexadecimal numbers, 0x and \x, are left out
	dump                   // a line of a dump whose offset and letters are left out
	swapped                // the same, with two bytes in the other order, as od -x and hexdump print them
)

// dumpLine matches a line of xxd, hexdump or od: the offset, and the rest after it.
var dumpLine = lazy.Regexp(`^\s*[0-9a-fA-F]{6,16}(:?)[ \t]+(.*)$`)

// compacted is a text of letters and digits alone.
type compacted struct {
	text   []byte
	source []byte
	how    reading
}

// compact returns the letters and digits of a text.
func compact(source []byte, how reading) compacted {
	c := compacted{source: source, how: how}
	c.walk(func(at int) bool {
		c.text = append(c.text, source[at])
		return true
	})
	return c
}

// place returns the offset in the source of a byte of the text.
func (c compacted) place(i int) (at int) {
	n := 0
	c.walk(func(from int) bool {
		at = from
		n++
		return n <= i
	})
	return at
}

// walk calls keep with the place of each byte that is kept, until it returns false.
func (c compacted) walk(keep func(at int) bool) {
	for begin := 0; begin < len(c.source); {
		end := begin + bytes.IndexByte(c.source[begin:], '\n') + 1
		if end == begin {
			end = len(c.source)
		}
		from, to, isDump := begin, end, false
		if c.how == dump || c.how == swapped {
			from, to, isDump = dumped(c.source, begin, end)
		}
		if !c.walkLine(from, to, isDump && c.how == swapped, keep) {
			return
		}
		begin = end
	}
}

func (c compacted) walkLine(from, to int, swap bool, keep func(at int) bool) bool {
	text := c.source
	for i := from; i < to; i++ {
		switch {
		case !isAlnum(text[i]):
		case c.how == codes && i+1 < to && isHexMark(text, i):
			if text[i] == '0' {
				i++
			}
		case swap && i+4 <= to && isHex(text[i]) && isHex(text[i+1]) && isHex(text[i+2]) && isHex(text[i+3]):
			for _, at := range []int{i + 2, i + 3, i, i + 1} {
				if !keep(at) {
					return false
				}
			}
			i += 3
		case !keep(i):
			return false
		}
	}
	return true
}

// isHexMark reports whether 0x or \x stands at i, where no word goes on: i is the place of
// its first letter or digit.
func isHexMark(text []byte, i int) bool {
	if text[i] == 'x' {
		return i > 0 && text[i-1] == '\\'
	}
	return text[i] == '0' && text[i+1] == 'x' && (i == 0 || !isAlnum(text[i-1]))
}

// dumped returns the part of a line that holds the bytes of a dump.
func dumped(text []byte, begin, end int) (from, to int, isDump bool) {
	line := bytes.TrimRight(text[begin:end], "\r\n")
	m := dumpLine().FindSubmatchIndex(line)
	if m == nil {
		return begin, end, false
	}
	from, to = begin+m[4], begin+m[5]
	rest := text[from:to]
	if letters := bytes.LastIndex(rest, []byte(" |")); letters >= 0 { // hexdump -C
		to = from + letters
	} else if letters := bytes.Index(rest, []byte("  ")); m[2] < m[3] && letters >= 0 { // xxd
		to = from + letters
	}
	return from, to, true
}

// findBroken calls found with the place of each known secret in a text of several lines or
// words.
func (k *knownSecrets) findBroken(text []byte, found func(start, end int)) {
	if len(text) < minCompact {
		return
	}
	ways := []reading{whole}
	if bytes.Contains(text, []byte("0x")) || bytes.Contains(text, []byte(`\x`)) {
		ways = append(ways, codes)
	}
	if looksDumped(text) {
		ways = append(ways, dump, swapped)
	}
	for _, how := range ways {
		c := compact(text, how)
		for start, end := range k.compact().spans(c.text) {
			first, last := c.place(start), c.place(end-1)
			found(min(first, last), max(first, last)+1)
		}
	}
}

// looksDumped reports whether a line of a text looks like a line of a dump.
func looksDumped(text []byte) bool {
	for line := range bytes.Lines(text) {
		if len(line) < 200 && dumpLine().Match(bytes.TrimRight(line, "\r\n")) {
			return true
		}
	}
	return false
}
