package redact

// cursor reads a token, and knows when it would have read on had there been
// more.
type cursor struct {
	text    []byte
	start   int // where the token begins
	i       int // what is read next
	starved bool
}

// literal steps over s if it comes next.
func (c *cursor) literal(s string) bool {
	rest := c.text[c.i:]
	if len(rest) < len(s) {
		if string(rest) == s[:len(rest)] {
			c.starved = true
		}
		return false
	}
	if string(rest[:len(s)]) != s {
		return false
	}
	c.i += len(s)
	return true
}

// run steps over the bytes of a class, at most so many, and returns them.
func (c *cursor) run(in func(byte) bool, most int) []byte {
	start := c.i
	for c.i < len(c.text) && c.i-start < most && in(c.text[c.i]) {
		c.i++
	}
	if c.i == len(c.text) && c.i-start < most {
		c.starved = true
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

// isToken68 is what a credential of HTTP's Authorization is made of (RFC 9110).
func isToken68(c byte) bool { return isBase64(c) || isBase64URL(c) || c == '.' || c == '~' }
