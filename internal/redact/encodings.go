package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func addEncodings(all map[string]struct{}, secret string) {
	add := func(s string) {
		if s = withoutMark(s); len(s) >= minLength {
			all[s] = struct{}{}
		}
	}
	add(secret)
	add(hex.EncodeToString([]byte(secret)))
	add(strings.ToUpper(hex.EncodeToString([]byte(secret))))
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		add(encoding.EncodeToString([]byte(secret)))
		raw := encoding.WithPadding(base64.NoPadding)
		add(raw.EncodeToString([]byte(secret)))
		for before := range 3 {
			add(insideBase64(raw, secret, before))
		}
	}
	var tried []string
	for _, safe := range percentSafe {
		safe = strings.Map(func(c rune) rune {
			if strings.ContainsRune(secret, c) {
				return c
			}
			return -1
		}, safe)
		if slices.Contains(tried, safe) { // most secrets hold few of these characters, or none
			continue
		}
		tried = append(tried, safe)
		for _, space := range []string{"%20", "+"} {
			add(percentEncode(secret, safe, space, "0123456789ABCDEF"))
			add(percentEncode(secret, safe, space, "0123456789abcdef"))
		}
	}
	for _, quoted := range []string{
		quoteJSON(secret, false), quoteJSON(secret, true), asciiJSON(quoteJSON(secret, false)),
		strconv.Quote(secret), strconv.QuoteToASCII(secret),
	} {
		add(quoted[1 : len(quoted)-1])
	}
}

// withoutMark returns the longest part of an encoding that cannot be confused
// with the mark. Searching for that part finds the encoding too, and a text that
// was redacted before is never taken for a secret.
func withoutMark(s string) string {
	longest := ""
	for part := range strings.SplitSeq(s, mark) {
		if part = strings.Trim(part, "*"); len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// insideBase64 returns the part of the base64 encoding of a larger text that
// depends on the secret alone, when n bytes (modulo 3) precede it.
func insideBase64(raw *base64.Encoding, secret string, n int) string {
	encoded := raw.EncodeToString(append(make([]byte, n), secret...))
	return encoded[(8*n+5)/6 : 8*(n+len(secret))/6]
}

// percentSafe lists, for each common encoder, the characters besides the unreserved ones that
// it does not encode: none by RFC 3986, then the characters of Python's quote, of Go's
// PathEscape and of a whole path, of a form, and of JavaScript's encodeURIComponent and
// encodeURI. Each is in the order of ASCII, so that its part for a secret can be compared.
var percentSafe = []string{"", "/", "$&+:=@", "$&+/:=@", "$&+,/:;=@", "*", "!'()*", "!#$&'()*+,/:;=?@"}

func percentEncode(s, safe, space, digits string) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for _, c := range []byte(s) {
		switch {
		case c == ' ':
			b.WriteString(space)
		case isAlnum(c) || strings.IndexByte("-_.~", c) >= 0 || strings.IndexByte(safe, c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// quoteJSON returns s as a JSON string, with HTML characters escaped or not.
func quoteJSON(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	_ = e.Encode(s) // cannot fail: a string, into a buffer
	return strings.TrimSuffix(b.String(), "\n")
}

// asciiJSON returns a JSON string with everything but ASCII escaped.
func asciiJSON(quoted string) string {
	var b strings.Builder
	for _, r := range quoted {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
