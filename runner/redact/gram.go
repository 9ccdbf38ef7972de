package redact

// grams knows how the things that a scan looks for begin. It may say yes by
// mistake, never no.
type grams struct {
	three [1 << 11]uint32     // a set of hashes of the first three bytes, 16 bits each
	begin map[string]struct{} // the first byte, and the first two
}

func newGrams() *grams { return &grams{begin: map[string]struct{}{}} }

// add takes the beginning of something that is three bytes long or more.
func (g *grams) add(s string) {
	h := hash(uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16)
	g.three[h>>5] |= 1 << (h & 31)
	g.begin[s[:1]] = struct{}{}
	g.begin[s[:2]] = struct{}{}
}

func hash(gram uint32) uint32 { return gram * 2654435761 >> 16 }

// next is the first place from i on where something may begin, len(text) when
// nothing does; a beginning cut off by the end of the text counts.
func next[T string | []byte](g *grams, text T, i int) int {
	if i+2 < len(text) {
		gram := uint32(text[i])<<8 | uint32(text[i+1])<<16
		for ; i+2 < len(text); i++ {
			gram = gram>>8 | uint32(text[i+2])<<16
			if h := hash(gram); g.three[h>>5]&(1<<(h&31)) != 0 {
				return i
			}
		}
	}
	for ; i < len(text); i++ {
		if _, ok := g.begin[string(text[i:])]; ok {
			break
		}
	}
	return i
}
