package store

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of texts. What people read is cut, counted in characters; what is
// compared or followed is kept whole or not at all, counted in bytes.
const (
	maxName       = 256
	maxTitle      = 200
	maxWhy        = 500
	maxURL        = 2000
	maxRateLimits = 16 << 10
	maxNesting    = 64 // objects and arrays in the rate limits: indented, nesting costs
)

// line is s as one line of valid text, cut to limit characters.
func line(s string, limit int) string {
	s = strings.Map(func(r rune) rune { // also replaces what is not UTF-8
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// whole is s if it is one line of at most limit bytes, and empty otherwise.
func whole(s string, limit int) string {
	if len(s) > limit || line(s, limit) != s {
		return ""
	}
	return s
}

// snapshot is the agent's JSON in its shortest form, nil when it is not worth
// keeping: malformed, empty or too large.
func snapshot(raw json.RawMessage) json.RawMessage {
	var short bytes.Buffer
	if !utf8.Valid(raw) || json.Compact(&short, raw) != nil || short.String() == "null" {
		return nil
	}
	nesting := bytes.Count(raw, []byte("{")) + bytes.Count(raw, []byte("["))
	if short.Len() > maxRateLimits || nesting > maxNesting {
		return nil
	}
	return short.Bytes()
}
