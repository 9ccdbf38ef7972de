package notify

import (
	"net/url"
	"regexp"
	"sort"
	"strings"
	"unicode/utf16"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/text"
)

// separator is the zero-width space. It splits what a program would obey and changes nothing
// that a person sees.
const separator = "\u200b"

var (
	// special matches the characters that begin a mention, an address or a tag, and the dots of
	// names that clients turn into links.
	special = lazy.Regexp(`@|<|://|(?i)\bwww\.|(?i)([a-z0-9_-])\.([a-z])`)
	// order matches the beginning of a line that bots obey.
	order = lazy.Regexp(`(?m)^[ \t]*[/!.?$+-][A-Za-z]`)
)

// inert returns a text that reads the same, mentions nobody, holds no link and commands no bot.
// It may still be formatted.
func inert(s string) string {
	s = splitAll(text.Lines(s), special(), func(m string) string {
		if i := strings.IndexByte(m, '.'); i >= 0 {
			return m[:i+1] + separator + m[i+1:]
		}
		return m[:1] + separator + m[1:]
	})
	return order().ReplaceAllStringFunc(s, func(m string) string { return m[:len(m)-1] + separator + m[len(m)-1:] })
}

// splitAll replaces the matches of a pattern, also those that overlap.
func splitAll(s string, pattern *regexp.Regexp, split func(string) string) string {
	var b strings.Builder
	for {
		at := pattern.FindStringIndex(s)
		if at == nil {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:at[0]])
		part := split(s[at[0]:at[1]])
		i := strings.LastIndex(part, separator) + len(separator)
		b.WriteString(part[:i])
		s = part[i:] + s[at[1]:] // what follows the separator may begin another match
	}
}

// slackText returns a text for a place in which Slack reads its own markup.
func slackText(s string) string {
	s = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text.OneLine(s, len(s)))
	return strings.NewReplacer("*", "*"+separator, "_", "_"+separator, "~", "~"+separator, "`", "'").Replace(inert(s))
}

// discordText returns a text in which Discord formats nothing.
func discordText(s string) string {
	var b strings.Builder
	for _, r := range inert(s) {
		if strings.ContainsRune("\\*_~`|>#-+[]()<:", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// fit returns the longest beginning of a text that takes at most n units of UTF-16, in which
// the services count, after a function has made it harmless. A text that is cut ends in an
// ellipsis.
func fit(s string, n int, harmless func(string) string) string {
	s = strings.TrimSpace(s)
	if whole := harmless(text.Truncate(s, n)); units(whole) <= n {
		return whole
	}
	runes := []rune(s)
	fits := sort.Search(min(len(runes), n), func(i int) bool { // the part grows with the text
		return units(harmless(string(runes[:i+1])+"…")) > n
	})
	return harmless(string(runes[:fits]) + "…")
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// link returns an address that a message may link to, with nothing in it that could end the
// link; empty for another.
func link(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || len(address) > 1000 {
		return ""
	}
	return strings.NewReplacer("|", "%7C", "<", "%3C", ">", "%3E", "(", "%28", ")", "%29", "`", "%60", `"`, "%22", "\\", "%5C").Replace(u.String())
}
