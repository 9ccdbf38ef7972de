// Package defuse makes the text of an agent harmless before this program posts it in
// the name of somebody else: as a pull request, a comment or the message of a commit.
//
// Such a text is read by people, and by servers and bots that obey it: a mention
// notifies people or starts a bot, a closing word closes an issue, a line that begins
// with a slash is a command. The result reads the same and none of them obeys it. What
// is shown here and not posted is made fit by package untrusted.
package defuse

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/tracker/untrusted"
)

// The bounds of what is published, in characters. GitHub takes 256 and 65,536.
const (
	maxTitle = 200
	maxBody  = 60_000
)

// separator is the zero-width space. It splits a word that a server would obey and
// changes nothing that a person sees.
const separator = "\u200b"

// Title returns the title of a pull request from an agent's text: one line that
// notifies nobody, closes nothing and skips no checks. An empty text gives the default.
func Title(text, byDefault string) string {
	for _, candidate := range []string{text, byDefault} {
		if line := untrusted.OneLine(candidate, maxBody); line != "" {
			return untrusted.Truncate(defuse(line), maxTitle)
		}
	}
	return "Changes by an agent"
}

// Body returns an agent's text as part of the body of a pull request or a comment. It
// reads like the text, but it notifies nobody, closes nothing, commands no bot, hides
// nothing in comments or other HTML and loads no image.
func Body(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	text = visible(text)
	text = comment().ReplaceAllString(text, "")
	text = entity().ReplaceAllStringFunc(text, func(e string) string { return "&amp;" + e[1:] })
	text = tag().ReplaceAllString(text, "&lt;$1")
	text = strings.ReplaceAll(text, "![", "!"+separator+"[")
	text = command().ReplaceAllString(text, "$1\\/$2")
	return strings.TrimSpace(untrusted.Truncate(defuse(text), maxBody))
}

// Message returns the message of the commit that the host makes: the title, the
// agent's text, and the trailers of the host. A line of the text that would be read as a
// trailer is indented.
func Message(title, text string, trailers ...string) string {
	body := strings.TrimSpace(untrusted.Truncate(defuse(visible(text)), maxBody))
	body = trailer().ReplaceAllString(body, " $1")
	parts := []string{title}
	for _, part := range []string{body, strings.Join(trailers, "\n")} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// KeepClosing restores, in a defused text, each line that only closes the issue with this
// reference, such as #7.
func KeepClosing(text, reference string) string {
	line := regexp.MustCompile(`(?im)^([cfr])` + separator + `((?:lose[sd]?|ix(?:e[sd])?|esolve[sd]?):?[ \t]+` + regexp.QuoteMeta(reference) + `\.?[ \t]*)$`)
	return line.ReplaceAllString(text, "$1$2")
}

var (
	// entity matches what Markdown turns into a character that means something to a
	// server. Servers look for mentions and references in the result.
	entity = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)&(#[0-9]+|#x[0-9a-f]+|commat|num|sol|colon|lowbar|excl|lsqb|lbrack|zerowidthspace|nobreak|shy|zwj|zwnj|lrm|rlm);?`)
	})
	// comment matches an HTML comment, also one without an end.
	comment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<!--.*?(-->|$)`) })
	// tag matches the beginning of HTML. Autolinks such as <https://example.org> stay.
	tag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<([/!?]|[A-Za-z][A-Za-z0-9-]*(?:[\s/>]|$))`) })
	// command matches a line that a bot obeys.
	command = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^([ \t>*+-]*)/([A-Za-z])`) })
	// closing matches a word with which GitHub or Linear closes an issue that is named
	// soon after it.
	closing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:clos|fix|resolv|complet|implement)(?:es|ed|ing|e|s|)[^\pL\pN][^\n]{0,80}\n?[^\n]{0,80}?(?:#\\?|/issues/|/pull/|/issue/|[a-z][a-z0-9]{0,9}-\\?)[0-9]`)
	})
	// skip matches what keeps checks from starting.
	skip = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\[(skip ci|ci skip|no ci|skip actions|actions skip|skip-checks|skip checks|vercel skip|skip netlify|skip travis|skip appveyor|skip azurepipelines|azurepipelines skip)`)
	})
	// trailer matches a line that git reads as a trailer.
	trailer = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^([A-Za-z][A-Za-z0-9-]*[ \t]*:|\(cherry picked from)`)
	})
)

// defuse splits the words of a text that servers obey wherever they stand.
func defuse(text string) string {
	text = splitMentions(text)
	text = skip().ReplaceAllString(text, "["+separator+"$1")
	for closing().MatchString(text) { // a word may stand before another that closes
		text = closing().ReplaceAllStringFunc(text, func(match string) string {
			_, n := utf8.DecodeRuneInString(match)
			return match[:n] + separator + match[n:]
		})
	}
	return text
}

// splitMentions puts a separator after each @ that may begin a mention. The one of an
// address of mail follows a letter.
func splitMentions(text string) string {
	var b strings.Builder
	for i, r := range text {
		b.WriteRune(r)
		if r == '@' && (i == 0 || !isWord(text[i-1])) {
			b.WriteString(separator)
		}
	}
	return b.String()
}

// isWord reports whether a byte is one of a word in ASCII.
func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

// visible returns a text without characters that a person cannot see. Those that compose
// emoji stay.
func visible(text string) string {
	var b strings.Builder
	before := rune(0)
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		switch {
		case r == '\n', r == '\t', untrusted.IsEmojiStyle(before, r), r == '\u200d' && isEmoji(before):
		case r == utf8.RuneError, untrusted.IsHidden(r):
			continue
		case untrusted.IsBlank(r):
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
