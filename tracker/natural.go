package tracker

import (
	"cmp"
	"strings"
)

// CompareNaturally compares two identifiers in the order in which people read them:
// a number within them counts as a number, so GH-9 is before GH-10.
func CompareNaturally(a, b string) int {
	whole := cmp.Compare(a, b)
	for a != "" && b != "" {
		wordA, numberA, restA := cutNumber(a)
		wordB, numberB, restB := cutNumber(b)
		if c := cmp.Or(cmp.Compare(wordA, wordB), compareDigits(numberA, numberB)); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), whole)
}

// cutNumber returns the part before the first number of s, its digits, and the rest.
func cutNumber(s string) (word, digits, rest string) {
	const decimal = "0123456789"
	begin := strings.IndexAny(s, decimal)
	if begin < 0 {
		return s, "", ""
	}
	rest = strings.TrimLeft(s[begin:], decimal)
	return s[:begin], s[begin : len(s)-len(rest)], rest
}

func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
