package defuse

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// A server or a bot finds its words in the text itself or in what Markdown makes of it, so
// emphasis, brackets and code around a word do not count. The rules are wider than any one
// server's: a separator that was not needed changes nothing that a person sees.

var (
	// closing matches a word with which GitHub, GitLab or Linear closes an issue.
	closing = lazy.Regexp(`(?i)\b(?:clos|fix|resolv|complet|implement)(?:es|ed|ing|e|s|)(?:[^\pL\pN]|$)`)
	// reference matches the name of an issue.
	reference = lazy.Regexp(`(?i)(?:#\\?|/issues/|/pull/|/issue/|[a-z][a-z0-9]{0,9}-\\?)[0-9]`)
	// identifier matches the name of an issue by which Linear or Jira link the title of a
	// pull request to it, and common names of another kind.
	identifier = lazy.Regexp(`(?i)\b(?:utf|sha|iso|rfc|cve)-[0-9]+|\b[a-z][a-z0-9_]{0,9}-[0-9]+`)
	// skip matches a word in brackets that keeps checks or deployments from starting, as in
	// [skip ci] and [CF-Pages-Skip]; bareSkip matches the same without brackets, as in
	// ***NO_CI***, skip-checks: true and --skip-ci.
	skip     = lazy.Regexp(`(?i)\[[^\[\]\n]{0,40}(?:skip|no[ _-]?(?:ci|cd|build|test|deploy|action))`)
	bareSkip = lazy.Regexp(`(?i)(?:skip|no)(?:[_-](?:ci|cd|check|build|deploy|action)|[ ]ci\b)|\bci[ _-]skip`)
	// orders match what bots obey anywhere, without a mention or a slash: bors, the pull
	// request builder of Jenkins, the bots of Rust, Zuul, Ansible and GitHub's issue-ops.
	orders = sync.OnceValue(func() (all []*regexp.Regexp) {
		for _, pattern := range []string{
			`\bbors[ \t:,]`,
			`ok(?:ay)?[ \t]+to[ \t]+test`,
			`\b(?:re)?(?:test|build|run)[ \t]+(?:this|it|all)?[ \t]*please`,
			`\badd[ \t]+to[ \t]+(?:white|allow)[ _-]?list`,
			`\bjenkins\b[ \t,:]*(?:please[ \t]+)?(?:re)?(?:test|build|run)`,
			`\br[+?=]`,
			`(?m)` + prefix + `(?:recheck|reverify|retest|rebuild|rerun|shipit|bot_[a-z]+)\b`,
			`(?m)` + prefix + `[.](?:deploy|noop|lock|unlock|rollback|merge)\b`,
		} {
			all = append(all, regexp.MustCompile(`(?i)`+pattern))
		}
		return all
	})
	// version matches the text after the @ of a version, such as in actions/checkout@v4.
	version = lazy.Regexp(`^[v^~]?[0-9]+(?:[.][0-9]+)*(?:[^0-9A-Za-z_.-]|[.]?(?:\s|$))`)
)

// splitWords splits the words of a text that servers obey wherever they stand.
func splitWords(text string) string {
	text = splitMentions(text)
	text = splitMatches(text, skip(), splitLast)
	text = splitMatches(text, bareSkip(), splitFirst)
	for _, order := range orders() {
		text = splitMatches(text, order, splitFirst)
	}
	references := reference().FindAllStringIndex(text, -1)
	if len(references) == 0 {
		return text
	}
	end := references[len(references)-1][0] // however far it is from the word
	return splitMatches(text[:end], closing(), splitFirst) + text[end:]
}

// splitMatches replaces the matches of a pattern, also a match whose first character belongs to
// another match.
func splitMatches(text string, pattern *regexp.Regexp, split func(string) string) string {
	for {
		next := pattern.ReplaceAllStringFunc(text, split)
		if next == text {
			return text
		}
		text = next
	}
}

// splitFirst puts a separator behind the first letter of a match.
func splitFirst(match string) string {
	i := strings.IndexFunc(match, isLetter)
	if i < 0 {
		return match
	}
	_, n := utf8.DecodeRuneInString(match[i:])
	return match[:i+n] + separator + match[i+n:]
}

// splitLast puts a separator before the last letter of a match.
func splitLast(match string) string {
	i := strings.LastIndexFunc(match, isLetter)
	return match[:i] + separator + match[i:]
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// splitMentions puts a separator after each @ that a server or a bot could take for the
// beginning of a mention. Emphasis, which Markdown takes away, can stand before it, and a
// bot can look for its name anywhere, also behind a letter. Only versions stay whole.
func splitMentions(text string) string {
	var b strings.Builder
	for i, r := range text {
		b.WriteRune(r)
		if r == '@' && !(i > 0 && isWord(text[i-1]) && version().MatchString(text[i+1:])) {
			b.WriteString(separator)
		}
	}
	return b.String()
}

// isWord reports whether a byte is a letter or a digit of ASCII.
func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// splitIdentifiers splits the names of other issues than the own ones.
func splitIdentifiers(text string, own []string) string {
	return identifier().ReplaceAllStringFunc(text, func(name string) string {
		prefix, number, _ := strings.Cut(name, "-")
		for _, known := range append([]string{"utf-", "sha-", "iso-", "rfc-", "cve-"}, own...) {
			if strings.EqualFold(name, known) || strings.EqualFold(prefix+"-", known) {
				return name
			}
		}
		return prefix + separator + "-" + number
	})
}
