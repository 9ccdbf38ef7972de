package report

import (
	"strconv"
	"strings"
)

// Number is n as people read it, in three digits or so: 950, 12.3k, 4.56M.
func Number(n int64) string {
	if n > -1000 && n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	sign, f := "", float64(n)
	if f < 0 {
		sign, f = "-", -f
	}
	const units = "kMGTPE"
	for i := range units {
		f /= 1000
		digits := strconv.FormatFloat(f, 'f', decimals(f, i), 64)
		if len(digits) < 4 || strings.Contains(digits, ".") || i == len(units)-1 { // not rounded up to 1000
			return sign + trimZeros(digits) + units[i:i+1]
		}
	}
	panic("unreachable: the last unit takes every number")
}

// decimals leaves three digits, but thousands never need two behind the point.
func decimals(f float64, unit int) int {
	switch {
	case f >= 99.95:
		return 0
	case f >= 9.995 || unit == 0:
		return 1
	}
	return 2
}

func trimZeros(digits string) string {
	if !strings.Contains(digits, ".") {
		return digits
	}
	return strings.TrimRight(strings.TrimRight(digits, "0"), ".")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
