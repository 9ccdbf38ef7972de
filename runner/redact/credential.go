package redact

import (
	"bytes"
	"slices"
)

// slack reads any of Slack's tokens: a letter tells whose it is.
func slack(c *cursor) (from int, ok bool) {
	if len(c.run(isLower, 1)) == 0 || !c.literal("-") {
		return 0, false
	}
	return withDigit(10, isHyphened)(c)
}

// webToken reads a signed or encrypted JSON web token: three parts, or five.
func webToken(c *cursor) (from int, ok bool) {
	const part, parts = 10, 5
	if len(c.run(isBase64URL, longest)) < part {
		return 0, false
	}
	end := 0
	for n := 2; n <= parts && c.literal("."); n++ {
		if size := len(c.run(isBase64URL, longest)); size == 0 || n <= 3 && size < part {
			break
		}
		if n >= 3 {
			end = c.i
		}
	}
	c.i = end
	return c.start, end > 0
}

// authorization reads the credential of an Authorization header, as HTTP, JSON,
// a shell or a dump of a map writes it.
func authorization(c *cursor) (from int, ok bool) {
	if len(c.run(isSeparator, 16)) == 0 {
		return 0, false
	}
	scheme := c.run(isAlnum, 16)
	if !slices.ContainsFunc([]string{"bearer", "basic", "token"}, func(s string) bool {
		return bytes.EqualFold(scheme, []byte(s))
	}) || len(c.run(isBlank, 8)) == 0 {
		return 0, false
	}
	from = c.i
	return from, len(c.run(isToken68, longest)) >= 8
}

func isSeparator(c byte) bool { return bytes.IndexByte([]byte(" \t:=\"'[\\"), c) >= 0 }

// bearer reads a token after the word alone.
func bearer(c *cursor) (from int, ok bool) {
	from = c.i
	token := c.run(isToken68, longest)
	return from, len(token) >= 20 && slices.ContainsFunc(token[:20], isDigit)
}

// basic reads a user and password in base64 after the word alone, which prose
// is fond of.
func basic(c *cursor) (from int, ok bool) {
	from = c.i
	token := c.run(isBase64, longest)
	return from, len(token) >= 12 && slices.ContainsFunc(token, isDigit) &&
		slices.ContainsFunc(token, isLower) && slices.ContainsFunc(token, isUpper)
}

// userinfo reads what comes before the host of a URL, if a password is in it.
// One that has been hidden already stays as it is.
func userinfo(c *cursor) (from int, ok bool) {
	from = c.i
	authority := c.run(isAuthority, 1024)
	at := bytes.LastIndexByte(authority, '@')
	colon := bytes.IndexByte(authority, ':')
	if colon < 0 || colon+1 >= at || bytes.Contains(authority[:at], []byte(mark)) {
		return 0, false
	}
	c.i = from + at
	return from, true
}

func isAuthority(c byte) bool {
	return c > ' ' && c != 0x7f && bytes.IndexByte([]byte("/?#\\\"'`<>"), c) < 0
}
