package redact

import (
	"bytes"
	"slices"
	"sync"
)

// maxToken limits a token that a pattern matches, in bytes.
const maxToken = 16 << 10

// pattern describes tokens of one kind, by which unknown ones are found.
type pattern struct {
	prefix string // three bytes or more
	// match is called with the cursor after the prefix. It moves the cursor to the end of the
	// text to hide and returns the beginning of that text.
	match func(c *cursor) (start int, ok bool)
	// word says that the token begins only where no word is going on.
	word bool
	// context says that the text around the token shows it, not its own format.
	context bool
}

var patterns = []pattern{
	{prefix: "ghp_", match: atLeast(20, isWord)}, // GitHub: personal, OAuth, user, app installation, refresh
	{prefix: "gho_", match: atLeast(20, isWord)},
	{prefix: "ghu_", match: atLeast(20, isWord)},
	{prefix: "ghs_", match: atLeast(20, isWord)},
	{prefix: "ghr_", match: atLeast(20, isWord)},
	{prefix: "github_pat_", match: atLeast(20, isWord)},

	{prefix: "sk-", match: withDigit(20, isAlnum), word: true}, // OpenAI, before 2024
	{prefix: "sk-proj-", match: atLeast(20, isBase64URL)},
	{prefix: "sk-svcacct-", match: atLeast(20, isBase64URL)},
	{prefix: "sk-admin-", match: atLeast(20, isBase64URL)},
	{prefix: "sk-ant-", match: atLeast(20, isBase64URL)}, // Anthropic

	{prefix: "lin_api_", match: atLeast(20, isAlnum)}, // Linear
	{prefix: "lin_oauth_", match: atLeast(20, isAlnum)},

	{prefix: "xox", match: slack},

	{prefix: "AKIA", match: atLeast(16, isUpperDigit)}, // AWS: user, session
	{prefix: "ASIA", match: atLeast(16, isUpperDigit)},
	{prefix: "AIza", match: atLeast(35, isBase64URL)}, // Google
	{prefix: "npm_", match: atLeast(30, isAlnum)},

	{prefix: "eyJ", match: webToken, word: true},
	{prefix: "-----BEGIN ", match: privateKey},
	{prefix: "uthorization", match: authorization, context: true},
	{prefix: "UTHORIZATION", match: authorization, context: true},
	{prefix: "Bearer ", match: bearer, context: true},
	{prefix: "bearer ", match: bearer, context: true},
	{prefix: "Basic ", match: basic, context: true},
	{prefix: "basic ", match: basic, context: true},
	{prefix: "://", match: userinfo, context: true},
}

// allPatterns returns finders of all patterns and of those that need no context. They are
// made once: a program makes many Redactors.
var allPatterns = sync.OnceValue(func() (f struct{ any, issued *finder }) {
	all := append(slices.Clone(patterns), issuedPatterns()...)
	f.any = findPatterns(all)
	f.issued = findPatterns(slices.DeleteFunc(all, func(p pattern) bool { return p.context }))
	return f
})

// findPatterns returns a finder of these tokens. Each match is as long as possible, so hiding
// the text after it makes no new token.
func findPatterns(table []pattern) *finder {
	f := &prefilter{}
	byPrefix := map[string][]pattern{} // patterns by their first three bytes
	prefixes := map[string][]string{}
	for _, p := range table {
		f.add(p.prefix)
		prefixes[p.prefix[:3]] = append(prefixes[p.prefix[:3]], p.prefix)
		byPrefix[p.prefix[:3]] = append(byPrefix[p.prefix[:3]], p)
	}
	return &finder{prefilter: f, prefixes: prefixes, match: func(text []byte, i int, afterMark bool) (start, end int) {
		for _, p := range byPrefix[string(text[i:i+3])] {
			c := cursor{text: text, start: i, i: i}
			if c.literal(p.prefix) && (!p.word || afterMark || beginsWord(text, i)) {
				if start, ok := p.match(&c); ok {
					return start, c.i
				}
			}
		}
		return 0, 0
	}}
}

// beginsWord reports whether no word continues at i. The end of an escape, such as
// the n of a JSON string's \n, belongs to no word.
func beginsWord(text []byte, i int) bool {
	if i == 0 || !isBase64URL(text[i-1]) {
		return true
	}
	return i >= 2 && text[i-2] == '\\' ||
		i >= 3 && text[i-3] == '%' ||
		i >= 6 && text[i-6] == '\\' && text[i-5] == 'u'
}

// atLeast matches n bytes of a class or more.
func atLeast(n int, in func(byte) bool) func(*cursor) (int, bool) {
	return func(c *cursor) (int, bool) { return c.start, len(c.run(in, maxToken)) >= n }
}

