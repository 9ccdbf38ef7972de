// Package defuse makes the text of an agent harmless before this program posts it in
// the name of somebody else: as a pull request, a comment or the message of a commit.
//
// Such a text is read by people, and by servers and bots that obey it: a mention
// notifies people or starts a bot, a closing word closes an issue, a line that begins
// with a slash is a command. The result reads the same and none of them obeys it. Text
// that is shown here and not posted is cleaned by package text.
package defuse

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/text"
)

// The bounds of published texts, in characters. GitHub takes 256 and 65,536.
const (
	maxTitle = 200
	maxBody  = 60_000
)

// separator is the zero-width space. It splits a word that a server would obey and
// changes nothing that a person sees.
const separator = "\u200b"

// Title returns the title of a pull request from an agent's text: one line that
// notifies nobody, closes nothing, skips no checks and names no issue but those in own, which
// a tracker would link to it. An empty text gives the default.
func Title(s, byDefault string, own ...string) string {
	for _, candidate := range []string{s, byDefault} {
		if line := text.OneLine(candidate, maxBody); line != "" {
			return text.Truncate(splitIdentifiers(splitWords(line), own), maxTitle)
		}
	}
	return "Changes by an agent"
}

// Body returns an agent's text as part of the body of a pull request or a comment. It
// reads like the text, but it notifies nobody, closes nothing, commands no bot, hides
// nothing in comments, other HTML or the places of Markdown that are not shown, and loads
// no image.
func Body(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	return strings.TrimSpace(text.Truncate(splitWords(reveal(strings.TrimSpace(visible(s)))), maxBody))
}

// Message returns the message of the commit that the host makes: the title, the
// agent's text, and the trailers of the host. A line of the text that would be read as a
// trailer is indented.
func Message(title, s string, trailers ...string) string {
	body := trailer().ReplaceAllString(strings.TrimSpace(visible(s)), " $1")
	body = strings.TrimRight(text.Truncate(splitWords(body), maxBody), " \t\n")
	parts := []string{title}
	for _, part := range []string{body, strings.Join(trailers, "\n")} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// trailer matches a line that git reads as a trailer.
var trailer = lazy.Regexp(`(?m)^([A-Za-z][A-Za-z0-9-]*[ \t]*:|\(cherry picked from)`)

// visible returns a text without characters that a person cannot see. Characters that compose
// emoji stay.
func visible(s string) string {
	var b strings.Builder
	before := rune(0)
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case r == '\n', r == '\t', text.IsEmojiStyle(before, r), r == '\u200d' && isEmoji(before):
		case r == utf8.RuneError, text.IsHidden(r):
			continue
		case text.IsBlank(r):
			r = ' '
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// isEmoji reports whether a character may be followed by another one of the same emoji.
func isEmoji(r rune) bool {
	return r == '\ufe0f' || r > unicode.MaxLatin1 && unicode.Is(unicode.S, r)
}
