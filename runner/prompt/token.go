package prompt

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// token is a piece of an expression with its offset. The token after the last
// one is empty.
type token struct {
	text string
	at   int
}

// tokens matches the tokens of the engine's scanner: a property is one token with
// its dot, a keyword one with its colon.
var tokens = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)[\s\v]+|"(?:[^"\\]|\\.)*"|'[^']*'|-?\d+(?:\.\d+)?|\.\.|` +
		`\.?[\pL_][\pL\pM\p{Nd}_-]*\??:?|[=!<>]=|.`)
})

func tokenize(args string) []token {
	var all []token
	for _, at := range tokens().FindAllStringIndex(args, -1) {
		if text := args[at[0]:at[1]]; strings.TrimSpace(text) != "" {
			all = append(all, token{text, at[0]})
		}
	}
	return all
}

func (l token) end() int { return l.at + len(l.text) }

func (l token) isKeyword() bool {
	return len(l.text) > 1 && strings.HasSuffix(l.text, ":") && !l.isString()
}

func (l token) isName() bool {
	first, _ := utf8.DecodeRuneInString(l.text)
	return (first == '_' || unicode.IsLetter(first)) && !l.isKeyword()
}

func (l token) isProperty() bool { return len(l.text) > 1 && l.text[0] == '.' && l.text != ".." }

func (l token) isString() bool { return len(l.text) > 1 && strings.ContainsAny(l.text[:1], `"'`) }

// isNumber reports whether the token is a number of a size that the engine can
// read: it panics on a larger one.
func (l token) isNumber() bool {
	if l.text == "" || !strings.ContainsAny(l.text[:1], "-0123456789") {
		return false
	}
	var err error
	if strings.Contains(l.text, ".") {
		_, err = strconv.ParseFloat(l.text, 64)
	} else {
		_, err = strconv.Atoi(l.text)
	}
	return err == nil
}
