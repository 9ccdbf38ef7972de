package prompt

import (
	"fmt"
	"strings"
)

// instead is what to write in place of an unknown name: the known one that is
// most like it, as it reads after prefix, or else whichever there are.
func instead(name, prefix string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", prefix+near)
	}
	return "known are " + strings.Join(known, ", ")
}

// nearest is the known name that is most like a misspelt one, or "" when none
// is close: one edit for every three characters begun.
func nearest(name string, known []string) string {
	best, least := "", (len(name)+2)/3+1
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of single-byte edits between two names (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
