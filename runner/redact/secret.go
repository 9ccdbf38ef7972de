package redact

import (
	"encoding/binary"
	"slices"
	"strings"
)

// findSecrets looks for these spellings, each of [MinLength] bytes or more.
func findSecrets(spellings map[string]struct{}) *finder {
	g := newGrams()
	byKey := map[uint64][]string{} // the longest first
	for s := range spellings {
		g.add(s)
		byKey[key(s)] = append(byKey[key(s)], s)
	}
	for _, same := range byKey {
		slices.SortFunc(same, func(a, b string) int { return len(b) - len(a) })
	}
	return &finder{grams: g, overlaps: true, match: func(text []byte, i int, _ bool) (from, to int, starved bool) {
		rest := text[i:]
		if len(rest) < MinLength {
			return 0, 0, true
		}
		for _, s := range byKey[key(rest)] {
			switch {
			case len(s) <= len(rest) && s == string(rest[:len(s)]):
				return i, i + len(s), starved
			case len(s) > len(rest) && strings.HasPrefix(s, string(rest)):
				starved = true
			}
		}
		return 0, 0, starved
	}}
}

// key is the first [MinLength] bytes as a number.
func key[T string | []byte](s T) uint64 {
	var b [8]byte
	copy(b[:MinLength], s[:MinLength])
	return binary.LittleEndian.Uint64(b[:])
}
