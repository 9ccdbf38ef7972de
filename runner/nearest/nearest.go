// Package nearest finds the known name that a misspelt one was most likely meant
// to be, for the errors of everything that people write by hand: settings,
// templates, adapter keys. It decides nothing else and knows no names.
package nearest

// Name is the known name that is most like a misspelt one, or "" when none is
// close: one edit for every three characters begun.
func Name(name string, known []string) string {
	best, least := "", (len(name)+2)/3+1
	for _, k := range known {
		if d := Distance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// Distance is the number of single-byte insertions, deletions and replacements
// between two names (Levenshtein).
func Distance(a, b string) int {
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
