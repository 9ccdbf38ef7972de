package prompt

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a piece of an expression with its offset. The token after the last
// one is empty.
type token struct {
	text string
	at   int
}

// tokenize returns the tokens of an expression, without the space between them.
func tokenize(args string) []token {
	var all []token
	for at := 0; at < len(args); {
		text := args[at : at+tokenLength(args[at:])]
		if strings.TrimSpace(text) != "" {
			all = append(all, token{text, at})
		}
		at += len(text)
	}
	return all
}

// tokenLength returns the length of the token that a text begins with. The tokens are
// those of the engine's scanner: a property is one token with its dot, a keyword one with
// its colon. What is not a token of several characters is one of a single character.
func tokenLength(text string) int {
	first, size := utf8.DecodeRuneInString(text)
	switch {
	case isSpace(text[0]):
		return len(text) - len(strings.TrimLeft(text, spaces))
	case first == '"', first == '\'':
		if n := stringLength(text); n > 0 {
			return n
		}
	case first == '-', isDigit(first):
		if n := numberLength(text); n > 0 {
			return n
		}
	case strings.HasPrefix(text, ".."):
		return len("..")
	case strings.ContainsRune("=!<>", first) && strings.HasPrefix(text[1:], "="):
		return len("==")
	default:
		if n := nameLength(text); n > 0 {
			return n
		}
	}
	return size
}

// spaces are the characters between tokens.
const spaces = " \t\n\v\f\r"

func isSpace(c byte) bool { return strings.IndexByte(spaces, c) >= 0 }

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// stringLength returns the length of the string that begins a text; 0 if it has no end.
func stringLength(text string) int {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return i + 1
		case text[i] == '\\' && quote == '"':
			i++
		}
	}
	return 0
}

// numberLength returns the length of the number that begins a text; 0 for none.
func numberLength(text string) int {
	whole := strings.TrimLeftFunc(strings.TrimPrefix(text, "-"), isDigit)
	if n := len(text) - len(whole); !isDigit(rune(text[n-1])) {
		return 0
	}
	if fraction, ok := strings.CutPrefix(whole, "."); ok {
		if rest := strings.TrimLeftFunc(fraction, isDigit); len(rest) < len(fraction) {
			return len(text) - len(rest)
		}
	}
	return len(text) - len(whole)
}

// nameLength returns the length of the name, property or keyword that begins a text; 0
// for none.
func nameLength(text string) int {
	name := strings.TrimPrefix(text, ".")
	if first, _ := utf8.DecodeRuneInString(name); first != '_' && !unicode.IsLetter(first) {
		return 0
	}
	rest := strings.TrimLeftFunc(name, func(r rune) bool {
		return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
	})
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "?"), ":")
	return len(text) - len(rest)
}

func (l token) end() int { return l.at + len(l.text) }

func (l token) isKeyword() bool {
	return len(l.text) > 1 && strings.HasSuffix(l.text, ":") && !l.isString()
}

func (l token) isName() bool {
	first, _ := utf8.DecodeRuneInString(l.text)
	return (first == '_' || unicode.IsLetter(first)) && !l.isKeyword()
}

// isValue reports whether a value can begin with the token.
func (l token) isValue() bool { return l.text == "(" || l.isString() || l.isNumber() || l.isName() }

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
