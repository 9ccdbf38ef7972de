package redact

// finder looks for one kind of thing.
type finder struct {
	grams *grams
	// match is the span to hide, if what begins at i is such a thing; to is 0
	// if not. It reads a bounded part of the text. starved says that the
	// answer may be another one if the text goes on. apart says that a mark
	// comes right before i.
	match func(text []byte, i int, apart bool) (from, to int, starved bool)
	// overlaps says that also what begins inside of a span is to be hidden.
	overlaps bool
}

// lookBehind is how many bytes before i a match may read.
const lookBehind = 6

// scan hides what a finder finds in a text that may come in pieces. Its memory
// is what the finder cannot decide yet.
type scan struct {
	buf   []byte
	pos   int // what comes before has been written, and is kept to look behind
	cover int // the end of the last span; its mark has been written
}

// feed appends to dst what is decided once p has come; all of it, when p is
// final.
func (s *scan) feed(f *finder, dst, p []byte, final bool) []byte {
	s.buf = append(s.buf, p...)
	i := s.pos
	for {
		if i = next(f.grams, s.buf, i); i == len(s.buf) {
			break
		}
		from, to, starved := f.match(s.buf, i, s.cover > 0 && i == s.cover)
		if starved && !final {
			break
		}
		i++
		if to == 0 {
			continue
		}
		dst = s.write(dst, from)
		if from >= s.cover {
			dst = append(dst, mark...)
		}
		s.cover = max(s.cover, to)
		if !f.overlaps {
			i = s.cover
		}
	}
	dst = s.write(dst, i)
	if final {
		*s = scan{buf: s.buf[:0]}
		return dst
	}
	cut := max(0, i-lookBehind)
	s.buf = s.buf[:copy(s.buf, s.buf[cut:])]
	s.pos, s.cover = i-cut, max(0, s.cover-cut)
	return dst
}

// write appends what comes before end and is in no span.
func (s *scan) write(dst []byte, end int) []byte {
	if start := max(s.pos, s.cover); start < end {
		dst = append(dst, s.buf[start:end]...)
	}
	s.pos = max(s.pos, end)
	return dst
}
