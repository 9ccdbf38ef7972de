package redact

import "slices"

// longest bounds a token of a known shape, in bytes.
const longest = 16 << 10

// shape is how a token looks to somebody who does not know it.
type shape struct {
	anchor string // how it begins; three bytes at least
	// read is called after the anchor. It moves the cursor to the end of what
	// is to be hidden and returns where that begins.
	read func(c *cursor) (from int, ok bool)
	// apart says that it begins where no word is going on.
	apart bool
}

var shapes = []shape{
	{anchor: "ghp_", read: atLeast(20, isWord)}, // GitHub: personal, OAuth, user, app installation, refresh
	{anchor: "gho_", read: atLeast(20, isWord)},
	{anchor: "ghu_", read: atLeast(20, isWord)},
	{anchor: "ghs_", read: atLeast(20, isWord)},
	{anchor: "ghr_", read: atLeast(20, isWord)},
	{anchor: "github_pat_", read: atLeast(20, isWord)},

	{anchor: "sk-", read: withDigit(20, isAlnum), apart: true}, // OpenAI, of old
	{anchor: "sk-proj-", read: atLeast(20, isBase64URL)},
	{anchor: "sk-svcacct-", read: atLeast(20, isBase64URL)},
	{anchor: "sk-admin-", read: atLeast(20, isBase64URL)},
	{anchor: "sk-ant-", read: atLeast(20, isBase64URL)}, // Anthropic

	{anchor: "lin_api_", read: atLeast(20, isAlnum)}, // Linear
	{anchor: "lin_oauth_", read: atLeast(20, isAlnum)},

	{anchor: "xox", read: slack},

	{anchor: "AKIA", read: atLeast(16, isUpperDigit)}, // AWS: of a user, of a session
	{anchor: "ASIA", read: atLeast(16, isUpperDigit)},
	{anchor: "AIza", read: atLeast(35, isBase64URL)}, // Google
	{anchor: "npm_", read: atLeast(30, isAlnum)},

	{anchor: "eyJ", read: webToken, apart: true},
	{anchor: "-----BEGIN ", read: privateKey},
	{anchor: "uthorization", read: authorization},
	{anchor: "UTHORIZATION", read: authorization},
	{anchor: "Bearer ", read: bearer},
	{anchor: "bearer ", read: bearer},
	{anchor: "Basic ", read: basic},
	{anchor: "basic ", read: basic},
	{anchor: "://", read: userinfo},
}

// findShapes looks for the tokens of a table. A token ends where it can no
// longer go on, so hiding something behind it makes no new one.
func findShapes(table []shape) *finder {
	g := newGrams()
	byGram := map[string][]shape{}
	for _, s := range table {
		g.add(s.anchor)
		byGram[s.anchor[:3]] = append(byGram[s.anchor[:3]], s)
	}
	return &finder{grams: g, match: func(text []byte, i int, apart bool) (from, to int, starved bool) {
		if len(text)-i < 3 {
			return 0, 0, true
		}
		for _, s := range byGram[string(text[i:i+3])] {
			c := cursor{text: text, start: i, i: i}
			if c.literal(s.anchor) && (!s.apart || apart || isApart(text, i)) {
				if from, ok := s.read(&c); ok {
					return from, c.i, starved || c.starved
				}
			}
			starved = starved || c.starved
		}
		return 0, 0, starved
	}}
}

// isApart reports whether no word goes on at i. The end of an escape, such as
// the n of a JSON string's \n, is no word.
func isApart(text []byte, i int) bool {
	if i == 0 || !isBase64URL(text[i-1]) {
		return true
	}
	before := text[max(0, i-lookBehind):i]
	n := len(before)
	return n >= 2 && before[n-2] == '\\' ||
		n >= 3 && before[n-3] == '%' ||
		n >= 6 && before[n-6] == '\\' && before[n-5] == 'u'
}

// atLeast reads a token that goes on for n bytes of a class or more.
func atLeast(n int, in func(byte) bool) func(*cursor) (int, bool) {
	return func(c *cursor) (int, bool) { return c.start, len(c.run(in, longest)) >= n }
}

// withDigit is atLeast for what a slug might look like: a digit must be among
// the first bytes. No more of them are read when there is none, for the next
// token may begin inside of this one.
func withDigit(n int, in func(byte) bool) func(*cursor) (int, bool) {
	return func(c *cursor) (int, bool) {
		token := c.run(in, 64)
		if len(token) < n || !slices.ContainsFunc(token, isDigit) {
			return 0, false
		}
		c.run(in, longest)
		return c.start, true
	}
}
