package prompt

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexeme is a piece of an expression and where it stands. The piece after the
// last one is empty.
type lexeme struct {
	text string
	at   int
}

// lexemes cuts an expression as the engine's scanner does: a property is one
// piece with its dot, a keyword one with its colon.
var lexemes = regexp.MustCompile(`(?s)[\s\v]+|"(?:[^"\\]|\\.)*"|'[^']*'|-?\d+(?:\.\d+)?|\.\.|` +
	`\.?[\pL_][\pL\pM\p{Nd}_-]*\??:?|[=!<>]=|.`)

func cut(args string) []lexeme {
	var pieces []lexeme
	for _, at := range lexemes.FindAllStringIndex(args, -1) {
		if text := args[at[0]:at[1]]; strings.TrimSpace(text) != "" {
			pieces = append(pieces, lexeme{text, at[0]})
		}
	}
	return pieces
}

func (l lexeme) end() int { return l.at + len(l.text) }

func (l lexeme) isKeyword() bool {
	return len(l.text) > 1 && strings.HasSuffix(l.text, ":") && !l.isString()
}

func (l lexeme) isName() bool {
	first, _ := utf8.DecodeRuneInString(l.text)
	return (first == '_' || unicode.IsLetter(first)) && !l.isKeyword()
}

func (l lexeme) isProperty() bool { return len(l.text) > 1 && l.text[0] == '.' && l.text != ".." }

func (l lexeme) isString() bool { return len(l.text) > 1 && strings.ContainsAny(l.text[:1], `"'`) }

// isNumber leaves out what does not fit, on which the engine panics.
func (l lexeme) isNumber() bool {
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
