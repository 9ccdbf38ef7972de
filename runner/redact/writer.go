package redact

import "io"

// piece is how much of a text is worked on at once, in bytes.
const piece = 64 << 10

// Writer hides secrets in a stream, also those that come in pieces. What may be
// the beginning of one is held back until it is known to be none, or until
// [Writer.Flush]. It is not safe for concurrent use.
type Writer struct {
	w       io.Writer
	r       *Redactor
	secrets scan
	shapes  scan
	found   []byte
	out     []byte
	err     error
}

// Writer makes a stream that ends in w.
func (r *Redactor) Writer(w io.Writer) *Writer { return &Writer{w: w, r: r} }

// Write takes all of p, unless w has failed once: its error is every later one.
func (w *Writer) Write(p []byte) (n int, err error) {
	for w.err == nil && n < len(p) {
		size := min(piece, len(p)-n)
		w.pass(p[n:n+size], false)
		n += size
	}
	return n, w.err
}

// Flush writes what is held back. The text ends here: a secret that is going on
// is not recognised in what comes next.
func (w *Writer) Flush() error {
	w.pass(nil, true)
	return w.err
}

// Close is Flush. It closes nothing else.
func (w *Writer) Close() error { return w.Flush() }

func (w *Writer) pass(p []byte, final bool) {
	w.found = w.secrets.feed(w.r.secrets.Load(), w.found[:0], p, final)
	w.out = w.shapes.feed(w.r.shapes, w.out[:0], w.found, final)
	if len(w.out) > 0 && w.err == nil {
		_, w.err = w.w.Write(w.out)
	}
}
