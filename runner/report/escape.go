package report

// escape is the length of the terminal control sequence that s begins with, 0
// when it begins with something else. A sequence that is not properly ended is
// only its introducer: nobody hides text by leaving a sequence open.
func escape(s string) int {
	kind, n := introducer(s)
	switch {
	case n == 0:
		return 0
	case kind == '[': // control sequence: parameters, then a final byte
		n = skip(s, n, 0x20, 0x3f)
		return final(s, n, 0x40)
	case kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_': // a string, e.g. a title or a link
		if end := stringEnd(s, n); end > 0 {
			return end
		}
		return n
	case kind >= 0x20 && kind <= 0x2f: // e.g. a choice of character set
		n = skip(s, n, 0x20, 0x2f)
		return final(s, n, 0x30)
	}
	return n
}

// introducer reads the escape byte and the kind of sequence, or the one
// character of the C1 range that means both.
func introducer(s string) (kind byte, n int) {
	switch {
	case s[0] == 0x1b && len(s) > 1 && s[1] >= 0x20 && s[1] < 0x7f:
		return s[1], 2
	case s[0] == 0x1b:
		return 0, 1
	case s[0] == 0xc2 && len(s) > 1 && s[1] >= 0x80 && s[1] <= 0x9f:
		return s[1] - 0x40, 2
	}
	return 0, 0
}

func skip(s string, n int, low, high byte) int {
	for n < len(s) && s[n] >= low && s[n] <= high {
		n++
	}
	return n
}

func final(s string, n int, low byte) int {
	if n < len(s) && s[n] >= low && s[n] <= 0x7e {
		n++
	}
	return n
}

// stringEnd is where the string that begins at n is over, 0 when something
// else than its terminator comes first.
func stringEnd(s string, n int) int {
	for ; n < len(s); n++ {
		switch {
		case s[n] == 0x07:
			return n + 1
		case s[n] == 0x1b && n+1 < len(s) && s[n+1] == '\\', s[n] == 0xc2 && n+1 < len(s) && s[n+1] == 0x9c:
			return n + 2
		case s[n] < 0x20:
			return 0
		}
	}
	return 0
}
