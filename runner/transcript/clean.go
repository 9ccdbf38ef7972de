package transcript

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/internal/text"
)

const (
	// maxText bounds a text of an entry, in bytes. More loses its middle.
	maxText = 32 << 10
	// maxTitle bounds a title, in runes.
	maxTitle = 200
)

// lines returns a text of several lines that is safe to show: without escape sequences,
// control characters and secrets. A line that a program drew again and again, as
// progress bars do, becomes several lines.
func (r *Reader) lines(s string) string {
	s = withoutEscapes(strings.ReplaceAll(s, "\r\n", "\n"))
	s = text.Lines(strings.ReplaceAll(s, "\r", "\n"))
	return strings.Trim(r.redact(s), "\n")
}

// line returns a text as one line of at most maxTitle runes that is safe to show.
func (r *Reader) line(text string) string { return r.OneLine(text, maxTitle) }

// OneLine returns a text from outside as one line of at most n runes that is safe to show
// beside entries.
func (r *Reader) OneLine(s string, n int) string {
	s = withoutEscapes(s)
	return text.OneLine(r.redact(text.OneLine(s, len(s))), n)
}

// bounded returns a clean text of at most about maxText bytes, and how many bytes of its
// middle are missing. It may cut inside of a line, because there may be only one.
func (r *Reader) bounded(text string) (shown string, omitted int) {
	return WithoutMiddle(r.lines(text), maxText)
}

// redact hides the secrets of a text. The text must be clean: a secret that a hidden
// character divides would not be found, and people would read it.
func (r *Reader) redact(text string) string {
	if r.Redact == nil {
		return text
	}
	return r.Redact(text)
}

// WithoutMiddle returns the two ends of a text of more than n bytes, with a note between
// them, and the number of bytes that are missing.
func WithoutMiddle(text string, n int) (shown string, omitted int) {
	if len(text) <= n {
		return text, 0
	}
	head, tail := n/2, len(text)-n/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	omitted = tail - head
	return fmt.Sprintf("%s\n[… %d bytes are left out …]\n%s", text[:head], omitted, text[tail:]), omitted
}

// withoutEscapes returns text without the sequences that programs write to color or move on a
// terminal: ESC [ … letter, ESC ] … BEL, and ESC with one character. Malformed sequences may
// stay in part; [text.Lines] removes the rest that could still do harm.
func withoutEscapes(text string) string {
	const escape = '\x1b'
	at := strings.IndexByte(text, escape)
	if at < 0 {
		return text
	}
	var b strings.Builder
	for ; at >= 0; at = strings.IndexByte(text, escape) {
		b.WriteString(text[:at])
		text = text[at+1:]
		switch {
		case strings.HasPrefix(text, "["):
			end := 1
			for end < len(text) && text[end] >= 0x20 && text[end] < 0x40 { // parameters
				end++
			}
			text = text[min(end+1, len(text)):]
		case strings.HasPrefix(text, "]"):
			end := strings.IndexAny(text, "\a\x1b\n")
			if end < 0 {
				end = 0 // it never ends: only its beginning is removed
			}
			text = text[end:]
		case text != "" && text[0] < utf8.RuneSelf && text[0] >= 0x20:
			text = text[1:]
		}
	}
	b.WriteString(text)
	return b.String()
}
