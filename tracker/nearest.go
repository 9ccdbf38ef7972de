package tracker

// Nearest returns the known name that is most similar to a misspelt one, or "" if none is
// near. A near name differs by at most one edit for every three characters, rounded up.
// Two neighbouring characters that are swapped count as one edit.
func Nearest(name string, known []string) string {
	best, least := "", (len(name)+2)/3+1
	for _, k := range known {
		d := EditDistance(name, k)
		if isSwapped(name, k) {
			d = 1
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// isSwapped reports whether two names differ only in two neighbouring characters that are
// swapped.
func isSwapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) - 1 {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
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