// withDigit matches like atLeast if a digit is among the first 64 bytes, so that
// a slug does not match. Without one it reads no further, since the next token
// may begin inside of this one.
func withDigit(n int, in func(byte) bool) func(*cursor) (int, bool) {
	return func(c *cursor) (int, bool) {
		token := c.run(in, 64)
		if len(token) < n || !slices.ContainsFunc(token, isDigit) {
			return 0, false
		}
		c.run(in, maxToken)
		return c.start, true
	}
}

// slack matches a token of Slack. One letter in it names its kind.
func slack(c *cursor) (start int, ok bool) {
	if len(c.run(isLower, 1)) == 0 || !c.literal("-") {
		return 0, false
	}
	return withDigit(10, isHyphened)(c)
}

// webToken matches a signed or encrypted JSON web token: three parts, or five.
func webToken(c *cursor) (start int, ok bool) {
	const part, parts = 10, 5
	if len(c.run(isBase64URL, maxToken)) < part {
		return 0, false
	}
	end := 0
	for n := 2; n <= parts && c.literal("."); n++ {
		if size := len(c.run(isBase64URL, maxToken)); size == 0 || n <= 3 && size < part {
			break
		}
		if n >= 3 {
			end = c.i
		}
	}
	c.i = end
	return c.start, end > 0
}

// authorization matches the credential of an Authorization header as HTTP, JSON,
// a shell or a printed map writes it.
func authorization(c *cursor) (start int, ok bool) {
	if len(c.run(isSeparator, 16)) == 0 {
		return 0, false
	}
	scheme := c.run(isAlnum, 16)
	if !slices.ContainsFunc([]string{"bearer", "basic", "token"}, func(s string) bool {
		return bytes.EqualFold(scheme, []byte(s))
	}) || len(c.run(isBlank, 8)) == 0 {
		return 0, false
	}
	start = c.i
	return start, len(c.run(isToken68, maxToken)) >= 8
}

func isSeparator(c byte) bool { return bytes.IndexByte([]byte(" \t:=\"'[\\"), c) >= 0 }

// bearer matches a token after the word alone.
func bearer(c *cursor) (start int, ok bool) {
	start = c.i
	token := c.run(isToken68, maxToken)
	return start, len(token) >= 20 && slices.ContainsFunc(token[:20], isDigit)
}

// basic matches a user and password in base64 after the word alone. "basic" is a
// common English word, so the match is strict.
func basic(c *cursor) (start int, ok bool) {
	start = c.i
	token := c.run(isBase64, maxToken)
	return start, len(token) >= 12 && slices.ContainsFunc(token, isDigit) &&
		slices.ContainsFunc(token, isLower) && slices.ContainsFunc(token, isUpper)
}

// userinfo matches the part before the host of a URL if it holds a password that is not hidden
// yet.
func userinfo(c *cursor) (start int, ok bool) {
	start = c.i
	authority := c.run(isAuthority, 1024)
	at := bytes.LastIndexByte(authority, '@')
	colon := bytes.IndexByte(authority, ':')
	if colon < 0 || colon+1 >= at || bytes.Contains(authority[:at], []byte(mark)) {
		return 0, false
	}
	c.i = start + at
	return start, true
}

func isAuthority(c byte) bool {
	return c > ' ' && c != 0x7f && bytes.IndexByte([]byte("/?#\\\"'`<>"), c) < 0
}

// cursor reads a token from a text.
type cursor struct {
	text  []byte
	start int // index of the first byte of the token
	i     int // the next byte to read
}

// literal skips s if it comes next, and reports whether it did.
func (c *cursor) literal(s string) bool {
	if !bytes.HasPrefix(c.text[c.i:], []byte(s)) {
		return false
	}
	c.i += len(s)
	return true
}

// run skips the bytes of a class, at most n, and returns them.
func (c *cursor) run(in func(byte) bool, n int) []byte {
	start := c.i
	for c.i < len(c.text) && c.i-start < n && in(c.text[c.i]) {
		c.i++
	}
	return c.text[start:c.i]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isAlnum(c byte) bool { return isDigit(c) || isLower(c) || isUpper(c) }

func isUpperDigit(c byte) bool { return isUpper(c) || isDigit(c) }
func isWord(c byte) bool       { return isAlnum(c) || c == '_' }
func isBase64(c byte) bool     { return isAlnum(c) || c == '+' || c == '/' || c == '=' }
func isBase64URL(c byte) bool  { return isWord(c) || c == '-' }
func isHyphened(c byte) bool   { return isAlnum(c) || c == '-' }
func isBlank(c byte) bool      { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// isToken68 reports whether a credential of HTTP's Authorization header may hold c (RFC 9110).
func isToken68(c byte) bool { return isBase64(c) || isBase64URL(c) || c == '.' || c == '~' }
