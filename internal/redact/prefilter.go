package redact

// prefilter is a set of three-byte prefixes. It may report a prefix that was not
// added, and always reports one that was.
type prefilter struct {
	bits [1 << 11]uint32 // one bit for each 16-bit hash
}

// add adds the first three bytes of s, which must have that many.
func (p *prefilter) add(s string) {
	h := hash(uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16)
	p.bits[h>>5] |= 1 << (h & 31)
}

func hash(prefix uint32) uint32 { return prefix * 2654435761 >> 16 }

// next returns the first index from i on at which a prefix may stand, or len(text) if there is
// none.
func next[T string | []byte](p *prefilter, text T, i int) int {
	if i+2 >= len(text) {
		return len(text)
	}
	prefix := uint32(text[i])<<8 | uint32(text[i+1])<<16
	for ; i+2 < len(text); i++ {
		prefix = prefix>>8 | uint32(text[i+2])<<16
		if h := hash(prefix); p.bits[h>>5]&(1<<(h&31)) != 0 {
			return i
		}
	}
	return len(text)
}
