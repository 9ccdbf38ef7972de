package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// addSpellings adds all that a secret may look like.
func addSpellings(all map[string]struct{}, secret string) {
	add := func(s string) {
		if s = core(s); len(s) >= MinLength {
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
			add(inside(raw, secret, before))
		}
	}
	for _, unescaped := range kept {
		for _, space := range []string{"%20", "+"} {
			add(percent(secret, unescaped, space, "0123456789ABCDEF"))
			add(percent(secret, unescaped, space, "0123456789abcdef"))
		}
	}
	for _, quoted := range []string{
		quoteJSON(secret, false), quoteJSON(secret, true), asciiJSON(quoteJSON(secret, false)),
		strconv.Quote(secret), strconv.QuoteToASCII(secret),
	} {
		add(quoted[1 : len(quoted)-1])
	}
}

// core is the part of a spelling that is searched for: nothing of it may be
// taken for the mark, or a text with something hidden in it could be taken for a
// secret. Whoever hides the core hides the spelling.
func core(s string) string {
	longest := ""
	for part := range strings.SplitSeq(s, mark) {
		if part = strings.Trim(part, "*"); len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// inside is what base64 makes of a secret that so many bytes (modulo 3) come
// before, without the characters that depend on its neighbours.
func inside(raw *base64.Encoding, secret string, before int) string {
	encoded := raw.EncodeToString(append(make([]byte, before), secret...))
	return encoded[(8*before+5)/6 : 8*(before+len(secret))/6]
}

// kept are the characters that percent-encoding leaves as they are besides the
// unreserved ones: none by RFC 3986; the others are those of Python's quote, of
// Go's PathEscape and of a whole path, of a form, and of JavaScript's
// encodeURIComponent and encodeURI.
var kept = []string{"", "/", "$&+=:@", "$&+=:@/", "$&+,/:;=@", "*", "!*'()", ";,/?:@&=+$!*'()#"}

func percent(s, kept, space, digits string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c == ' ':
			b.WriteString(space)
		case isAlnum(c) || strings.IndexByte("-_.~", c) >= 0 || strings.IndexByte(kept, c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

func quoteJSON(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	_ = e.Encode(s) // a string in a buffer: nothing can fail
	return strings.TrimSuffix(b.String(), "\n")
}

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
