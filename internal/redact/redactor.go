package redact

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// mark replaces hidden text.
const mark = "***"

// The bounds of a secret, in bytes, without the white space around it. A shorter
// one would be found all over ordinary text; no environment holds a longer one.
const (
	minLength = 6
	maxLength = 64 << 10
)

// Redactor hides secrets. It may be used and added to by several goroutines.
type Redactor struct {
	patterns *finder
	issued   *finder                      // the patterns without those that need a context
	secrets  atomic.Pointer[knownSecrets] // nil until a text is searched for the secrets added last

	mu        sync.Mutex          // guards encodings
	encodings map[string]struct{} // encodings of all secrets
}

// New returns a Redactor of the token patterns and these secrets. Secrets that
// [Redactor.Add] refuses are left out.
func New(secrets ...string) *Redactor {
	all := allPatterns()
	r := &Redactor{patterns: all.any, issued: all.issued, encodings: map[string]struct{}{}}
	for _, secret := range secrets {
		_ = r.Add(secret)
	}
	return r
}

// knownSecrets finds the secrets that the host knows.
type knownSecrets struct {
	*finder                // a finder of their encodings
	compact func() *finder // returns a finder of their letters and digits; see compact
}

// known returns the finders of all secrets added so far. The first text after an Add pays for
// them, since a program adds many secrets before its first text, and the first file for compact.
func (r *Redactor) known() *knownSecrets {
	if secrets := r.secrets.Load(); secrets != nil {
		return secrets
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	secrets := &knownSecrets{findSecrets(r.encodings), sync.OnceValue(func() *finder {
		r.mu.Lock()
		defer r.mu.Unlock()
		return findSecrets(compactForms(r.encodings))
	})}
	r.secrets.Store(secrets)
	return secrets
}

// Add hides one more secret from now on. White space around it does not count,
// and an empty one is ignored. Add fails for a secret that cannot be hidden: one
// of less than 6 bytes, of more than 64 KiB, or one that is mostly asterisks.
func (r *Redactor) Add(secret string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.encode(secret); err != nil {
		return err
	}
	r.secrets.Store(nil)
	return nil
}

// encode adds the encodings of a secret and of each of its lines, except those that
// every private key begins and ends with. r.mu must be held.
func (r *Redactor) encode(secret string) error {
	secret = strings.TrimSpace(secret)
	switch {
	case secret == "":
		return nil
	case len(secret) < minLength:
		return fmt.Errorf("hide secret: it has fewer than %d bytes and would be found in ordinary text; use a longer one", minLength)
	case len(secret) > maxLength:
		return fmt.Errorf("hide secret: it has more than %d bytes; check that it is the secret, not a file of something else", maxLength)
	case len(withoutMark(secret)) < minLength:
		return errors.New("hide secret: it is mostly asterisks, which stand for what is hidden; use another one")
	}
	addEncodings(r.encodings, secret)
	if lines := strings.FieldsFunc(secret, isLineEnd); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= minLength && !strings.HasPrefix(line, "-----") {
				addEncodings(r.encodings, line)
			}
		}
	}
	return nil
}

func isLineEnd(r rune) bool { return r == '\n' || r == '\r' }

// String returns s without secrets.
func (r *Redactor) String(s string) string {
	secrets := r.known()
	if next(secrets.prefilter, s, 0) == len(s) && !mayBegin(r.patterns, s) {
		return s
	}
	return string(r.patterns.hide(secrets.hide([]byte(s))))
}

// Bytes returns b without secrets: b itself when nothing in it may be one. It
// never changes b.
func (r *Redactor) Bytes(b []byte) []byte {
	secrets := r.known()
	if next(secrets.prefilter, b, 0) == len(b) && !mayBegin(r.patterns, b) {
		return b
	}
	return r.patterns.hide(secrets.hide(b))
}

// Secret is a place in a text that holds a secret.
type Secret struct {
	Start, End int
	Known      bool // it is a known secret and does not only look like a token
}

// Find returns the secrets in b: first the known ones, if there are none in one piece those
// that are broken into lines, then the tokens that their own format shows. It leaves out
// credentials that only their surroundings show, such as the user and password in a URL: the
// examples of a manual are full of them.
func (r *Redactor) Find(b []byte) []Secret {
	var found []Secret
	known := r.known()
	for start, end := range known.spans(b) {
		found = append(found, Secret{start, end, true})
	}
	if len(found) == 0 {
		known.findBroken(b, func(start, end int) { found = append(found, Secret{start, end, true}) })
	}
	for start, end := range r.issued.spans(b) {
		found = append(found, Secret{start, end, false})
	}
	return found
}

// finder finds spans of one kind, known secrets or token patterns.
type finder struct {
	prefilter *prefilter
	// match returns the span to hide if one begins at i; end is 0 if none does.
	// The span may begin after i. afterMark reports that a hidden span ends at i.
	match func(text []byte, i int, afterMark bool) (start, end int)
	// prefixes holds the possible beginnings of a span, by their first three bytes, if they are
	// known.
	prefixes map[string][]string
	// overlaps says that a span may begin inside of another one.
	overlaps bool
}

// mayBegin reports whether a prefix of a finder stands in a text.
func mayBegin[T string | []byte](f *finder, text T) bool {
	for i := next(f.prefilter, text, 0); i < len(text); i = next(f.prefilter, text, i+1) {
		for _, prefix := range f.prefixes[string(text[i:i+3])] {
			if len(text)-i >= len(prefix) && string(text[i:i+len(prefix)]) == prefix {
				return true
			}
		}
	}
	return false
}

// hide returns text with the mark in place of every span that f finds: text itself if
// there is none. It does not change text.
func (f *finder) hide(text []byte) []byte {
	var out []byte
	hidden := 0 // end of the last span; the text before it is in out
	for start, end := range f.spans(text) {
		if out == nil {
			out = make([]byte, 0, len(text))
		}
		if start >= hidden {
			out = append(append(out, text[hidden:start]...), mark...)
		}
		hidden = max(hidden, end)
	}
	if out == nil {
		return text
	}
	return append(out, text[hidden:]...)
}

// spans yields the start and the end of every span that f finds. Spans may overlap
// if f says so.
func (f *finder) spans(text []byte) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		last := 0 // end of the spans so far
		for i := next(f.prefilter, text, 0); i < len(text); i = next(f.prefilter, text, i) {
			start, end := f.match(text, i, last > 0 && i == last)
			i++
			if end == 0 {
				continue
			}
			last = max(last, end)
			if !f.overlaps {
				i = last
			}
			if !yield(start, end) {
				return
			}
		}
	}
}

// findSecrets returns a finder of these encodings, each of minLength bytes or more.
func findSecrets(encodings map[string]struct{}) *finder {
	p := &prefilter{}
	byKey := map[uint64][]string{} // the longest first
	for s := range encodings {
		p.add(s)
		byKey[key(s)] = append(byKey[key(s)], s)
	}
	for _, same := range byKey {
		slices.SortFunc(same, func(a, b string) int { return len(b) - len(a) })
	}
	return &finder{prefilter: p, overlaps: true, match: func(text []byte, i int, _ bool) (start, end int) {
		rest := text[i:]
		if len(rest) < minLength {
			return 0, 0
		}
		for _, s := range byKey[key(rest)] {
			if len(s) <= len(rest) && s == string(rest[:len(s)]) {
				return i, i + len(s)
			}
		}
		return 0, 0
	}}
}

// key returns the first minLength bytes as a number.
func key[T string | []byte](s T) uint64 {
	var b [8]byte
	copy(b[:minLength], s[:minLength])
	return binary.LittleEndian.Uint64(b[:])
}
