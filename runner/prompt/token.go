package prompt

import (
	"regexp"
	"sync"
)

// token is a piece of an expression. The token after the last one has no text.
type token struct {
	text  string
	at    int // offset in the expression
	class class
}

// class tells the tokens apart that can have more than one text.
type class int

const (
	symbol   class = iota
	word           // a string in quotes
	number         // a number with its sign
	keyword        // a name with its colon
	name           // a variable, a filter or a word of the grammar
	property       // a dot and the name of a property
)

// lexeme returns the expression that matches one token of the engine's scanner. Its groups are the
// classes from word on, in their order.
var lexeme = sync.OnceValue(func() *regexp.Regexp {
	const name = `[\pL_][\pL\pM\p{Nd}_-]*\??`
	return regexp.MustCompile(`(?s)("(?:[^"\\]|\\.)*"|'[^']*')|(-?\d+(?:\.\d+)?)|(` + name + `:)|(` + name + `)|(\.` + name + `)|\.\.|[=!<>]=|[^\s\v]`)
})

func tokenize(args string) []token {
	var all []token
	for _, m := range lexeme().FindAllStringSubmatchIndex(args, -1) {
		t := token{text: args[m[0]:m[1]], at: m[0]}
		for c := word; c <= property; c++ {
			if m[2*c] >= 0 {
				t.class = c
			}
		}
		all = append(all, t)
	}
	return all
}

func (t token) end() int { return t.at + len(t.text) }

func (t token) unquoted() string { return t.text[1 : len(t.text)-1] }
