package tracker

// Nearest returns the known name that is most similar to a misspelt one, or "" when
// none is: one edit is allowed for every three characters begun.
func Nearest(name string, known []string) string {
	best, least := "", (len(name)+2)/3+1
	for _, k := range known {
		if d := EditDistance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// EditDistance returns the number of single-byte insertions, deletions and
// replacements between two names (Levenshtein).
func EditDistance(a, b string) int {
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
